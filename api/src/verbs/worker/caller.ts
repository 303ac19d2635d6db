import type { Principal, WorkerPrincipal } from '@service/domain'
import { guardAudience } from '../guard.ts'

/** Fails with `wrong_audience` for anybody but a tenant's runs worker. */
export function guardWorker(principal: Principal): asserts principal is WorkerPrincipal {
  guardAudience(principal, { kind: 'worker' })
}
