import type { Tenant } from '@service/crds'

/**
 * The versions that our own writes have made and the watch has not brought yet. Acting on an older version would mean
 * doing things twice.
 */
export type OwnWrites = {
  wrote(tenant: Tenant): void
  /** The newer of what the watch has and what we wrote. */
  newest(name: string, cached: Tenant | undefined): Tenant | undefined
  isOwn(tenant: Pick<Tenant, 'metadata'>): boolean
  forget(name: string): void
}

export function ownWrites(): OwnWrites {
  const written = new Map<string, Tenant>()
  return {
    wrote: (tenant) => void written.set(tenant.metadata.name, tenant),
    newest: (name, cached) => {
      const own = written.get(name)
      // What the watch no longer has is gone, unless it has not seen it yet: its deletion makes us forget.
      if (own === undefined || cached === undefined) return cached
      return own.metadata.uid === cached.metadata.uid && isNewer(own, cached) ? own : cached
    },
    isOwn: ({ metadata }) => {
      const own = written.get(metadata.name)?.metadata
      return own !== undefined && own.uid === metadata.uid && own.resourceVersion === metadata.resourceVersion
    },
    forget: (name) => void written.delete(name),
  }
}

const isNewer = (one: Tenant, other: Tenant): boolean => versionOf(one) > versionOf(other)

/** Versions of one kind are comparable decimal numbers. */
function versionOf({ metadata }: Tenant): bigint {
  const { resourceVersion = '' } = metadata
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n
}
