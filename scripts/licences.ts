import { readFileSync } from 'node:fs'
import { join } from 'node:path'

type Lock = {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string
        readonly dev?: boolean
        readonly license?: string
        readonly link?: boolean
      }
    >
  >
}

/** The npm packages that ship with the service, with version and licence, as a Markdown page. */
export function renderLicences(root: string): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const rows = Object.entries(lock.packages)
    .filter(([path, entry]) => path.startsWith('node_modules/') && entry.dev !== true && entry.link !== true)
    .map(([path, entry]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return `| ${name} | ${entry.version ?? ''} | ${entry.license ?? 'unknown'} |`
    })
  return [
    '# Licences of the dependencies',
    '',
    'Written by `make generate` from the lockfile; development tools are left out. The service itself is under Apache-2.0.',
    'The development system also builds Kubernetes, etcd and Helm (all Apache-2.0) and runs PostgreSQL (PostgreSQL licence); it ships none of them.',
    '',
    '| package | version | licence |',
    '|---|---|---|',
    ...new Set(rows.toSorted()),
    '',
  ].join('\n')
}
