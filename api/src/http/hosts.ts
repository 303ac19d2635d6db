import { SLUG } from '@service/domain'

/** Origins by configuration; the Host header only chooses among them (decision 2.10). */
export type HostTable = {
  readonly msspOrigins: readonly [string, ...string[]]
  readonly customer: { readonly protocol: 'http:' | 'https:'; readonly base: string }
}
export type KnownHost =
  | { readonly kind: 'mssp'; readonly origin: string }
  | { readonly kind: 'customer'; readonly slug: string; readonly origin: string }
  /** Not configured: only health and internal routes answer there. */
  | { readonly kind: 'other'; readonly origin: null }

const OTHER: KnownHost = { kind: 'other', origin: null }

/** Which of our hosts a Host header names; a customer host need not have a tenant. */
export function classifyHost(header: string | undefined, table: HostTable): KnownHost {
  if (header === undefined) return OTHER
  const mssp = table.msspOrigins.find((origin) => sameHost(header, origin))
  if (mssp !== undefined) return { kind: 'mssp', origin: mssp }
  const dot = header.indexOf('.')
  const slug = header.slice(0, Math.max(dot, 0)).toLowerCase()
  const { protocol, base } = table.customer
  if (!SLUG.test(slug) || !sameHost(header.slice(dot + 1), `${protocol}//${base}`)) return OTHER
  return { kind: 'customer', slug, origin: customerOrigin(table, slug) }
}

/** Address of a tenant's portal. */
export const customerOrigin = (table: Pick<HostTable, 'customer'>, slug: string): string =>
  `${table.customer.protocol}//${slug}.${table.customer.base}`

function sameHost(header: string, origin: string): boolean {
  if (!/^[a-z0-9.:[\]-]+$/i.test(header)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${header}`
  return URL.canParse(own) && new URL(own).host === host
}
