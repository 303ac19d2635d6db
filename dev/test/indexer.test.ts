import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@opensearch-project/opensearch'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../src/cluster/ports.ts'
import { startIndexer } from '../src/indexer/index.ts'
import type { Indexer } from '../src/indexer/index.ts'

const INDEX = 'wazuh-alerts-4.x-2026.07.14'
const alert = (id: string, timestamp: string, level = 3) => ({ id, timestamp, rule: { level } })

let indexer: Indexer
let client: Client
const clientFor = (url: string) => new Client({ node: `${url}/acme`, maxRetries: 0 })

beforeEach(async () => {
  indexer = await startIndexer({ port: 0 })
  client = clientFor(indexer.url)
})
afterEach(async () => {
  await client.close()
  await indexer.stop()
})

async function load(documents: readonly object[], at = client): Promise<void> {
  const { body } = await at.bulk({
    index: INDEX,
    body: documents.flatMap((document) => [{ index: {} }, document as Record<string, unknown>]),
  })
  expect(body.errors).toBe(false)
}

const SORT = [{ timestamp: 'asc' as const }, { id: 'asc' as const }]

describe('the client of OpenSearch', () => {
  it('is content with the stand-in under a path', async () => {
    const { body } = await client.info()
    expect(body.version.distribution).toBe('opensearch')
  })

  it('reads page after page of a snapshot, ordered as moments and then by id', async () => {
    await load([
      alert('b', '2026-07-14T12:00:00.000+0200'),
      alert('a', '2026-07-14T10:00:00.000+0000'),
      alert('c', '2026-07-14T09:59:59.999Z'),
      alert('d', '2026-07-14T05:30:00.000-0500'),
    ])
    const pit = await client.createPit({ index: ['wazuh-alerts-*'], keep_alive: '1m' })
    await load([alert('late', '2026-07-14T09:00:00Z')])
    const ids: unknown[] = []
    let after: (string | number)[] | undefined
    for (;;) {
      const { body } = await client.search({
        body: {
          pit: { id: pit.body.pit_id, keep_alive: '1m' },
          size: 2,
          sort: SORT,
          track_total_hits: false,
          ...(after === undefined ? {} : { search_after: after }),
        },
      })
      const hits = body.hits.hits
      if (hits.length === 0) break
      ids.push(...hits.map(({ _source: source }) => (source as { id: string }).id))
      after = hits.at(-1)?.sort as (string | number)[]
    }
    expect(ids).toEqual(['c', 'a', 'b', 'd'])
    const closed = await client.deletePit({ body: { pit_id: [pit.body.pit_id] } })
    expect(closed.body.pits).toEqual([{ pit_id: pit.body.pit_id, successful: true }])
    await expect(client.search({ body: { pit: { id: pit.body.pit_id } } })).rejects.toMatchObject({
      statusCode: 404,
    })
  })

  it('filters by range, term and bool, and counts', async () => {
    await load([
      alert('1', '2026-07-14T10:00:00Z', 3),
      alert('2', '2026-07-14T11:00:00Z', 10),
      alert('3', '2026-07-14T12:00:00Z', 10),
    ])
    const idsOf = async (query: object) => {
      const { body } = await client.search({ index: 'wazuh-alerts-*', body: { query, sort: SORT } })
      return body.hits.hits.map(({ _source: source }) => (source as { id: string }).id)
    }
    expect(await idsOf({ range: { timestamp: { gte: '2026-07-14T13:00:00+0200' } } })).toEqual(['2', '3'])
    expect(await idsOf({ range: { timestamp: { gt: 1_784_026_800_000, format: 'epoch_millis' } } })).toEqual([
      '3',
    ])
    expect(await idsOf({ term: { 'rule.level': 10 } })).toEqual(['2', '3'])
    expect(
      await idsOf({
        bool: { filter: [{ term: { 'rule.level': { value: 10 } } }], must_not: { term: { id: '3' } } },
      }),
    ).toEqual(['2'])
    expect(await idsOf({ bool: { should: [{ term: { id: '1' } }, { terms: { id: ['3'] } }] } })).toEqual([
      '1',
      '3',
    ])
    const { body } = await client.count({
      index: 'wazuh-alerts-*',
      body: { query: { exists: { field: 'id' } } },
    })
    expect(body.count).toBe(3)
    const all = await client.search({ index: INDEX, body: { query: { match_all: {} } } })
    expect(all.body.hits.total).toEqual({ value: 3, relation: 'eq' })
  })

  it('keeps tenants apart', async () => {
    await load([alert('1', '2026-07-14T10:00:00Z')])
    const other = new Client({ node: `${indexer.url}/globex`, maxRetries: 0 })
    const { body } = await other.search({ index: 'wazuh-alerts-*', body: {} })
    expect(body.hits.hits).toEqual([])
    await other.close()
  })
})

