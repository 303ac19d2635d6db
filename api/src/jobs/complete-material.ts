import { namespaceOf } from '@service/domain'
import { completeWazuhMaterial } from '../secrets/wazuh.ts'
import { type Job, startJob } from './loop.ts'
import { tendMaterial, type TendOptions } from './tend-material.ts'

const EVERY_MS = 10 * 60_000
/** An install that has just been upgraded need not wait long for what its tenants lack. */
const FIRST_MS = 10_000

/** Gives tenants of older versions what newer charts need, and renews certificates, about every ten minutes. */
export function startCompleteMaterialJob(options: TendOptions): Job {
  const work = () => completeMaterial(options)
  return startJob({ name: 'complete-material', everyMs: EVERY_MS, firstMs: FIRST_MS, work, log: options.log })
}

/** Adds what is missing in the material of live tenants; what is there stays as it is. */
export const completeMaterial = (options: TendOptions): Promise<number> =>
  tendMaterial(options, 'completed', async ({ id, slug }, present) => {
    const tenant = { id, namespace: namespaceOf(slug) }
    const { material, added } = await completeWazuhMaterial(present, tenant, options.clock())
    return Object.fromEntries(added.map((key) => [key, material[key] ?? '']))
  })
