import { createHash } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { AgentOptions, RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { errorWithoutAnswer } from './errors.ts'

/** Sockets of the pool; a watch has its own connection beside it. */
export const POOL_SOCKETS = 24
/** Below the API server's own idle limit of 90 s, so that it never closes a socket that we are about to use. */
const IDLE_MS = 60_000
/** How long one reading of the files behind the credentials serves. */
const FRESH_MS = 10_000
const RELOAD_EVERY_MS = 1_000

export type ConfigSource = { readonly kubeconfigPath: string } | { readonly inCluster: true }

/** Any structured logger that takes a line. */
export type KubeLog = { info(message: string): void }

export type Credentials = {
  readonly server: URL
  readonly headers: Readonly<Record<string, string>>
  readonly pool: HttpAgent
  /** For watches: each a connection of its own, outside the pool. */
  readonly dedicated: HttpAgent
}

type Pools = { readonly key: string; readonly pool: HttpAgent; readonly dedicated: HttpAgent }

/**
 * The library gives each request a dispatcher, hence a TLS connection, of its own. This one hands out agents that are
 * kept as long as the TLS material stays the same.
 */
export class PooledKubeConfig extends KubeConfig {
  #pools: Pools | undefined

  override async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
    await super.applyToHTTPSOptions(options)
    options.agent = this.pools(options).pool
  }

  pools(options: RequestOptions): Pools {
    const tls = tlsOf(options)
    const key = digest(this.getCurrentCluster()?.server, tls)
    if (this.#pools?.key === key) return this.#pools
    // The old agents' busy sockets finish their answers; idle ones go by their time-out.
    this.#pools = makePools(key, this.getCurrentCluster()?.server ?? '', this.#proxyAgent(options), tls)
    return this.#pools
  }

  #proxyAgent(options: RequestOptions): HttpAgent | undefined {
    const proxied = this.getCurrentCluster()?.proxyUrl !== undefined
    return proxied && options.agent instanceof HttpAgent ? options.agent : undefined
  }

  destroyPools(): void {
    this.#pools?.pool.destroy()
    this.#pools?.dedicated.destroy()
    this.#pools = undefined
  }

  /** Takes over another instance's pools when it would make the same ones. */
  inherit(other: PooledKubeConfig): void {
    this.#pools = other.#pools
  }
}

function makePools(key: string, server: string, proxy: HttpAgent | undefined, tls: AgentOptions): Pools {
  if (proxy !== undefined) return { key, pool: proxy, dedicated: proxy }
  const pooled = { keepAlive: true, maxSockets: POOL_SOCKETS, timeout: IDLE_MS }
  if (server.startsWith('http:')) {
    return { key, pool: new HttpAgent(pooled), dedicated: new HttpAgent() }
  }
  return { key, pool: new HttpsAgent({ ...pooled, ...tls }), dedicated: new HttpsAgent(tls) }
}

function tlsOf(options: RequestOptions): AgentOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options
  const all = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function digest(server: string | undefined, tls: AgentOptions): string {
  return createHash('sha256')
    .update(JSON.stringify([server, tls]))
    .digest('hex')
}

export type CredentialSource = {
  /** Fails with KubeError `BadConfiguration` while the files behind it cannot be used. */
  current(): Promise<Credentials>
  /** After a 401: reads kubeconfig and token files anew, at most once a second. */
  reload(): void
  close(): void
}

/** Reads lazily and again: a kubeconfig or a token that appears or changes later is found without a restart. */
export function credentialSource(source: ConfigSource, log?: KubeLog): CredentialSource {
  let config: PooledKubeConfig | undefined
  let cached: Credentials | undefined
  let readAt = -Infinity
  let reloadedAt = -Infinity

  const load = (): PooledKubeConfig => {
    const next = new PooledKubeConfig()
    if ('kubeconfigPath' in source) next.loadFromFile(source.kubeconfigPath)
    else next.loadFromCluster()
    if (config !== undefined) next.inherit(config)
    return next
  }
  return {
    current: async () => {
      if (cached !== undefined && performance.now() - readAt < FRESH_MS) return cached
      try {
        config ??= load()
        cached = await read(config)
        readAt = performance.now()
        return cached
      } catch (error) {
        config = undefined
        cached = undefined
        throw errorWithoutAnswer('cluster credentials', 'BadConfiguration', error)
      }
    },
    reload: () => {
      if (performance.now() - reloadedAt < RELOAD_EVERY_MS) return
      reloadedAt = performance.now()
      readAt = -Infinity
      log?.info('the API server refused our credentials: reading them again')
      try {
        config = load()
      } catch {
        // The next call reads again and reports.
        config = undefined
      }
    },
    close: () => config?.destroyPools(),
  }
}

async function read(config: PooledKubeConfig): Promise<Credentials> {
  const server = config.getCurrentCluster()?.server
  if (server === undefined) throw new Error('the kubeconfig has no usable current context')
  if (!URL.canParse(server)) throw new Error('there is no API server address: not inside a cluster?')
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Token files end with a line feed, which no header may hold.
    headers[name.toLowerCase()] = String(value).trim()
  }
  if (typeof options.auth === 'string') {
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
  }
  const { pool, dedicated } = config.pools(options)
  return { server: new URL(server), headers, pool, dedicated }
}
