import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** `.local/connection.json` (decision 9): everything that a test or a person needs to reach the system. */
export type Connection = {
  readonly mssp_url: string
  /** An API in proxy mode and the only address whose identity headers it believes (decision 10.6); null without PROXY=1. */
  readonly proxy_mssp_url: string | null
  readonly proxy_trusted_ip: string | null
  readonly customer_url_template: string
  readonly metrics_url: string
  readonly admin: { readonly email: string; readonly password: string }
  readonly kubeconfig: string
  readonly databases: { readonly admin: string; readonly app: string; readonly mssp: string }
  readonly indexer_url: string
  readonly llm_url: string | null
  readonly pids: Readonly<Record<string, number>>
}

export const connectionFile = (localDir: string): string => join(localDir, 'connection.json')

/** Readable by the owner alone, and never half-written. */
export async function writeConnection(localDir: string, connection: Connection): Promise<void> {
  await mkdir(localDir, { recursive: true })
  const file = connectionFile(localDir)
  await writeFile(`${file}.new`, `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600 })
  await chmod(`${file}.new`, 0o600)
  await rename(`${file}.new`, file)
}

export const removeConnection = (localDir: string): Promise<void> =>
  rm(connectionFile(localDir), { force: true })
