import { momentOf } from './file.ts'
import type { Alert } from './generate.ts'

const CHUNK = 500
const TIMEOUT_MS = 30_000

/**
 * Writes alerts into a tenant's indices, one a day, as Wazuh's own shipper does. An alert that is loaded again
 * replaces itself. Rejects at the first chunk that the indexer does not take whole.
 */
export async function loadAlerts(indexerUrl: string, slug: string, alerts: readonly Alert[]): Promise<void> {
  const base = indexerUrl.replace(/\/$/, '')
  for (let from = 0; from < alerts.length; from += CHUNK) {
    const lines = alerts.slice(from, from + CHUNK).flatMap((alert) => [actionFor(alert), alert])
    const response = await fetch(`${base}/${slug}/_bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const answer = (await response.json()) as BulkAnswer
    if (!response.ok)
      throw new Error(`the indexer refused the alerts: ${answer.error?.reason ?? response.status}`)
    const failed = answer.items
      ?.flatMap((item) => Object.values(item))
      .find((item) => item.error !== undefined)
    if (failed !== undefined) {
      const { _id: id, error, status } = failed
      throw new Error(`the indexer refused alert ${id}: ${error?.reason ?? status}`)
    }
  }
}

type BulkAnswer = {
  readonly error?: { readonly reason: string }
  readonly items?: readonly Readonly<Record<string, BulkItem>>[]
}
type BulkItem = {
  readonly _id: string
  readonly status: number
  readonly error?: { readonly reason: string }
}

function actionFor({ id, timestamp }: Alert) {
  const day = new Date(momentOf(String(timestamp))).toISOString().slice(0, 10).replaceAll('-', '.')
  return { index: { _index: `wazuh-alerts-4.x-${day}`, ...(typeof id === 'string' ? { _id: id } : {}) } }
}
