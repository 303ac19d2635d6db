import { readFile } from 'node:fs/promises'
import { readKindAuditLog, type KindWorld } from '@service/dev'
import { describe, expect, it } from 'vitest'
import { worldFile } from '../config.ts'

/** One request as the API server's audit log tells it (audit.k8s.io/v1, level Metadata). */
type AuditEvent = {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly responseStatus?: { readonly code?: number }
  readonly annotations?: Readonly<Record<string, string>>
}

/** Service accounts of the install and of tenants. */
const OURS = /^system:serviceaccount:(service-system|tenant-[a-z0-9-]+):/
const DECISION = 'authorization.k8s.io/decision'
/** A run of the scenarios makes thousands. */
const FEWEST = 200

async function ourRequests(): Promise<AuditEvent[]> {
  const { cluster } = JSON.parse(await readFile(worldFile() ?? '', 'utf8')) as KindWorld
  const lines = (await readKindAuditLog(cluster)).split('\n').filter((line) => line !== '')
  const events = lines.map((line) => JSON.parse(line) as AuditEvent)
  return events.filter(({ user }) => OURS.test(user.username))
}

describe("the API server's audit log of the whole run", () => {
  it('has no request of ours that was denied: all lie within the granted verbs', async () => {
    const requests = await ourRequests()
    const denied = requests.filter(
      ({ annotations, responseStatus }) =>
        annotations?.[DECISION] !== 'allow' || responseStatus?.code === 403,
    )
    console.log(`${requests.length} requests of ours, ${denied.length} denied`)
    expect(requests.length).toBeGreaterThan(FEWEST)
    expect(denied.map(({ user, verb, requestURI }) => `${user.username} ${verb} ${requestURI}`)).toEqual([])
  })
})
