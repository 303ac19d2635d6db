import { isIP } from 'node:net'
import {
  type ArmedFailpoint,
  INSTALL_SECRETS,
  type InstallSecret,
  parseFailpoint,
  PASSWORD,
  SERVICE_TOKEN,
} from '@service/domain'
import { httpUrl, text, UserEmail } from '@service/wire'
import * as v from 'valibot'
import type { Parser } from './reader.ts'

export type Listen = { readonly host: string; readonly port: number }

/** `{scheme}//{slug}.{base}`; `base` carries the port unless it is the scheme's own. */
export type CustomerOrigins = { readonly protocol: 'http:' | 'https:'; readonly base: string }

export const anyText: Parser<string> = (text) => text

export const oneOf =
  <const T extends string>(...choices: readonly T[]): Parser<T> =>
  (text) =>
    choices.find((choice) => choice === text)

export const flag: Parser<boolean> = (text) => (text === 'true' ? true : text === 'false' ? false : undefined)

export const wholeNumber =
  (min: number, max: number): Parser<number> =>
  (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  }

export const uuid: Parser<string> = (text) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : undefined

export const namespace: Parser<string> = (text) =>
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? text : undefined

/** As HTTP compares it: in lower case. */
export const headerName: Parser<string> = (text) =>
  /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(text) ? text.toLowerCase() : undefined

/** `address/prefix`. */
export type AddressRange = {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

export const addressRanges: Parser<readonly AddressRange[]> = (text) => {
  const found = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(addressRange)
  return found.every((range) => range !== undefined) ? found : undefined
}

function addressRange(text: string): AddressRange | undefined {
  const [, address = '', bits = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  const prefix = Number(bits)
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return undefined
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** `host:port`, with brackets around an IPv6 address; port 0 asks for a free one. */
export const listen: Parser<Listen> = (text) => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:\s]+):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  if (match?.[1] === undefined || port > 65_535) return undefined
  return { host: match[1].replace(/^\[|\]$/g, ''), port }
}

/** An origin in its canonical writing: lower case, no default port, nothing after the host. */
export const origin: Parser<string> = (text) => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  const bare = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  return bare && url.pathname === '/' && !url.hostname.includes('*') ? url.origin : undefined
}

export const origins: Parser<readonly [string, ...string[]]> = (text) => {
  const [first, ...rest] = text.split(',').map((part) => origin(part.trim()))
  if (first === undefined || rest.includes(undefined)) return undefined
  return [first, ...(rest as string[])]
}

export const customerOrigins: Parser<CustomerOrigins> = (text) => {
  const match = /^(https?:)\/\/\*\.([^*/]+)\/?$/i.exec(text)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  const parsed = origin(`${match[1]}//${match[2]}`)
  if (parsed === undefined) return undefined
  const url = new URL(parsed)
  return { protocol: url.protocol as CustomerOrigins['protocol'], base: url.host }
}

export const postgresUrl: Parser<string> = (text) =>
  URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol) ? text : undefined

/** The address with who enters it, unless it says so already. What was refused before is handed on as it is. */
export function withCredentials(address: string, user: string | null, password: string | null): string {
  if (!URL.canParse(address)) return address
  const url = new URL(address)
  if (user !== null) url.username = encodeURIComponent(user)
  if (password !== null) url.password = encodeURIComponent(password)
  return url.href
}

export type NamedSecret = { readonly kind: InstallSecret; readonly name: string }

/** `kind=name,kind=name`. */
export const installSecrets: Parser<readonly NamedSecret[]> = (text) => {
  const found: NamedSecret[] = []
  for (const pair of text.split(',').filter((part) => part !== '')) {
    const [, kind = '', name = ''] = /^([A-Za-z]+)=([a-z0-9][a-z0-9.-]{0,252})$/.exec(pair) ?? []
    if (!isInstallSecret(kind)) return undefined
    found.push({ kind, name })
  }
  return found
}
const isInstallSecret = (kind: string): kind is InstallSecret => Object.hasOwn(INSTALL_SECRETS, kind)

export const webAddress: Parser<string> = (value) => (v.is(httpUrl(500), value) ? value : undefined)

export const email: Parser<string> = (value) => (v.is(UserEmail, value) ? value.toLowerCase() : undefined)

export const password: Parser<string> = (value) =>
  v.is(text(PASSWORD.minLength, PASSWORD.maxLength), value) ? value : undefined

export const failpoint: Parser<ArmedFailpoint> = parseFailpoint

/** Bytes of a key: `base64:<data>`, or the UTF-8 bytes of the text itself. */
export const signingKey: Parser<Uint8Array> = (text) => {
  const encoded = /^base64:([A-Za-z0-9+/_-]+={0,2})$/.exec(text)?.[1]
  if (text.startsWith('base64:') && encoded === undefined) return undefined
  const bytes = encoded === undefined ? Buffer.from(text, 'utf8') : Buffer.from(encoded, 'base64')
  return bytes.length >= SERVICE_TOKEN.minKeyBytes ? new Uint8Array(bytes) : undefined
}
