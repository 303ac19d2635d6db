/** What goes into one of the product's images, besides the Node.js of its base. */
export type ImageSpec = {
  /** The room whose `main.ts` it runs and whose `Dockerfile` it is built with. */
  readonly room: 'api' | 'adapter' | 'runs-worker'
  readonly repository: string
  /** Bundles below `/app` → their entry points; each is one file. */
  readonly entries: Readonly<Record<string, string>>
  /** Files and folders copied below `/app` → where they lie in the checkout. */
  readonly files: Readonly<Record<string, string>>
  /** Commands in `/usr/local/bin` → the entries that they run. */
  readonly commands: Readonly<Record<string, string>>
  /** Whether helm goes into `/usr/local/bin`. */
  readonly helm: boolean
  /** Words of the bundles without which a dependency's patch is missing. */
  readonly patched: readonly string[]
}

const LEGAL = { LICENSE: 'LICENSE', 'licences.md': 'docs/licences.md' } as const

/** Words of the patched driver that the released one does not have; see docs/adr/0002. */
const DRIVER_PATCH = ['!q.cursorFn && sent.length < max_pipeline && !q.options.onexecute']

export const IMAGES: readonly ImageSpec[] = [
  {
    room: 'api',
    repository: 'service/api',
    entries: {
      main: 'api/src/main.ts',
      'service-auth': 'api/src/service-auth/main.ts',
      operator: 'operator/src/main.ts',
      'helm-guard': 'operator/src/helm/guard.ts',
    },
    files: {
      ...LEGAL,
      'roles.sql': 'api/src/db/roles.sql',
      migrations: 'api/src/db/migrations',
      docs: 'api/src/http/docs',
      'charts/service-tenant': 'charts/service-tenant',
    },
    commands: { 'service-auth': 'service-auth' },
    helm: true,
    patched: DRIVER_PATCH,
  },
  {
    room: 'adapter',
    repository: 'service/adapter',
    entries: { main: 'adapter/src/main.ts' },
    files: LEGAL,
    commands: {},
    helm: false,
    patched: [],
  },
  {
    room: 'runs-worker',
    repository: 'service/runs-worker',
    entries: { main: 'runs-worker/src/main.ts' },
    files: LEGAL,
    commands: {},
    helm: false,
    patched: [],
  },
]
