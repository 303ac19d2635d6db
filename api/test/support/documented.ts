import { matchRoute, createRouteTable } from '../../src/http/route-table.ts'
import { openApiDocument } from '../../src/http/openapi/document.ts'
import type { Handlers } from '../../src/http/types.ts'
import { VERSION } from '../../src/version.ts'
import { PROBLEM_MEDIA_TYPE } from '@service/wire'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** As it goes over the wire. */
export const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument(VERSION))) as {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>
    readonly [part: string]: Readonly<Record<string, unknown>>
  }
}
export type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters: readonly { readonly name?: string; readonly $ref?: string }[]
  readonly responses: Readonly<Record<string, Response>>
  readonly [key: string]: unknown
}
type Response = { readonly $ref?: string; readonly content?: Readonly<Record<string, unknown>> }

const ajv = new Ajv2020({ strict: false, validateFormats: true })
formats.default(ajv)
ajv.addSchema(DOCUMENT, 'openapi', false, false)
const table = createRouteTable({} as Handlers, 'internal')

type Seen = {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** What an answer has that the document does not say; null when it is as documented, or belongs to no operation. */
export function undocumented({ method, path, status, headers, text }: Seen): string | null {
  const [pathname = ''] = path.split('?')
  const match = matchRoute(table, method, pathname)
  if (match.kind !== 'found' || method === 'HEAD') return null
  const { route } = match.matched
  const operation = DOCUMENT.paths[route.path]?.[route.method.toLowerCase()]
  const given = operation?.responses[status]
  const named = given?.$ref?.split('/').at(-1)
  const response = named === undefined ? given : DOCUMENT.components.responses[named]
  if (response === undefined) return `${status} is not documented: ${text}`
  if (text === '') return response.content === undefined ? null : 'a body is documented'
  const type = headers['content-type']
  const [media = ''] = typeof type === 'string' ? type.split(';') : []
  if (response.content?.[media] === undefined) return `${media} is not documented`
  if (!['application/json', PROBLEM_MEDIA_TYPE].includes(media)) return null
  const place = ['paths', route.path, route.method.toLowerCase(), 'responses', String(status)]
  const keys = [
    ...(named === undefined ? place : ['components', 'responses', named]),
    'content',
    media,
    'schema',
  ]
  const pointer = keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
  const validate = ajv.getSchema(`openapi#/${pointer.join('/')}`)
  if (validate === undefined) return `there is no schema at ${pointer.join('/')}`
  return validate(JSON.parse(text)) === true ? null : ajv.errorsText(validate.errors)
}
