import { readDocsPage } from '../docs-page.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { Handlers } from '../types.ts'

/** Document and page are the same for everybody: they are made once. */
export function docsHandlers(version: string) {
  const text = JSON.stringify(openApiDocument(version))
  const { page, style, script } = readDocsPage()
  return {
    'docs.openapi': async () => ({ text, contentType: 'application/json' }),
    'docs.page': async () => page,
    'docs.style': async () => style,
    'docs.script': async () => script,
  } satisfies Partial<Handlers>
}
