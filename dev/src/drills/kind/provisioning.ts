import { setTimeout as sleep } from 'node:timers/promises'
import { namespaceOf } from '@service/domain'
import { killPods } from '../../kind/join.ts'
import { NAMESPACE, RELEASE } from '../../kind/layout.ts'
import { faultsOf } from '../crash/rounds.ts'
import type { Round } from '../crash/rounds.ts'
import { create, read, secretsOf, until, untilActive } from '../crash/tenants.ts'
import type { KindDrill } from './world.ts'

/** Later by so much in each round: together the rounds cover the way from the row to the first heartbeat. */
const STEP_MS = 500

export type Death = Round & { readonly state: string; readonly answeringMs: number }

/** One tenant; the API's pod, with the operator in it, is taken away while it is provisioned. */
export async function killWhileProvisioning(drill: KindDrill, round: number): Promise<Death> {
  const slug = `killed-${round}`
  const id = await create(drill, slug)
  await sleep(round * STEP_MS)
  const [{ state }, before] = await Promise.all([read(drill, id), secretsOf(drill, slug, id)])
  const at = performance.now()
  await killPods(drill.tools.kubectl, NAMESPACE, `deployment/${RELEASE}-api`)
  await until('the API to answer', () => read(drill, id))
  const answeringMs = performance.now() - at
  await untilActive(drill, slug, id)
  const recoveryMs = performance.now() - at
  const faults = await faultsOf(drill, slug, id, before)
  await layToRest(drill, slug)
  return { state, answeringMs, recoveryMs, faults }
}

/** A node of two cores has no room for ten tenants: the operator leaves this one alone, and its pods end. */
async function layToRest(drill: KindDrill, slug: string): Promise<void> {
  await drill.kubectl('annotate', `tenants.service.dev/${slug}`, 'service.dev/reconcile=false')
  await drill.kubectl('scale', 'deployments', '--all', '--replicas=0', '-n', namespaceOf(slug))
}
