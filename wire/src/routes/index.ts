import type * as v from 'valibot'
import { ADAPTER_ROUTES } from './adapter.ts'
import { AUDIT_ROUTES } from './audit.ts'
import { AUTH_ROUTES } from './auth.ts'
import { DOCS_ROUTES } from './docs.ts'
import { HEALTH_ROUTES } from './health.ts'
import { TENANTS_ROUTES } from './tenants.ts'
import { USERS_ROUTES } from './users.ts'
import { WORKER_ROUTES } from './worker.ts'

export { problemsOf } from './problems.ts'
export { acceptsIdempotencyKey, answersAtAnyHost } from './route.ts'
export type { Access, Resource, Route } from './route.ts'

/** Every operation of the service: registration, guards, validation and OpenAPI all read this table. */
export const ROUTES = {
  ...HEALTH_ROUTES,
  ...AUTH_ROUTES,
  ...TENANTS_ROUTES,
  ...USERS_ROUTES,
  ...AUDIT_ROUTES,
  ...ADAPTER_ROUTES,
  ...WORKER_ROUTES,
  ...DOCS_ROUTES,
} as const

/** The same rows by what they are about. */
export const AREAS = {
  Health: HEALTH_ROUTES,
  Authentication: AUTH_ROUTES,
  Tenants: TENANTS_ROUTES,
  Users: USERS_ROUTES,
  Audit: AUDIT_ROUTES,
  Adapter: ADAPTER_ROUTES,
  'Runs worker': WORKER_ROUTES,
  Documentation: DOCS_ROUTES,
} as const

export type RouteId = keyof typeof ROUTES
export type RouteOf<Id extends RouteId> = (typeof ROUTES)[Id]
export type BodyOf<Id extends RouteId> =
  RouteOf<Id> extends { body: infer S extends v.GenericSchema } ? v.InferOutput<S> : undefined
export type QueryOf<Id extends RouteId> =
  RouteOf<Id> extends { query: infer S extends v.GenericSchema } ? v.InferOutput<S> : undefined
export type ParamsOf<Id extends RouteId> =
  RouteOf<Id> extends { params: infer S extends v.GenericSchema } ? v.InferOutput<S> : undefined
export type ResponseOf<Id extends RouteId> =
  RouteOf<Id> extends { response: infer S extends v.GenericSchema } ? v.InferOutput<S> : null
