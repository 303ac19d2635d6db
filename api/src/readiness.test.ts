import { describe, expect, test } from 'vitest'
import { type Checks, createReadiness } from './readiness.ts'

const well = async (): Promise<void> => undefined
const ill = async (): Promise<void> => {
  throw new Error('away')
}
const WELL: Checks = { database: well, migrations: well, signing_keys: well, cluster: well, operator: well }

function readiness(checks: Partial<Checks>) {
  let now = 0
  const ready = createReadiness({
    checks: { ...WELL, ...checks },
    authMode: 'internal',
    version: '0.0.0',
    clock: () => new Date(now),
  })
  return {
    after: (ms: number) => {
      now += ms
      return ready()
    },
  }
}

describe('readiness', () => {
  test.each<[string, Partial<Checks>, boolean]>([
    ['everything is well', {}, true],
    ['the database is away', { database: ill }, false],
    ['migrations are missing', { migrations: ill }, false],
    ['a signing key cannot be used', { signing_keys: ill }, false],
    ['the cluster is away', { cluster: ill }, true],
    ['the cluster is away and the operator fails with it', { cluster: ill, operator: ill }, true],
    ['cluster and operator are switched off', { cluster: null, operator: null }, true],
    ['cluster and database are away', { cluster: ill, database: ill }, false],
  ])('when %s', async (_, checks, ok) => {
    const probe = readiness(checks)
    for (const ms of [0, 60_000]) {
      const found = await probe.after(ms)
      expect(found.ok).toBe(ok)
      for (const [name, check] of Object.entries(checks))
        expect(found.checks[name as keyof Checks]).toBe(check === null ? 'off' : 'failing')
    }
  })

  test('an operator that fails beside a cluster that is well counts after half a minute', async () => {
    const probe = readiness({ operator: ill })
    expect(await probe.after(0)).toMatchObject({ ok: true, checks: { operator: 'failing' } })
    expect((await probe.after(29_000)).ok).toBe(true)
    expect((await probe.after(1_000)).ok).toBe(false)
  })

  test('an operator that comes back with its cluster is given that time anew', async () => {
    let cluster = ill
    const probe = readiness({ cluster: () => cluster(), operator: ill })
    expect((await probe.after(120_000)).ok).toBe(true)
    cluster = well
    expect((await probe.after(120_000)).ok).toBe(true)
    expect((await probe.after(30_000)).ok).toBe(false)
  })

  test('looks once a second, however many ask', async () => {
    let looks = 0
    const probe = readiness({ database: async () => void (looks += 1) })
    await Promise.all(Array.from({ length: 20 }, () => probe.after(0)))
    expect(looks).toBe(1)
    await probe.after(1_000)
    expect(looks).toBe(2)
  })

  test('a check that never answers fails after three seconds', async () => {
    const probe = readiness({ database: () => new Promise(() => undefined) })
    const began = performance.now()
    expect((await probe.after(0)).checks.database).toBe('failing')
    expect(performance.now() - began).toBeLessThan(5_000)
  })
})
