import type { Route } from '../wire/src/index.ts'

type Kind = Route['access']['kind']

/** Whose a path is (S "Route classes"); the first line that fits counts. */
const CLASSES: readonly (readonly [path: RegExp, kinds: readonly Kind[]])[] = [
  [/^\/api\/mssp\//, ['mssp']],
  [/^\/api\/tenant\//, ['tenant']],
  [/^\/api\/audit$/, ['mssp']],
  [/^\/api\/internal\/adapter\//, ['adapter']],
  [/^\/api\/internal\/worker\//, ['worker']],
  [/^\/api\/auth\/(login|logout)$/, ['public']],
  [/^\/api\/auth\/(me|password\/change)$/, ['session']],
  [/^\/api\/auth\/assume-tenant$/, ['mssp']],
  [/^\/(health\/|api\/openapi\.json$|api\/docs($|\/)|api\/public\/)/, ['public']],
]
/** The Identity is for whoever has a session (decision 10.4); everything else of a side names what its role must allow. */
const WITHOUT_CAPABILITY = /^\/api\/(mssp|tenant)\/me$/
/** Nobody need be signed in to change something here, and nowhere else. */
const ANONYMOUS_CHANGES = /^\/api\/auth\/(login|logout)$/

/** What a row of the route table lacks to be guarded, validated and tested, one sentence each. */
export function routeFindings(routes: Readonly<Record<string, Route>>): string[] {
  return Object.entries(routes).flatMap(([id, route]) =>
    [...accessFindings(route), ...schemaFindings(route)].map((finding) => `${id}: ${finding}`),
  )
}

function accessFindings({ access, method, path }: Route): string[] {
  const kinds = CLASSES.find(([pattern]) => pattern.test(path))?.[1]
  if (kinds === undefined) return [`no class of routes has the path ${path}`]
  if (!kinds.includes(access.kind)) return [`${path} is for ${kinds.join(' or ')}, not for ${access.kind}`]
  if (access.kind === 'public' && method !== 'GET' && !ANONYMOUS_CHANGES.test(path))
    return ['nobody may change anything without being known']
  if ('capability' in access && access.capability === null && !WITHOUT_CAPABILITY.test(path))
    return ['it names no capability']
  return []
}

function schemaFindings(route: Route): string[] {
  const { method, path, params, resource, body, response, status, media } = route
  const named = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name)
  const described = params !== undefined && 'entries' in params ? Object.keys(params.entries as object) : []
  const reads = method === 'GET' || method === 'DELETE'
  return [
    ...(named.join() === described.join()
      ? []
      : [`the path names ${named.join()}, its schema ${described.join()}`]),
    ...(named.length > 0 && resource === undefined ? ['it does not say what the path names'] : []),
    ...(response === null && status !== 204 && media === undefined ? ['it has no schema of its answer'] : []),
    ...((method === 'PUT' || method === 'PATCH') && body === undefined
      ? ['it has no schema of its body']
      : []),
    ...(reads && body !== undefined ? [`${method} has no body`] : []),
  ]
}
