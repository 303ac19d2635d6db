import { BODY, SESSION_COOKIE } from '@service/domain'
import { AREAS, type OpenApi, problemsOf, type Route, type RouteId } from '@service/wire'
import { HEADER_PARAMETERS, parametersOf } from './parameters.ts'
import { problemResponses, RESPONSE_HEADERS, responsesOf } from './responses.ts'
import { componentsFor, type Json, jsonSchemaOf } from './schemas.ts'

const DESCRIPTION = `Multi-tenant security operations on Kubernetes.

People sign in with \`POST /api/auth/login\` and are known by the session cookie; a tenant's workloads carry bearer tokens.
In proxy mode an identity proxy says in its headers who somebody is, from trusted addresses only (else 403 \`untrusted_proxy\`);
operations with \`x-internal-mode-only\` answer 404 then. \`GET /health/live\` tells the mode.
Every request of people that changes something says by \`Origin\` (or \`Referer\`) that it comes from the host that it goes to.
\`x-audience\` says who an operation is for, \`x-capability\` what their role has to allow.

Errors are RFC 9457 problems with a \`code\` and a \`request_id\`; an unknown path is 404 \`not_found\`, another method 405
\`method_not_allowed\` with \`Allow\`. Lists answer \`{items, next_cursor}\`. Unknown keys are refused. Health answers below \`/api\`, too.`

const SECURITY_SCHEMES: Json = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description:
      'Of a person who has signed in, at the host of their side. In proxy mode the headers of the identity proxy take its place.',
  },
  adapterToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "A tenant's adapter (`adapter+jwt`).",
  },
  workerToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "A tenant's runs worker (`worker+jwt`).",
  },
}
const SCHEME_OF = {
  public: null,
  session: 'session',
  mssp: 'session',
  tenant: 'session',
  adapter: 'adapterToken',
  worker: 'workerToken',
} as const satisfies Readonly<Record<Route['access']['kind'], string | null>>

type Row = { readonly id: RouteId; readonly route: Route; readonly area: string }

const ROWS: readonly Row[] = Object.entries(AREAS).flatMap(([area, routes]) =>
  Object.entries(routes as Readonly<Record<string, Route>>).map(([id, route]) => ({
    id: id as RouteId,
    route,
    area,
  })),
)

/** The route table as OpenAPI 3.1 (decision 1.9), from the schemas that validate. `version` is the control plane's. */
export function openApiDocument(version: string): OpenApi {
  const operations = ROWS.map((row) => ({ ...row, operation: operationOf(row) }))
  const paths = Map.groupBy(operations, ({ route }) => route.path)
  const responses = problemResponses(ROWS.map(({ route }) => route))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Service API',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The host that this document comes from' }],
    tags: Object.keys(AREAS).map((name) => ({ name })),
    paths: Object.fromEntries(
      [...paths].map(([path, rows]) => [
        path,
        Object.fromEntries(rows.map(({ route, operation }) => [route.method.toLowerCase(), operation])),
      ]),
    ),
    components: {
      schemas: componentsFor([
        ...operations.flatMap(({ operation: { responses: out, ...input } }) => [
          { value: input, direction: 'input' as const },
          { value: out, direction: 'output' as const },
        ]),
        { value: responses, direction: 'output' },
      ]),
      responses,
      parameters: HEADER_PARAMETERS,
      headers: RESPONSE_HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

function operationOf({ id, route, area }: Row): Json {
  const { access, summary, internalModeOnly, whileMustChange } = route
  const scheme = SCHEME_OF[access.kind]
  return {
    operationId: id,
    summary,
    tags: [area],
    security: scheme === null ? [] : [{ [scheme]: [] }],
    'x-audience': access.kind,
    ...('capability' in access ? { 'x-capability': access.capability } : {}),
    ...(internalModeOnly === true ? { 'x-internal-mode-only': true } : {}),
    ...(whileMustChange === true ? { 'x-while-must-change': true } : {}),
    parameters: parametersOf(route, problemsOf(route).includes('csrf_failed')),
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route.body, route.bodyLimit) }),
    responses: responsesOf(id, route),
  }
}

const requestBodyOf = (body: NonNullable<Route['body']>, limit: number = BODY.json): Json => ({
  required: true,
  description: `At most ${limit} bytes of JSON in UTF-8, without content coding.`,
  content: { 'application/json': { schema: jsonSchemaOf(body, 'input') } },
  'x-max-bytes': limit,
})
