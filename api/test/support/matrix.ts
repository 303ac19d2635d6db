import { randomUUID } from 'node:crypto'
import type { Resource, Route, ROUTES } from '@service/wire'
import type * as v from 'valibot'
import { freshSlug } from './fixture.ts'

type Side = 'mssp' | 'tenant'
export type Things = Readonly<Record<'tenantId' | 'staffId' | 'customerId' | 'strangerId', string>>
/** Ids that a path may name: one of the caller's own, and those of somebody or something else. */
type Targets = { readonly own: string; readonly foreign: readonly string[] }

/** For everything that a path can name, as both sides see it: a new `Resource` does not compile without. */
const TARGETS: { readonly [R in Resource]: (things: Things, side: Side) => Targets } = {
  tenant: ({ tenantId, staffId }) => ({ own: tenantId, foreign: [staffId] }),
  user: ({ staffId, customerId, strangerId }, side) =>
    side === 'mssp'
      ? { own: staffId, foreign: [customerId, strangerId] }
      : { own: customerId, foreign: [staffId, strangerId] },
}

type Peoples = { readonly access: { readonly kind: 'session' | Side }; readonly body: v.GenericSchema }
/** A body for each operation of people that takes one, so that the matrix gets behind the validation. */
export type Bodies<Routes> = {
  readonly [Id in keyof Routes as Routes[Id] extends Peoples ? Id : never]: () => Routes[Id] extends Peoples
    ? v.InferInput<Routes[Id]['body']>
    : never
}
const email = () => `${randomUUID()}@example.com`

/** A new row with a body does not compile without one here. */
export const BODIES: Bodies<typeof ROUTES> = {
  'auth.assume-tenant': () => ({}),
  'auth.password.change': () => ({ old_password: 'the old password', new_password: 'the new password' }),
  'mssp.tenants.create': () => ({ slug: freshSlug(), display_name: 'Matrix' }),
  'mssp.tenants.onboard': () => ({ slug: freshSlug(), display_name: 'Matrix' }),
  'mssp.users.create': () => ({ email: email(), role: 'analyst' }),
  'mssp.users.update': () => ({ display_name: 'Matrix' }),
  'tenant.users.create': () => ({ email: email(), role: 'customer_viewer' }),
  'tenant.users.update': () => ({ display_name: 'Matrix' }),
}

/** Whom a row's path may name; nobody where it names nothing. */
export function targetsOf({ path, resource }: Route, things: Things): Targets {
  if (resource === undefined) return { own: '', foreign: [] }
  return TARGETS[resource](things, path.startsWith('/api/tenant/') ? 'tenant' : 'mssp')
}

/** What to send to a row, as the wire has it. */
export function bodyOf(id: string, { body }: Route): { readonly body?: string } {
  if (body === undefined) return {}
  const make = (BODIES as Readonly<Record<string, () => unknown>>)[id]
  if (make === undefined) throw new Error(`the matrix has no body for ${id}`)
  return { body: JSON.stringify(make()) }
}
