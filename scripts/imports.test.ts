import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importFindings, readSources } from './imports.ts'

describe('import rules', () => {
  it('hold for the whole tree', () => {
    const sources = readSources(resolve(import.meta.dirname, '..'))
    expect(sources.length).toBeGreaterThan(50)
    expect(importFindings(sources)).toEqual([])
  })

  it.each([
    ['domain/src/a.ts', "import { x } from '@service/wire'"],
    ['domain/src/a.ts', "import { readFile } from 'node:fs'"],
    ['wire/src/a.ts', "import { x } from 'yaml'"],
    ['api/src/http/a.ts', "import { forTenant } from '../db/scope.ts'"],
    ['api/src/http/a.ts', "import { sql } from 'drizzle-orm'"],
    ['api/src/verbs/tenant/a.ts', "import { Hono } from 'hono'"],
    ['api/src/verbs/tenant/a.ts', "import { startOperator } from '@service/operator'"],
    ['adapter/src/a.ts', "import { x } from '@service/crds'"],
    ['operator/src/a.ts', "import { x } from '@service/dev'"],
    ['operator/src/a.ts', "import { x } from '../../api/src/index.ts'"],
    ['operator/src/a.ts', 'const home = process.env.HOME'],
    ['operator/src/a.ts', 'const now = new Date()'],
  ])('%s may not hold: %s', (path, text) => {
    expect(importFindings([{ path, text }])).toHaveLength(1)
  })
})
