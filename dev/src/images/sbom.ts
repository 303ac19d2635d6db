import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ROOT } from '../system/paths.ts'
import type { ImageSpec } from './catalogue.ts'

const run = promisify(execFile)
const MAX_OUTPUT = 64 * 1_024 * 1_024

type Package = Readonly<Record<string, unknown>> & {
  readonly SPDXID: string
  readonly name: string
  /** Folder of the package, from the checkout's root; empty for the project itself. */
  readonly packageFileName?: string
}
type Relationship = {
  readonly spdxElementId: string
  readonly relatedSpdxElement: string
  readonly relationshipType: string
}
type Document = Readonly<Record<string, unknown>> & {
  readonly packages: readonly Package[]
  readonly relationships: readonly Relationship[]
}

/** The image's SPDX document: npm's own, cut down to what was bundled, and the modules that helm was built from. */
export async function sbom(
  spec: ImageSpec,
  bundled: ReadonlySet<string>,
  helm: string | undefined,
): Promise<string> {
  const args = ['sbom', '--sbom-format=spdx', '--sbom-type=application', '--package-lock-only']
  const { stdout } = await run('npm', [...args, '--workspace', spec.room], {
    cwd: ROOT,
    maxBuffer: MAX_OUTPUT,
  })
  const document = JSON.parse(stdout) as Document
  const modules = helm === undefined ? [] : await goModules(helm)
  return `${JSON.stringify(withPackages(prune(document, bundled), modules), null, 2)}\n`
}

/** Pure. Keeps the project, its rooms and what was bundled. Throws when npm does not know a bundled package. */
export function prune(document: Document, bundled: ReadonlySet<string>): Document {
  const packages = document.packages.filter(
    ({ name, packageFileName = '' }) =>
      packageFileName === '' || name.startsWith('@service/') || bundled.has(packageFileName),
  )
  const known = new Set(packages.map(({ packageFileName }) => packageFileName))
  const missing = [...bundled].filter((folder) => !known.has(folder))
  if (missing.length > 0) throw new Error(`npm's bill of materials lacks ${missing.join(', ')}`)
  const kept = new Set(['SPDXRef-DOCUMENT', ...packages.map(({ SPDXID }) => SPDXID)])
  const relationships = document.relationships.filter(
    ({ spdxElementId, relatedSpdxElement }) => kept.has(spdxElementId) && kept.has(relatedSpdxElement),
  )
  return { ...document, packages, relationships }
}

type Module = { readonly path: string; readonly version: string }

/** What the Go linker has written into the program. */
async function goModules(program: string): Promise<Module[]> {
  const { stdout } = await run('go', ['version', '-m', program], { maxBuffer: MAX_OUTPUT })
  return [...stdout.matchAll(/^\t(?:dep|mod|=>)\t(\S+)\t(v\S+)/gm)].map(([, path = '', version = '']) => ({
    path,
    version,
  }))
}

function withPackages(document: Document, modules: readonly Module[]): Document {
  const root = document.packages.find(({ packageFileName = '' }) => packageFileName === '')
  if (root === undefined) throw new Error("npm's bill of materials has no root package")
  const added = modules.map(({ path, version }) => ({
    SPDXID: `SPDXRef-Package-go.${path}-${version}`.replaceAll(/[^A-Za-z0-9.-]/g, '-'),
    name: path,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    externalRefs: [
      {
        referenceCategory: 'PACKAGE-MANAGER',
        referenceType: 'purl',
        referenceLocator: `pkg:golang/${path}@${version}`,
      },
    ],
  }))
  const relationships = added.map(({ SPDXID }) => ({
    spdxElementId: root.SPDXID,
    relatedSpdxElement: SPDXID,
    relationshipType: 'CONTAINS',
  }))
  return {
    ...document,
    packages: [...document.packages, ...added],
    relationships: [...document.relationships, ...relationships],
  }
}
