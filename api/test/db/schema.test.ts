import { readFile, readdir } from 'node:fs/promises'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { expect, test } from 'vitest'
import * as schema from '../../src/db/schema/index.ts'

type Snapshot = ReturnType<typeof generateDrizzleJson>

const META = new URL('../../src/db/migrations/meta/', import.meta.url)

test('the migrations make exactly the tables that the code knows', async () => {
  const names = (await readdir(META)).filter((name) => name.endsWith('_snapshot.json')).toSorted()
  const latest = JSON.parse(await readFile(new URL(names.at(-1) ?? '', META), 'utf8')) as Snapshot
  expect(await generateMigration(latest, generateDrizzleJson(schema))).toEqual([])
  // The comparison can fail.
  const { tenants: _left, ...others } = schema
  expect(await generateMigration(latest, generateDrizzleJson(others))).not.toEqual([])
})
