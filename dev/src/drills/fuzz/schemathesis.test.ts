import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readClusterConfig } from '../../cluster/config.ts'
import { ensureSchemathesis } from './schemathesis.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-python-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('says what is missing: a Python, a newer one, or its venv module', async () => {
  const config = { ...readClusterConfig({ PATH: folder }), cacheDir: join(folder, 'cache') }
  const ensure = () => ensureSchemathesis(() => undefined, config)
  await expect(ensure()).rejects.toThrow(/finds no python3: install Python 3\.11 or newer/)
  const python = async (script: string) => {
    await writeFile(join(folder, 'python3'), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, 'python3'), 0o755)
  }
  await python('exit 1')
  await expect(ensure()).rejects.toThrow(/needs a newer python3: install Python 3\.11/)
  await python('[ "$1" = -c ] && exit 0; echo ensurepip is not available; exit 1')
  await expect(ensure()).rejects.toThrow(/no environment \(ensurepip is not available\): install/)
})
