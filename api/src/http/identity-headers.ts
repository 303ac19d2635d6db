import { BlockList, isIP } from 'node:net'
import { ServiceError } from '@service/domain'

/** Addresses whose identity headers count (decision 2.7). */
export type TrustedRange = {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}
/** Names of headers, in lower case. */
export type HeaderNames = { readonly user: string; readonly email: string; readonly groups: string }
/** As Node tells them: each value that was sent, by the name in lower case. */
export type SentHeaders = Readonly<Record<string, readonly string[] | undefined>>

/** Names the tenant that a request of MSSP staff is about, by id or by slug. */
export const TENANT_HEADER = 'x-service-tenant'

/** Whether an address of a connection lies in one of the ranges; an IPv4 address counts as itself when it is mapped. */
export function trustOf(ranges: readonly TrustedRange[]): (peer: string | undefined) => boolean {
  const list = new BlockList()
  for (const { address, prefix, family } of ranges) list.addSubnet(address, prefix, family)
  return (peer) => {
    const address = peer?.split('%')[0] ?? ''
    const version = isIP(address)
    return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/**
 * The e-mail address that the identity proxy vouches for, or null where nothing is said. The groups say nothing here: what
 * somebody may do stands in the row of the user.
 */
export function readIdentityHeaders(
  sent: SentHeaders,
  names: HeaderNames,
  from: { readonly peer: string | undefined; readonly trusts: (peer: string | undefined) => boolean },
): string | null {
  const values = (name: string): readonly string[] => sent[name] ?? []
  const [user, email, groups] = [values(names.user), values(names.email), values(names.groups)]
  if (user.length + email.length + groups.length === 0) return null
  if (!from.trusts(from.peer))
    throw new ServiceError(
      'untrusted_proxy',
      `Identity headers are not accepted from ${from.peer ?? 'nowhere'}`,
    )
  // A list may hold commas; a second line is somebody else's, who wrote before or after the proxy.
  if (groups.length > 1 || !isOne(user) || !isOne(email))
    throw new ServiceError('untrusted_proxy', 'An identity header says more than one thing')
  return [...email, ...user].find((value) => value !== '') ?? null
}

const isOne = (values: readonly string[]): boolean =>
  values.length <= 1 && values.every((value) => !value.includes(','))
