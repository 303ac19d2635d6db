import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tenant } from '@service/crds'
import { INSTALL_NAMESPACE, materialSecretName, namespaceOf } from '@service/domain'
import type { Failpoint } from '@service/domain'
import { stopProcess } from '../../process.ts'
import { startOperatorProcess } from '../operators.ts'
import type { Round } from './rounds.ts'
import { changedSecrets, create, secretsOf, until, untilActive } from './tenants.ts'
import { LEASE_SECONDS } from './world.ts'
import type { CrashWorld } from './world.ts'

/** Reached by a tenant whose teardown is ordered. */
export const TEARDOWN: readonly Failpoint[] = [
  'operator.teardown.uninstalled',
  'operator.teardown.namespace_deleted',
  'operator.finalizer.removed',
]

const NEIGHBOUR = 'neighbour'
const tenantOf = (slug: string): string => `tenants.service.dev/${slug}`

/**
 * One teardown, one death of the operator on its way. The operator is a process of its own and the API is away, so that
 * the order is given to the resource itself. The tenant is a copy of a neighbour, of whom nothing may be touched.
 */
export async function teardownRound(world: CrashWorld, name: Failpoint, slug: string): Promise<Round> {
  const neighbour = await neighbourOf(world)
  await world.system.stop('api')
  const [before, secrets] = await Promise.all([
    othersThan(world, slug),
    secretsOf(world, NEIGHBOUR, neighbour),
  ])
  const id = await copyNeighbour(world, neighbour, slug)
  const env = { SERVICE_OPERATOR_LEASE_SECONDS: LEASE_SECONDS }
  const first = await startOperatorProcess(world.system, world.directory, { ...env, SERVICE_FAILPOINT: name })
  try {
    await until(`tenant ${slug} to be installed`, async () => (await phaseOf(world, slug)) === 'provisioning')
    await orderTeardown(world, slug)
    await until(
      `the operator to be killed at ${name}`,
      async () => first.exit()?.signal === 'SIGKILL',
      60_000,
    )
  } finally {
    await stopProcess(first.record)
  }
  const diedAt = performance.now()
  let recoveryMs = 0
  const next = await startOperatorProcess(world.system, world.directory, env)
  try {
    await until(`tenant ${slug} to be gone`, async () => (await remainsOf(world, slug)) === '', 60_000)
    recoveryMs = performance.now() - diedAt
  } finally {
    await stopProcess(next.record)
  }
  await world.kubectl('delete', 'secret', '-n', INSTALL_NAMESPACE, materialSecretName(id))
  const after = await othersThan(world, slug)
  const changed = changedSecrets(secrets, await secretsOf(world, NEIGHBOUR, neighbour))
  return {
    recoveryMs,
    faults: [
      ...(after === before ? [] : [`${slug}: others were touched: ${before} became ${after}`]),
      ...changed.map((secret) => `${slug}: Secret ${secret} has changed`),
      ...(await toldTwice(world, slug)),
    ],
  }
}

async function neighbourOf(world: CrashWorld): Promise<string> {
  const [row] = await world.sql<{ id: string }[]>`select id from tenants where slug = ${NEIGHBOUR}`
  if (row !== undefined) return row.id
  await world.system.start('api')
  const id = await create(world, NEIGHBOUR)
  await untilActive(world, NEIGHBOUR, id)
  return id
}

/** Resource and material under another name; no row, because nothing here needs one. */
async function copyNeighbour(world: CrashWorld, neighbour: string, slug: string): Promise<string> {
  const read = async <T>(...what: string[]): Promise<T> =>
    JSON.parse(await world.kubectl('get', ...what, '-o', 'json')) as T
  const [{ apiVersion, kind, spec }, material] = await Promise.all([
    read<Tenant>(tenantOf(NEIGHBOUR)),
    read<{ metadata: { annotations?: object }; data: object }>(
      'secret',
      '-n',
      INSTALL_NAMESPACE,
      materialSecretName(neighbour),
    ),
  ])
  const id = crypto.randomUUID()
  const metadata = {
    name: materialSecretName(id),
    namespace: INSTALL_NAMESPACE,
    annotations: material.metadata.annotations,
  }
  const items = [
    { apiVersion: 'v1', kind: 'Secret', metadata, data: material.data },
    { apiVersion, kind, metadata: { name: slug }, spec: { ...spec, tenantId: id } },
  ]
  const file = join(world.directory, `${slug}.json`)
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), { mode: 0o600 })
  await world.kubectl('create', '-f', file)
  return id
}

const phaseOf = (world: CrashWorld, slug: string): Promise<string> =>
  world.kubectl('get', tenantOf(slug), '-o', 'jsonpath={.status.phase}')

async function orderTeardown(world: CrashWorld, slug: string): Promise<void> {
  const { metadata, spec } = JSON.parse(await world.kubectl('get', tenantOf(slug), '-o', 'json')) as Tenant
  const order = {
    desired: 'Decommission',
    revision: spec.revision + 1,
    teardown: { tenantId: spec.tenantId, uid: metadata.uid, force: false },
  }
  await world.kubectl('patch', tenantOf(slug), '--type', 'merge', '-p', JSON.stringify({ spec: order }))
  await world.kubectl('delete', tenantOf(slug), '--wait=false')
}

/** Names of what is left of a tenant: with the namespace go release and Secrets. */
const remainsOf = async (world: CrashWorld, slug: string): Promise<string> =>
  (
    await Promise.all([
      world.kubectl('get', tenantOf(slug), '--ignore-not-found', '-o', 'name'),
      world.kubectl('get', 'namespace', namespaceOf(slug), '--ignore-not-found', '-o', 'name'),
    ])
  ).join('')

/** All namespaces and Tenants but one tenant's, and the neighbour's objects, by uid. */
async function othersThan(world: CrashWorld, slug: string): Promise<string> {
  const uids = 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{"\\n"}{end}'
  const kinds = 'deployments,statefulsets,services,configmaps,serviceaccounts,networkpolicies,resourcequotas'
  const texts = await Promise.all([
    world.kubectl('get', 'namespaces,tenants.service.dev', '-o', uids),
    world.kubectl('get', kinds, '-n', namespaceOf(NEIGHBOUR), '-o', uids),
  ])
  const own = [` ${slug} `, ` ${namespaceOf(slug)} `]
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => !own.some((name) => line.includes(name)))
    .join('\n')
}

/** Each end is recorded once, whoever dies in between; the events outlive the resource. */
async function toldTwice(world: CrashWorld, slug: string): Promise<string[]> {
  const about = ['-n', 'default', '--field-selector', `involvedObject.name=${slug}`]
  const text = await world.kubectl('get', 'events', ...about, '-o', 'jsonpath={.items[*].reason}')
  const reasons = text.split(' ')
  return ['Uninstalled', 'NamespaceDeleted']
    .filter((reason) => reasons.filter((each) => each === reason).length > 1)
    .map((reason) => `${slug}: ${reason} is told twice`)
}
