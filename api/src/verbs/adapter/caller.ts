import { type AdapterPrincipal, type Principal } from '@service/domain'
import { guardAudience } from '../guard.ts'

/** Fails with `wrong_audience` for anybody but a tenant's adapter. */
export function guardAdapter(principal: Principal): asserts principal is AdapterPrincipal {
  guardAudience(principal, { kind: 'adapter' })
}
