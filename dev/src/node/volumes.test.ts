import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Pod } from './types.ts'
import { podVolumes } from './volumes.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-volumes-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('shows a Secret as files that change together, by one rename', async () => {
  const secret: Record<string, Buffer> = { a: Buffer.from('1'), b: Buffer.from('1') }
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: [], volumes: [{ name: 'keys', secret: { secretName: 's', defaultMode: 0o400 } }] },
  }
  const volumes = podVolumes(pod, join(folder, 'pod'), {
    pod,
    podIp: '127.42.0.1',
    hostIp: '127.0.0.1',
    lookup: (_kind, name) => Promise.resolve(name === 's' ? { ...secret } : null),
    token: () => Promise.reject(new Error('no token is asked for')),
  })
  const keys = join(folder, 'pod', 'keys')
  const read = (name: string) => readFile(join(keys, name), 'utf8')
  await volumes.sync()
  expect((await stat(join(keys, 'a'))).mode & 0o777).toBe(0o400)
  const first = (await readdir(keys)).toSorted()

  await volumes.sync()
  expect((await readdir(keys)).toSorted()).toEqual(first)

  secret.a = Buffer.from('2')
  delete secret.b
  secret.c = Buffer.from('3')
  await Promise.all([volumes.sync(), volumes.sync()])
  expect([await read('a'), await read('c')]).toEqual(['2', '3'])
  expect((await readdir(keys)).filter((name) => !name.startsWith('..')).toSorted()).toEqual(['a', 'c'])
  expect(await readdir(keys)).toHaveLength(4)

  expect(volumes.uses('secret', 's')).toBe(true)
  expect(volumes.uses('configMap', 's')).toBe(false)
  await volumes.dispose()
  expect(await readdir(folder)).toEqual([])
})