describe('refusals', () => {
  const post = async (path: string, body: string) => {
    const response = await fetch(`${indexer.url}/acme${path}`, { method: 'POST', body })
    return { status: response.status, body: (await response.json()) as { error?: { reason: string } } }
  }

  it.each([
    ['/x*/_search', '{"query":', 'JSON'],
    ['/x*/_search', '[]', 'START_OBJECT'],
    ['/x*/_search', '{"query":{"fuzzy":{"a":"b"}}}', '[fuzzy]'],
    ['/x*/_search', '{"aggs":{}}', '[aggs]'],
    ['/x*/_search', '{"query":{"range":{"timestamp":{"gte":"now-5m"}}}}', 'now-5m'],
    ['/x*/_search', '{"sort":[{"timestamp":"sideways"}]}', 'sideways'],
    ['/x*/_search', '{"sort":["id"],"search_after":["a","b"]}', 'search_after'],
    ['/x*/_search', '{"size":10001}', 'too large'],
    ['/x*/_search?scroll=1m', '{}', '[scroll]'],
    ['/x*/_search/point_in_time', '', 'keep_alive'],
    ['/_bulk', '{"index":{"_index":"a"}}\n{"x":1}', 'newline'],
    ['/_bulk', '{"delete":{"_index":"a","_id":"1"}}\n', 'delete'],
    ['/_bulk', '{"index":{"_index":"a"}}\nnot json\n', 'JSON'],
    ['/_reindex', '{}', '_reindex'],
  ])('%s %s names %s', async (path, body, named) => {
    const answer = await post(path, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error?.reason).toContain(named)
  })

  it('answers a bad document of a bulk by itself', async () => {
    const lines = [
      { create: { _index: INDEX, _id: '1' } },
      { timestamp: '2026-07-14T10:00:00Z' },
      { create: { _index: INDEX, _id: '1' } },
      { timestamp: '2026-07-14T10:00:00Z' },
      { index: { _index: INDEX } },
      { timestamp: 'yesterday' },
    ]
    const { body } = await post('/_bulk', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const { errors, items } = body as { errors?: boolean; items?: Record<string, { status: number }>[] }
    expect(errors).toBe(true)
    expect(items?.flatMap((item) => Object.values(item).map(({ status }) => status))).toEqual([201, 409, 400])
  })
})

describe('with a data folder', () => {
  it('has its documents again after a restart, also behind a torn last line', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'indexer-'))
    const read = async () => {
      const started = await startIndexer({ port: 0, dataDir })
      const reader = clientFor(started.url)
      const { body } = await reader.search({ index: 'wazuh-alerts-*', body: { sort: SORT } })
      const close = () => Promise.all([reader.close(), started.stop()])
      return {
        reader,
        close,
        ids: body.hits.hits.map(({ _source: source }) => (source as { id: string }).id),
      }
    }
    const first = await read()
    await load([alert('1', '2026-07-14T10:00:00Z'), alert('2', '2026-07-14T11:00:00Z')], first.reader)
    await first.close()
    await appendFile(join(dataDir, 'acme.ndjson'), '{"index":"wazuh-al')
    const second = await read()
    expect(second.ids).toEqual(['1', '2'])
    await load([alert('3', '2026-07-14T12:00:00Z')], second.reader)
    await second.close()
    const third = await read()
    expect(third.ids).toEqual(['1', '2', '3'])
    await third.close()
    await rm(dataDir, { recursive: true })
  })
})

describe('with credentials', () => {
  it('lets nobody in without them', async () => {
    const auth = { username: 'reader', password: 'a long password' }
    const guarded = await startIndexer({ port: 0, auth })
    const stranger = clientFor(guarded.url)
    await expect(stranger.info()).rejects.toMatchObject({ statusCode: 401 })
    const known = new Client({ node: `${guarded.url}/acme`, auth })
    expect((await known.info()).statusCode).toBe(200)
    await Promise.all([stranger.close(), known.close(), guarded.stop()])
  })
})

it('serves one tenant at the root, to its users, and to anybody by a door of its own', async () => {
  const door = await freePort()
  const own = await startIndexer({
    port: 0,
    only: 'acme',
    authorize: (user, password) => Promise.resolve(user === 'reader' && password === 'a:b'),
    open: ['/_plugins/_security/health'],
    more: [{ port: door }],
  })
  try {
    const document = { timestamp: '2026-01-01T00:00:00.000+0000', id: '1' }
    const body = `{"index":{"_index":"wazuh-alerts-4.x-2026.01.01","_id":"1"}}\n${JSON.stringify(document)}\n`
    const written = await fetch(`http://127.0.0.1:${door}/_bulk`, { method: 'POST', body })
    expect(await written.json()).toMatchObject({ errors: false })
    const search = (user: string) =>
      fetch(`${own.url}/wazuh-alerts-*/_search`, {
        headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` },
      })
    expect(await (await search('reader:a:b')).json()).toMatchObject({ hits: { hits: [{ _id: '1' }] } })
    for (const user of ['reader:a', 'admin:a:b', '', ':']) expect((await search(user)).status).toBe(401)
    expect((await fetch(`${own.url}/wazuh-alerts-*/_search`)).status).toBe(401)
    expect((await fetch(`${own.url}/_plugins/_security/health`)).status).toBe(200)
  } finally {
    await own.stop()
  }
})
