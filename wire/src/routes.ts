import { BODY, type MsspCapability, type TenantCapability } from '@service/domain'
import type * as v from 'valibot'
import {
  AdapterConfig,
  Checkpoint,
  CheckpointQuery,
  CheckpointUpdate,
  EventBatch,
  EventBatchResult,
  Heartbeat,
  HeartbeatAnswer,
} from './adapter.ts'
import { Live, Ready } from './health.ts'
import { Identity, LoginRequest, LoginResponse, Ok, PasswordChangeRequest } from './identity.ts'
import {
  LifecycleList,
  LifecycleQuery,
  TenantCreate,
  TenantCreated,
  TenantDetail,
  TenantList,
  TenantListQuery,
  Tenant,
  TenantOnboard,
} from './tenant.ts'
import { strictObject } from './object.ts'
import { uuid } from './text.ts'

/** Who may call a route. `session` is any signed-in user; a user route names one capability (decision 2.8). */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'session' }
  | { readonly kind: 'mssp'; readonly capability: MsspCapability | null }
  | { readonly kind: 'tenant'; readonly capability: TenantCapability | null }
  | { readonly kind: 'adapter' }
  | { readonly kind: 'worker' }

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path template as S writes it, colon verbs included: `/api/mssp/tenants/{id}:retry`. */
  readonly path: string
  readonly summary: string
  readonly access: Access
  readonly params?: v.GenericSchema
  readonly query?: v.GenericSchema
  readonly body?: v.GenericSchema
  /** Bytes; `BODY.json` when absent. */
  readonly bodyLimit?: number
  readonly status: 200 | 201 | 202 | 204
  readonly response: v.GenericSchema | null
  /** Open while the password must be changed (decision 2.5). */
  readonly whileMustChange?: true
  /** Answers 404 in proxy mode (S "Authentication routes"). */
  readonly internalModeOnly?: true
}

const noQuery = strictObject({})
const byId = strictObject({ id: uuid })
const publicAccess = { kind: 'public' } as const
const session = { kind: 'session' } as const
const mssp = <const C extends MsspCapability>(capability: C) => ({ kind: 'mssp', capability }) as const
const adapter = { kind: 'adapter' } as const

/** Every operation of the service: registration, guards, validation and OpenAPI all read this table. */
export const ROUTES = {
  'health.live': {
    method: 'GET',
    path: '/health/live',
    summary: 'The process lives',
    access: publicAccess,
    status: 200,
    response: Live,
  },
  'health.ready': {
    method: 'GET',
    path: '/health/ready',
    summary: 'The service can work; 503 with the same body when it cannot',
    access: publicAccess,
    status: 200,
    response: Ready,
  },
  'auth.login': {
    method: 'POST',
    path: '/api/auth/login',
    summary: 'Sign in with e-mail and password',
    access: publicAccess,
    body: LoginRequest,
    status: 200,
    response: LoginResponse,
    whileMustChange: true,
    internalModeOnly: true,
  },
  'auth.logout': {
    method: 'POST',
    path: '/api/auth/logout',
    summary: 'End the current session',
    access: publicAccess,
    status: 200,
    response: Ok,
    whileMustChange: true,
    internalModeOnly: true,
  },
  'auth.me': {
    method: 'GET',
    path: '/api/auth/me',
    summary: 'Who is signed in, and what they may do',
    access: session,
    query: noQuery,
    status: 200,
    response: Identity,
    whileMustChange: true,
    internalModeOnly: true,
  },
  'auth.password.change': {
    method: 'POST',
    path: '/api/auth/password/change',
    summary: 'Change the own password; other sessions end',
    access: session,
    body: PasswordChangeRequest,
    status: 200,
    response: Ok,
    whileMustChange: true,
    internalModeOnly: true,
  },
  'mssp.me': {
    method: 'GET',
    path: '/api/mssp/me',
    summary: 'Who is signed in on the MSSP side, in both auth modes',
    access: { kind: 'mssp', capability: null },
    query: noQuery,
    status: 200,
    response: Identity,
    whileMustChange: true,
  },
  'tenant.me': {
    method: 'GET',
    path: '/api/tenant/me',
    summary: 'Who is signed in on the tenant side, in both auth modes',
    access: { kind: 'tenant', capability: null },
    query: noQuery,
    status: 200,
    response: Identity,
    whileMustChange: true,
  },
  'mssp.tenants.list': {
    method: 'GET',
    path: '/api/mssp/tenants',
    summary: 'Tenants, newest first',
    access: mssp('tenant.read'),
    query: TenantListQuery,
    status: 200,
    response: TenantList,
  },
  'mssp.tenants.create': {
    method: 'POST',
    path: '/api/mssp/tenants',
    summary: 'Create a tenant from its whole configuration and start provisioning',
    access: mssp('tenant.write'),
    body: TenantCreate,
    status: 201,
    response: TenantCreated,
  },
  'mssp.tenants.onboard': {
    method: 'POST',
    path: '/api/mssp/tenants/onboard',
    summary: 'Create a tenant from a short form and start provisioning',
    access: mssp('tenant.write'),
    body: TenantOnboard,
    status: 202,
    response: TenantCreated,
  },
  'mssp.tenants.get': {
    method: 'GET',
    path: '/api/mssp/tenants/{id}',
    summary: 'One tenant with conditions, steps and installation',
    access: mssp('tenant.read'),
    params: byId,
    query: noQuery,
    status: 200,
    response: TenantDetail,
  },
  'mssp.tenants.retry': {
    method: 'POST',
    path: '/api/mssp/tenants/{id}:retry',
    summary: 'Try again what failed: in pending with an error, and in degraded',
    access: mssp('tenant.write'),
    params: byId,
    status: 200,
    response: Tenant,
  },
  'mssp.tenants.lifecycle': {
    method: 'GET',
    path: '/api/mssp/tenants/{id}/lifecycle',
    summary: 'What happened to a tenant, newest first',
    access: mssp('tenant.read'),
    params: byId,
    query: LifecycleQuery,
    status: 200,
    response: LifecycleList,
  },
  'adapter.health': {
    method: 'POST',
    path: '/api/internal/adapter/health',
    summary: 'Heartbeat of a tenant adapter',
    access: adapter,
    body: Heartbeat,
    status: 200,
    response: HeartbeatAnswer,
  },
  'adapter.events': {
    method: 'POST',
    path: '/api/internal/adapter/events',
    summary: 'Store a batch of events, each answered by itself',
    access: adapter,
    body: EventBatch,
    bodyLimit: BODY.events,
    status: 200,
    response: EventBatchResult,
  },
  'adapter.config': {
    method: 'GET',
    path: '/api/internal/adapter/config',
    summary: 'How the adapter should work',
    access: adapter,
    query: noQuery,
    status: 200,
    response: AdapterConfig,
  },
  'adapter.checkpoint.get': {
    method: 'GET',
    path: '/api/internal/adapter/checkpoint',
    summary: 'How far the adapter has read',
    access: adapter,
    query: CheckpointQuery,
    status: 200,
    response: Checkpoint,
  },
  'adapter.checkpoint.put': {
    method: 'PUT',
    path: '/api/internal/adapter/checkpoint',
    summary: 'Move the checkpoint forward',
    access: adapter,
    body: CheckpointUpdate,
    status: 200,
    response: Checkpoint,
  },
} as const satisfies Readonly<Record<string, Route>>

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
