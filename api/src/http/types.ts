import type { HttpBindings } from '@hono/node-server'
import type {
  AdapterPrincipal,
  MsspPrincipal,
  Principal,
  TenantPrincipal,
  UserPrincipal,
} from '@service/domain'
import type { BodyOf, ParamsOf, QueryOf, ResponseOf, Route, RouteId, RouteOf } from '@service/wire'
import type { WorkerPrincipal } from '@service/domain'
import type { Entry } from '../verbs/auth/proxied.ts'
import type { SessionRecord, SignedInUser } from '../verbs/auth/session.ts'
import type { ExportFormat } from './export.ts'
import type { KnownHost } from './hosts.ts'

type PrincipalOfAccess<K> = K extends 'mssp'
  ? MsspPrincipal
  : K extends 'tenant'
    ? TenantPrincipal
    : K extends 'session'
      ? UserPrincipal
      : K extends 'adapter'
        ? AdapterPrincipal
        : K extends 'worker'
          ? WorkerPrincipal
          : null
/** In proxy mode there are no sessions, and no routes that need one. */
type UserOf<Id extends RouteId> =
  AccessOf<Id> extends 'mssp' | 'tenant' | 'session'
    ? RouteOf<Id> extends { internalModeOnly: true }
      ? SessionRecord
      : SignedInUser
    : null
type AccessOf<Id extends RouteId> = RouteOf<Id>['access']['kind']

/** All that a handler sees of a request: proven identity and validated input, never headers or cookies of its own choice. */
export type Call<Id extends RouteId> = {
  readonly principal: PrincipalOfAccess<AccessOf<Id>>
  readonly user: UserOf<Id>
  readonly params: ParamsOf<Id>
  readonly query: QueryOf<Id>
  readonly body: BodyOf<Id>
  readonly client: Client
}

/** Where a request comes from. */
export type Client = {
  readonly requestId: string
  readonly ip: string
  readonly userAgent: string | null
  readonly host: KnownHost
  /** Value of the session cookie, unproven. */
  readonly cookie: string | null
  /** Path and query as they were asked for. */
  readonly target: string
  /** How a route with exports shall answer. */
  readonly format: 'json' | ExportFormat
}

export type TextAnswer = {
  readonly text: string
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
}
export type Answer<T> = JsonAnswer<T> | TextAnswer
export type JsonAnswer<T> = {
  readonly body: T
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}
export type Handler<Id extends RouteId> = (call: Call<Id>) => Promise<Answer<ResponseOf<Id>>>
/** One for every row of the route table: a row without a handler does not compile. */
export type Handlers = { readonly [Id in RouteId]: Handler<Id> }

export type Identity = {
  readonly principal: Principal
  /** Null behind a token. */
  readonly user: SignedInUser | null
  /** In proxy mode: the tenant that the request names. */
  readonly entry?: Entry
} | null

/** The handler of a matched row, with the row's own types forgotten: the pipeline has checked them against its schemas. */
export type AnyHandler = (call: {
  readonly principal: Principal | null
  readonly user: SignedInUser | null
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly client: Client
}) => Promise<Answer<unknown>>

export type Matched = {
  readonly id: RouteId
  readonly route: Route
  readonly handler: AnyHandler
  readonly params: Readonly<Record<string, string>>
}

/** What the middleware leave for each other on the context. */
export type HttpEnv = {
  Bindings: Partial<HttpBindings>
  Variables: {
    requestId: string
    matched: Matched
    host: KnownHost
    identity: Identity
    params: unknown
    query: unknown
    body: unknown
  }
}
