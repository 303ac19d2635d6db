import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { RELEASE_NAME } from '@service/domain'
import { SECRETS } from '@service/kube'
import type { KubeClient, KubeObject } from '@service/kube'
import * as v from 'valibot'
import { parseAllDocuments } from 'yaml'
import type { ReleaseSeen } from '../observation.ts'

export type ReleaseSecret = KubeObject & { readonly data?: Readonly<Record<string, string>> }
const WORKLOAD_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number]
export type Workload = { readonly kind: WorkloadKind; readonly name: string }
export type Release = ReleaseSeen & {
  readonly secret: { readonly name: string; readonly uid: string }
  /** What the manifest says should run; the cluster alone cannot tell what is missing. */
  readonly workloads: readonly Workload[]
}

/** Label of our runs of helm on the release record. Helm hands labels down to later records of anybody. */
export const OPERATION_LABEL = 'service.dev/operation'
const PENDING = /^(pending-.*|uninstalling)$/
/** Unpacked; a record itself is below 1 MiB. */
const MAX_BYTES = 64 * 1_024 * 1_024
const unzip = promisify(gunzip)

const StoredRelease = v.object({
  name: v.string(),
  version: v.number(),
  info: v.object({ status: v.string() }),
  chart: v.object({ metadata: v.object({ version: v.string() }) }),
  config: v.nullish(v.record(v.string(), v.unknown()), {}),
  manifest: v.optional(v.string(), ''),
})

/** Reads releases from their records, without running helm, and remembers what has been unpacked. */
export type ReleaseReader = {
  /** The newest record that is not history, or `null`. */
  read(kube: KubeClient, namespace: string): Promise<Release | null>
  forget(namespace: string): void
}

export function releaseReader(): ReleaseReader {
  const unpacked = new Map<string, { readonly mark: string; readonly release: Release }>()
  return {
    read: async (kube, namespace) => {
      const { items } = await kube.list<ReleaseSecret>(SECRETS, {
        namespace,
        labelSelector: `owner=helm,name=${RELEASE_NAME},status!=superseded`,
      })
      const newest = items.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0]
      if (newest === undefined) {
        unpacked.delete(namespace)
        return null
      }
      const mark = `${newest.metadata.uid}/${newest.metadata.resourceVersion}/${items.length}`
      const known = unpacked.get(namespace)
      if (known?.mark === mark) return known.release
      const older = items.filter((item) => item !== newest)
      const release = { ...(await unpack(newest)), ours: isOurs(newest, older) }
      unpacked.set(namespace, { mark, release })
      return release
    },
    forget: (namespace) => void unpacked.delete(namespace),
  }
}

const revisionOf = (secret: KubeObject): number => Number(secret.metadata.labels?.['version'] ?? 0)

/** A pending record carries the label of our run; one that only inherited it has it in common with its predecessor. */
function isOurs(secret: KubeObject, older: readonly KubeObject[]): boolean {
  const operation = secret.metadata.labels?.[OPERATION_LABEL]
  if (operation === undefined || !PENDING.test(secret.metadata.labels?.['status'] ?? '')) return false
  return older.every((each) => each.metadata.labels?.[OPERATION_LABEL] !== operation)
}

async function unpack(secret: ReleaseSecret): Promise<Omit<Release, 'ours'>> {
  const record = v.parse(StoredRelease, await decode(secret.data?.['release'] ?? ''))
  return {
    secret: { name: secret.metadata.name, uid: secret.metadata.uid ?? '' },
    revision: record.version,
    status: record.info.status,
    chartVersion: record.chart.metadata.version,
    valuesDigest: digestOf(record.config ?? {}),
    manifestDigest: sha256(record.manifest),
    workloads: workloadsOf(record.manifest),
  }
}

/** The Secret's own base64, then helm's, then gzip, then JSON. */
async function decode(data: string): Promise<unknown> {
  const packed = Buffer.from(Buffer.from(data, 'base64').toString('latin1'), 'base64')
  const bytes = await unzip(packed, { maxOutputLength: MAX_BYTES })
  return JSON.parse(bytes.toString('utf8'))
}

export function workloadsOf(manifest: string): Workload[] {
  return parseAllDocuments(manifest).flatMap((document) => {
    const object: unknown = document.toJS()
    const parsed = v.safeParse(WorkloadManifest, object)
    return parsed.success ? [{ kind: parsed.output.kind, name: parsed.output.metadata.name }] : []
  })
}
const WorkloadManifest = v.object({
  kind: v.picklist(WORKLOAD_KINDS),
  metadata: v.object({ name: v.string() }),
})

/** The same for equal values, however their keys are ordered. */
export const digestOf = (values: unknown): string => sha256(JSON.stringify(sorted(values)))

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, sorted(each)]),
  )
}
