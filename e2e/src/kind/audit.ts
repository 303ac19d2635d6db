import {
  clusterTools,
  covers,
  isForEverybody,
  NAMESPACE,
  readGrants,
  readKindAuditLog,
  RELEASE,
  singleGrants,
} from '@service/dev'
import type { AuditEvent, Grant } from '@service/dev'
import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../everywhere.ts'
import { readWorld } from './live.ts'

/** Service accounts of the install and of tenants. */
const OURS = /^system:serviceaccount:(service-system|tenant-[a-z0-9-]+):/
const DECISION = 'authorization.k8s.io/decision'
/** A run of the scenarios makes thousands. */
const FEWEST = 200

async function ourRequests(): Promise<AuditEvent[]> {
  const { cluster } = await readWorld()
  const lines = (await readKindAuditLog(cluster)).split('\n').filter((line) => line !== '')
  const events = lines.map((line) => JSON.parse(line) as AuditEvent)
  return events.filter(({ user }) => OURS.test(user.username))
}

/**
 * Of the release as it is installed, with what its hooks have while they run, and with the bindings that the operator makes
 * in tenants' namespaces, which give nothing but the chart's own roles.
 */
async function grantsOfChart(): Promise<Grant[]> {
  const { helm, kubectl } = await clusterTools((await readWorld()).cluster.kubeconfigPath)
  const get = (what: string) => helm(['get', what, RELEASE, '--namespace', NAMESPACE])
  const { items } = JSON.parse(await kubectl(['get', 'rolebindings', '-A', '-o', 'json'])) as {
    items: KubeObject[]
  }
  const own = items.filter(({ metadata }) => metadata.namespace?.startsWith('tenant-') === true)
  const rendered = [await get('manifest'), await get('hooks'), ...own.map((each) => JSON.stringify(each))]
  return readGrants(rendered.join('\n---\n'), NAMESPACE)
}

const show = ({ user, verb, requestURI }: AuditEvent): string => `${user.username} ${verb} ${requestURI}`

export function auditing(): void {
  describe("the API server's audit log of the whole run", () => {
    let requests: AuditEvent[]
    let grants: Grant[]
    beforeAll(async () => {
      requests = await ourRequests()
      grants = await grantsOfChart()
    })

    it('has no request of ours that was denied', () => {
      const denied = requests.filter(
        ({ annotations, responseStatus }) =>
          annotations?.[DECISION] !== 'allow' || responseStatus?.code === 403,
      )
      console.log(`${requests.length} requests of ours, ${denied.length} denied`)
      expect(requests.length).toBeGreaterThan(FEWEST)
      expect(denied.map(show)).toEqual([])
    })

    it('has none that something else than a rule of the chart allowed', () => {
      const outside = requests.filter(
        (request) => !isForEverybody(request) && !grants.some((grant) => covers(grant, request)),
      )
      console.log(`${outside.length} of them outside the verbs that the chart grants`)
      expect([...new Set(outside.map(show))]).toEqual([])
    })

    it('tells which granted verbs were never used', () => {
      const single = singleGrants(grants)
      const granted = new Set(single.map(({ label }) => label))
      const used = new Set(
        single
          .filter((grant) => requests.some((request) => covers(grant, request)))
          .map(({ label }) => label),
      )
      const unused = [...granted].filter((label) => !used.has(label))
      console.log(`${unused.length} of ${granted.size} granted verbs were never used:`)
      for (const label of unused) console.log(`  ${label}`)
      expect(used.size).toBeGreaterThan(0)
    })
  })
}
