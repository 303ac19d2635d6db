import { readFileSync } from 'node:fs'
import { relative, resolve, dirname } from 'node:path'
import { globSync } from 'node:fs'

/** Which rooms and packages a part of the tree may import; the first rule whose pattern matches a file counts. */
type Rule = { readonly files: RegExp; readonly rooms: readonly string[]; readonly forbidden?: RegExp }

const RULES: readonly Rule[] = [
  { files: /^domain\//, rooms: [], forbidden: /./ },
  { files: /^wire\//, rooms: ['domain'], forbidden: /^(?!valibot$)/ },
  { files: /^crds\//, rooms: ['domain'], forbidden: /^(?!(valibot|yaml)$)/ },
  { files: /^kube\//, rooms: [], forbidden: /^(?!(@kubernetes\/client-node|undici|node:.*)$)/ },
  { files: /^operator\//, rooms: ['domain', 'crds', 'kube'], forbidden: /^(hono|drizzle-orm|postgres)/ },
  {
    files: /^api\/src\/http\//,
    rooms: ['domain', 'wire'],
    forbidden: /^(drizzle-orm|postgres|@kubernetes\/client-node)/,
  },
  { files: /^api\/src\/main\.ts$/, rooms: ['domain', 'wire', 'crds', 'kube', 'operator'] },
  {
    files: /^api\/src\/verbs\//,
    rooms: ['domain', 'wire', 'crds', 'kube'],
    forbidden: /^(hono|@hono)/,
  },
  { files: /^api\//, rooms: ['domain', 'wire', 'crds', 'kube'] },
  { files: /^pod\//, rooms: ['domain', 'wire'], forbidden: /^(?!(valibot|pino|cockatiel|node:.*)$)/ },
  {
    files: /^(adapter|runs-worker)\//,
    rooms: ['domain', 'wire', 'pod'],
    forbidden: /^(hono|drizzle-orm|postgres|@kubernetes)/,
  },
  { files: /^dev\//, rooms: ['domain', 'wire', 'crds', 'kube', 'operator', 'api', 'adapter'] },
  { files: /^e2e\//, rooms: ['domain', 'wire', 'crds', 'kube', 'dev'] },
]

const SPECIFIER = /(?:from|import)\s*\(?\s*'([^']+)'/g
const TEST = /(\.test\.ts|\.e2e\.ts)$|\/test\//

export type Source = { readonly path: string; readonly text: string }

export function readSources(root: string): Source[] {
  return globSync('{domain,wire,crds,kube,operator,api,pod,adapter,runs-worker,dev,e2e}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  }).map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(resolve(root, path), 'utf8') }))
}

/** What breaks the import rules of ARCHITECTURE.md, one sentence each. */
export function importFindings(sources: readonly Source[]): string[] {
  return sources.filter(({ path }) => !TEST.test(path)).flatMap(findingsOf)
}

function findingsOf({ path, text }: Source): string[] {
  const rule = RULES.find(({ files }) => files.test(path))
  if (rule === undefined) return [`${path}: no rule knows this folder`]
  const room = path.split('/')[0] ?? ''
  const findings: string[] = []
  for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
    const problem = problemOf(path, room, rule, specifier)
    if (problem !== undefined) findings.push(`${path}: imports ${specifier}: ${problem}`)
  }
  if (/process\.env/.test(text) && !isConfig(path))
    findings.push(`${path}: reads process.env outside a config`)
  if (isProduct(room) && /\b(new Date\(\)|Date\.now\(\))/.test(text) && !isEntry(path))
    findings.push(`${path}: reads the clock instead of taking a Clock`)
  return findings
}

const isConfig = (path: string): boolean => /(^|\/)config(\.ts$|\/)/.test(path) || path.startsWith('dev/')
const isEntry = (path: string): boolean => /\/(main|clock)\.ts$/.test(path)
const isProduct = (room: string): boolean => !['kube', 'dev', 'e2e'].includes(room)

function problemOf(path: string, room: string, rule: Rule, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const target = relative('.', resolve(dirname(path), specifier)).replaceAll('\\', '/')
    if (target.split('/')[0] !== room) return 'a path into another room; use its package name'
    if (path.startsWith('api/src/http/') && /^api\/src\/(db|projector|secrets)\//.test(target))
      return 'http goes through verbs'
    return undefined
  }
  const own = /^@service\/([a-z-]+)(\/[a-z]+)?$/.exec(specifier)?.[1]
  if (own !== undefined)
    return rule.rooms.includes(own) ? undefined : `the room ${room} may not import ${own}`
  return rule.forbidden?.test(specifier) === true ? 'this package does not belong here' : undefined
}
