import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterConfig } from './config.ts'
import { readClusterConfig } from './config.ts'
import { CHART_TOOL_MODULES, planBuild, requiredVersion, TOOL_MODULES } from './tool-modules.ts'
import { ensureTools } from './tools.ts'

const toolsFolder = fileURLToPath(new URL('../../cluster/tools', import.meta.url))
const [etcd] = TOOL_MODULES

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-tools-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the plan of a build', () => {
  it('has a key that changes with go.sum, and only with what is built from', async () => {
    await cp(join(toolsFolder, 'etcd'), join(folder, 'etcd'), { recursive: true })
    const original = await planBuild(toolsFolder, etcd!)
    expect((await planBuild(folder, etcd!)).key).toBe(original.key)
    const sums = join(folder, 'etcd', 'go.sum')
    await writeFile(sums, `${await readFile(sums, 'utf8')}\n`)
    expect((await planBuild(folder, etcd!)).key).not.toBe(original.key)
  })

  it.each([...TOOL_MODULES, ...CHART_TOOL_MODULES])('finds a version for $folder', async (module) => {
    const { version, flags } = await planBuild(toolsFolder, module)
    expect(version).toMatch(/^v\d+\.\d+\.\d+$/)
    if (module.folder !== 'etcd') expect(flags.join(' ')).toContain(`ersion=${version}`)
  })

  it('does not take a replacement for a requirement', () => {
    const goMod =
      'replace (\n\ta.example/b => a.example/b v0.0.1\n)\nrequire a.example/b v1.2.3 // indirect\n'
    expect(requiredVersion(goMod, 'a.example/b')).toBe('v1.2.3')
    expect(() => requiredVersion(goMod, 'a.example/c')).toThrow(/no version/)
  })
})

describe('what is missing', () => {
  const config = (path: string): ClusterConfig => ({
    cacheDir: join(folder, 'cache'),
    kubebuilderAssets: undefined,
    testClusterSocket: undefined,
    childEnv: { ...readClusterConfig().childEnv, PATH: path },
  })

  it('is named when there is no Go', async () => {
    await expect(ensureTools({ config: config(folder) })).rejects.toThrow(
      /finds no Go: install Go 1\.26 or newer/,
    )
  })

  it('is named when Go is too old, and when a build fails', async () => {
    const go = join(folder, 'go')
    const fake = async (version: string): Promise<void> => {
      await writeFile(
        go,
        `#!/bin/sh\n[ "$1" = env ] && echo ${version} && exit\necho "cannot find it" >&2\nexit 1\n`,
      )
      await chmod(go, 0o755)
    }
    const path = `${folder}:/usr/bin:/bin`
    await fake('go1.20.1')
    await expect(ensureTools({ config: config(path) })).rejects.toThrow(/go1\.20\.1 is installed/)
    await fake('go1.99')
    await expect(ensureTools({ config: config(path) })).rejects.toThrow(
      /failed \(go exit code 1\): cannot find it/,
    )
  })
})
