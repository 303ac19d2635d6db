import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'

let database: TestDatabase
beforeAll(async () => { database = await createTestDatabase('migrations') })
afterAll(async () => { await database.drop() })
test('x', () => { expect(database.urls.app).toContain('service_app') })
