import { OpenApi } from '../docs.ts'
import { type Route, noQuery, publicAccess } from './route.ts'

const file = { method: 'GET', access: publicAccess, query: noQuery, status: 200, response: null } as const

/** Decision 1.9: public, in both auth modes. */
export const DOCS_ROUTES = {
  'docs.openapi': {
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This service as an OpenAPI 3.1 document',
    access: publicAccess,
    query: noQuery,
    status: 200,
    response: OpenApi,
  },
  'docs.page': {
    ...file,
    path: '/api/docs',
    summary: 'The same for people, as a page',
    media: 'text/html',
  },
  'docs.style': {
    ...file,
    path: '/api/docs/page.css',
    summary: 'How the page looks',
    media: 'text/css',
  },
  'docs.script': {
    ...file,
    path: '/api/docs/page.js',
    summary: 'What the page does',
    media: 'text/javascript',
  },
} as const satisfies Readonly<Record<string, Route>>
