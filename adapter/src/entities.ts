import { BlockList, isIP, isIPv6 } from 'node:net'
import { EVENT } from '@service/domain'
import type { IngestedIoc, WireEntity } from '@service/wire'
import type * as v from 'valibot'
import { textAt, textsAt } from './document.ts'
import { fit, safeText } from './text.ts'

export type Entity = WireEntity
export type Ioc = v.InferOutput<typeof IngestedIoc>
type Field = {
  readonly path: string
  readonly type: Entity['type']
  readonly role: Entity['role']
}

const WIN = 'data.win.eventdata'
/** Where Wazuh's decoders put what an alert is about, the most telling first. */
const FIELDS: readonly Field[] = [
  { path: 'agent.name', type: 'host', role: 'target' },
  { path: 'agent.ip', type: 'ip', role: 'target' },
  { path: 'data.srcip', type: 'ip', role: 'src' },
  { path: 'data.src_ip', type: 'ip', role: 'src' },
  { path: `${WIN}.ipAddress`, type: 'ip', role: 'src' },
  { path: `${WIN}.sourceIp`, type: 'ip', role: 'src' },
  { path: 'data.dstip', type: 'ip', role: 'dst' },
  { path: 'data.dest_ip', type: 'ip', role: 'dst' },
  { path: `${WIN}.destinationIp`, type: 'ip', role: 'dst' },
  { path: 'data.srcuser', type: 'user', role: 'actor' },
  { path: `${WIN}.subjectUserName`, type: 'user', role: 'actor' },
  { path: `${WIN}.user`, type: 'user', role: 'actor' },
  { path: 'data.dstuser', type: 'user', role: 'target' },
  { path: `${WIN}.targetUserName`, type: 'user', role: 'target' },
  { path: `${WIN}.image`, type: 'process', role: 'actor' },
  { path: `${WIN}.parentImage`, type: 'process', role: 'parent' },
  { path: 'data.process.name', type: 'process', role: 'actor' },
  { path: 'data.audit.exe', type: 'process', role: 'actor' },
  { path: 'data.command', type: 'process', role: 'actor' },
  { path: 'syscheck.sha256_after', type: 'hash', role: 'target' },
  { path: 'syscheck.sha1_after', type: 'hash', role: 'target' },
  { path: 'syscheck.md5_after', type: 'hash', role: 'target' },
  { path: `${WIN}.hashes`, type: 'hash', role: 'actor' },
  { path: 'data.virustotal.source.sha1', type: 'hash', role: 'target' },
  { path: 'data.dns.query', type: 'domain', role: 'dst' },
  { path: `${WIN}.queryName`, type: 'domain', role: 'dst' },
  { path: 'data.srcport', type: 'port', role: 'src' },
  { path: 'data.dstport', type: 'port', role: 'dst' },
]

const MAX_VALUES = 16

/** Who and what an alert names: valid values only, each once, at most 64. */
export function entitiesOf(document: unknown): Entity[] {
  const found = new Map<string, Entity>()
  for (const { path, type, role } of FIELDS)
    for (const text of textsAt(document, path, MAX_VALUES))
      for (const value of READERS[type](text)) {
        const key = JSON.stringify([type, value, role])
        if (found.size < EVENT.entities && !found.has(key))
          found.set(key, { type, value, role, source_field: fit(path, EVENT.entitySourceField) })
      }
  return [...found.values()]
}

const name = (text: string): string[] => {
  const value = safeText(text.trim(), EVENT.entityValue)
  return value === '' || value === '-' ? [] : [value]
}
const HASH = /(?:^|[=,\s])([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?=$|[,\s])/gi

const READERS: { readonly [T in Entity['type']]: (text: string) => string[] } = {
  user: name,
  host: name,
  process: name,
  ip: (text) => (isIP(text.trim()) === 0 ? [] : [text.trim().toLowerCase().split('%')[0] ?? '']),
  hash: (text) => [...text.slice(0, 1_024).matchAll(HASH)].map(([, hash = '']) => hash.toLowerCase()),
  domain: (text) => (/^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?\.?$/i.test(text) ? [text.toLowerCase()] : []),
  port: (text) => (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535 ? [text] : []),
}

const INTERNAL = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  INTERNAL.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  INTERNAL.addSubnet(network, prefix, 'ipv6')

const isPublic = (ip: string): boolean => !INTERNAL.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4')

/** From this severity on, a foreign address is worth comparing with other cases. */
const SUSPICIOUS = 7

/**
 * Indicators that are worth comparing over cases: hashes of files, foreign addresses of alerts that are not noise,
 * whole URLs. Few, since every indicator weighs in the assessment.
 */
export function iocsOf(document: unknown, severity: number, entities: readonly Entity[]): Ioc[] {
  const iocs = entities.flatMap(({ type, value, role }): Ioc[] => {
    if (type === 'hash') return [{ type: 'hash', value }]
    const foreign = type === 'ip' && (role === 'src' || role === 'dst') && isPublic(value)
    return foreign && severity >= SUSPICIOUS ? [{ type: 'ip', value }] : []
  })
  const url = textAt(document, 'data.url')
  if (url !== undefined && /^https?:\/\//i.test(url))
    iocs.push({ type: 'url', value: safeText(url, EVENT.iocValue) })
  const unique = new Map(iocs.map((ioc) => [JSON.stringify(ioc), ioc]))
  return [...unique.values()].slice(0, EVENT.initialIocs)
}
