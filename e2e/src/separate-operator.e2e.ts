import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTenant, history, startWorld, until, untilActive, type World } from './harness.ts'
import { WHOLE_HISTORY } from '@service/dev'

let world: World
beforeAll(async () => {
  world = await startWorld({ separateOperator: true })
}, 900_000)
afterAll(() => world?.end())

it('the history of a tenant that was provisioned while the API was away is complete', async () => {
  const tenant = await createTenant(world, 'away')
  await until('the Tenant resource', async () =>
    (await world.kubectl('get', 'tenants', '-o', 'name')).includes('away'),
  )
  await world.system.stop('api')
  await until('the phase provisioning', async () =>
    (await world.kubectl('get', 'tenants.service.dev/away', '-o', 'jsonpath={.status.phase}')).includes(
      'provisioning',
    ),
  )
  const [before] = await world.sql<{ state: string }[]>`select state from tenants where id = ${tenant.id}`
  expect(before?.state).toBe('pending')
  await world.system.start('api')
  const active = await untilActive(world, tenant.id)
  expect(active.conditions.find((each) => each.type === 'Ready')?.status).toBe('True')
  expect(await history(world, tenant.id)).toEqual(WHOLE_HISTORY)
})
