import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const FENCE = /^```.*?\n[^]*?^```$/gm
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g

/** Links of a Markdown file to places below `root` that do not exist, one sentence each. Addresses with a scheme are not asked. */
export function brokenLinks(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(FENCE, '')
  return [...text.matchAll(LINK)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const found = path === '' ? join(root, file) : resolve(root, dirname(file), path)
    if (relative(root, found).startsWith('..')) return [`${file}: ${target} leads out of the checkout`]
    if (!existsSync(found)) return [`${file}: ${target} does not exist`]
    if (anchor === undefined) return []
    return statSync(found).isFile() && anchors(readFileSync(found, 'utf8')).has(anchor)
      ? []
      : [`${file}: ${target} has no such heading`]
  })
}

/** The anchors that a forge gives to the headings. */
function anchors(markdown: string): Set<string> {
  const headings = markdown.replaceAll(FENCE, '').matchAll(/^#+ +(.+)$/gm)
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}
