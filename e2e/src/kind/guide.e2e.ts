import { GUIDE_TENANT, guideBlocks } from '@service/dev'
import type { Tenant } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../harness.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ separateOperator: false })
})
afterAll(() => world?.end())

// The set-up has run them word for word: whatever else is tested here runs on what they have installed.
describe('the installation guide', () => {
  it('has no other commands than these', async () => {
    expect((await guideBlocks()).map(({ heading }) => heading)).toEqual([
      '1. Say whose install it is',
      '2. Install',
      '3. Reach it',
      '4. Sign in and choose a password',
      '5. Create a tenant',
      'Upgrade',
      'Remove it',
    ])
  })

  it('leads to an administrator with a password of his own and an active tenant', async () => {
    const { items } = await world.rest.call<{ items: Tenant[] }>('GET', `/api/mssp/tenants?q=${GUIDE_TENANT}`)
    expect(items).toMatchObject([{ slug: GUIDE_TENANT, state: 'active', error: null }])
    const ready = ['wait', 'pods', '--all', '-n', `tenant-${GUIDE_TENANT}`, '--for=condition=Ready']
    expect(await world.kubectl(...ready, '--timeout=30s')).toContain('adapter')
  })
})
