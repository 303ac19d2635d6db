import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Failpoint } from '@service/domain'
import { generateAlerts, loadAlerts } from '../../alerts/index.ts'
import { RETRIED_HISTORY, WHOLE_HISTORY } from '../../history.ts'
import { RestError } from '../../system/rest.ts'
import { changedSecrets, create, historyOf, read, secretsOf, until, untilActive } from './tenants.ts'
import type { TenantWorld } from './tenants.ts'
import type { CrashWorld } from './world.ts'

/** Reached by a tenant whose chart is broken and then repaired. */
export const BROKEN: readonly Failpoint[] = [
  'api.retry.committed',
  'operator.rollback.uninstalled',
  'operator.rollback.namespace_deleted',
]
/** In the order in which a tenant comes by, so that one can be killed at all of them in one life. */
export const ONBOARDING: readonly Failpoint[] = [
  'api.create.material_written',
  'api.create.committed',
  'api.projector.applied',
  'api.projector.mark_cleared',
  'operator.finalizer.added',
  'operator.namespace.created',
  'operator.access.granted',
  'operator.secrets.one_written',
  'operator.secrets.written',
  'operator.release.helm_started',
  'operator.release.installed',
  'operator.status.written',
  'api.projector.status_committed',
  'api.heartbeat.committed',
  'api.events.committed',
]

export type Round = { readonly recoveryMs: number; readonly faults: readonly string[] }

/** Under which pid the API runs. */
export const pidOf = (world: CrashWorld): number | undefined => world.system.connection().pids.api

export async function untilKilled(pid: number | undefined, name: string): Promise<void> {
  await until(`the API to be killed at ${name}`, async () => pid !== undefined && !isAlive(pid), 60_000)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** An alert makes the adapter deliver events. */
export function giveAlert(world: CrashWorld, slug: string): Promise<void> {
  const alerts = generateAlerts({ count: 3, seed: Date.now() % 100_000, until: new Date(), minutes: 1 })
  return loadAlerts(world.system.connection().indexer_url, slug, alerts)
}

const BREAKAGE = `apiVersion: v1
kind: Service
metadata: { name: refused }
spec: { ports: [{ port: 99999 }] }
`
const breakage = (world: CrashWorld): string => join(world.chart, 'templates', 'breakage.yaml')

/** One tenant, one death on its way; another process takes over and everything is as if nothing had happened. */
export async function crashRound(world: CrashWorld, name: Failpoint, slug: string): Promise<Round> {
  const broken = BROKEN.includes(name)
  await world.system.stop('api')
  if (broken) await writeFile(breakage(world), BREAKAGE)
  world.deaths.push(name)
  await world.system.start('api')
  const pid = pidOf(world)
  let diedAt = 0
  let before: ReadonlyMap<string, string> = new Map()
  const death = untilKilled(pid, name).then(() => {
    diedAt = performance.now()
  })
  const creation = create(world, slug)
  if (name === 'api.events.committed') await giveAlert(world, slug)
  const retried = broken ? creation.then((id) => repair(world, id)) : undefined
  await Promise.all([death, retried])
  const id = await creation
  before = await secretsOf(world, slug, id)
  await untilActive(world, slug, id)
  const recoveryMs = performance.now() - diedAt
  return { recoveryMs, faults: await faultsOf(world, slug, id, before, broken) }
}

/** Waits for the failure to be over and done with, repairs the chart and asks for another try, once. */
async function repair(world: CrashWorld, id: string): Promise<void> {
  await until('the rollback to be told', async () => {
    const { error } = await read(world, id)
    return error !== null && (await historyOf(world, id)).includes('rolled_back release')
  })
  await rm(breakage(world), { force: true })
  await until('the retry to be accepted', async () => {
    try {
      await world.rest.call('POST', `/api/mssp/tenants/${id}:retry`)
      return true
    } catch (error) {
      if (error instanceof RestError && error.status === 409) return true
      throw error
    }
  })
}

/** What is not as if nothing had happened. */
export async function faultsOf(
  world: TenantWorld,
  slug: string,
  id: string,
  before: ReadonlyMap<string, string>,
  retried = false,
): Promise<string[]> {
  const wanted = retried ? RETRIED_HISTORY : WHOLE_HISTORY
  const last = wanted.at(-1) ?? ''
  await until(`the history of ${slug}`, async () => (await historyOf(world, id)).includes(last), 10_000)
  const history = await historyOf(world, id)
  const told = JSON.stringify(history) === JSON.stringify(wanted)
  const changed = changedSecrets(before, await secretsOf(world, slug, id))
  return [
    ...(told ? [] : [`${slug}: its history is ${history.join(', ')}`]),
    ...changed.map((secret) => `${slug}: Secret ${secret} has changed`),
  ]
}

/** After this a moment is taken to be behind all tenants there are: another one comes by it. Each one more slows the rest. */
const PATIENCE_MS = 45_000
/** Only a creation comes by these. */
const ofCreation = (name: Failpoint | null): boolean => name?.startsWith('api.create.') === true

/**
 * Tenants that are killed at every moment of their way, one after the other: each process that takes over is the next to
 * die. The recovery is that from the last death.
 */
export async function crashLives(
  world: CrashWorld,
  prefix: string,
): Promise<Round & { readonly deaths: number; readonly tenants: number }> {
  const tenants: { slug: string; created: Promise<Born> }[] = []
  const born = (): void => {
    const slug = `${prefix}-${tenants.length}`
    const created = create(world, slug).then(async (id) => ({ id, before: await secretsOf(world, slug, id) }))
    // It is waited for at the end, whatever happens until then.
    created.catch(() => undefined)
    tenants.push({ slug, created })
  }
  await world.system.stop('api')
  world.deaths.push(...ONBOARDING)
  const first = world.starts() + 1
  await world.system.start('api')
  for (let seen = first; world.armed() !== null; seen += 1) {
    const name = world.armed()
    for (let tries = 0; world.starts() <= seen; tries += 1) {
      if (tries === 3) throw new Error(`the API is not killed at ${name}`)
      if (tries > 0 || ofCreation(name)) born()
      if (name === 'api.events.committed') await giveAlert(world, tenants.at(-1)?.slug ?? '')
      await until('a death', async () => world.starts() > seen, PATIENCE_MS).catch(() => undefined)
    }
  }
  const diedAt = performance.now()
  const lived = await Promise.all(tenants.map(async ({ slug, created }) => ({ slug, ...(await created) })))
  for (const { slug, id } of lived) await untilActive(world, slug, id)
  const recoveryMs = performance.now() - diedAt
  const faults: string[] = []
  for (const { slug, id, before } of lived) faults.push(...(await faultsOf(world, slug, id, before)))
  return { recoveryMs, faults, deaths: world.starts() - first, tenants: tenants.length }
}

type Born = { readonly id: string; readonly before: ReadonlyMap<string, string> }
