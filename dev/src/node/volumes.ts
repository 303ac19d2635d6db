import { createHash } from 'node:crypto'
import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MountedPath } from './environment.ts'
import type { Container, Pod } from './types.ts'
import { volumeFiles, volumeReferences } from './volume-files.ts'
import type { FileSources, VolumeFiles } from './volume-files.ts'

export interface PodVolumes {
  /** Brings the files up to date; rejects with StartProblem when a source is missing. One run at a time. */
  sync: () => Promise<void>
  mountsOf: (container: Container) => MountedPath[]
  uses: (kind: 'secret' | 'configMap', name: string) => boolean
  /** Removes everything, secrets above all. */
  dispose: () => Promise<void>
}

export function podVolumes(pod: Pod, folder: string, sources: FileSources): PodVolumes {
  const volumes = pod.spec.volumes ?? []
  const written = new Map<string, string>()
  let last: Promise<void> = Promise.resolve()

  const syncAll = async (): Promise<void> => {
    for (const volume of volumes) {
      const target = join(folder, volume.name)
      await mkdir(target, { recursive: true, mode: 0o700 })
      const files = await volumeFiles(volume, sources)
      if (files === undefined) continue
      const digest = digestOf(files)
      if (written.get(volume.name) === digest) continue
      await publish(target, files)
      written.set(volume.name, digest)
    }
  }

  return {
    sync: () => {
      last = last.catch(() => undefined).then(syncAll)
      return last
    },
    mountsOf: (container) =>
      (container.volumeMounts ?? []).map((mount) => ({
        mountPath: mount.mountPath.replace(/(?<=.)\/+$/, ''),
        folder: join(folder, mount.name, mount.subPath ?? ''),
      })),
    uses: (kind, name) =>
      volumes.some((volume) =>
        volumeReferences(volume).some((each) => each.kind === kind && each.name === name),
      ),
    dispose: async () => {
      await last.catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function digestOf(files: VolumeFiles): string {
  const hash = createHash('sha256')
  for (const [path, { data, mode }] of files) hash.update(`${path}\0${mode}\0${data.length}\0`).update(data)
  return hash.digest('hex')
}

/**
 * Shows all files of a volume at once, as a kubelet does: each name is a link through `..data`, and one
 * rename points `..data` at the new folder. A reader never sees half of an update.
 */
async function publish(target: string, files: VolumeFiles): Promise<void> {
  const generation = `..${crypto.randomUUID()}`
  for (const [path, { data, mode }] of files) {
    const file = join(target, generation, path)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, data, { mode })
  }
  await mkdir(join(target, generation), { recursive: true, mode: 0o700 })
  const current = join(target, '..data')
  const previous = await readlink(current).catch(() => undefined)
  await rm(join(target, '..data_new'), { force: true })
  await symlink(generation, join(target, '..data_new'))
  await rename(join(target, '..data_new'), current)

  const names = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path))
  for (const name of names) {
    await symlink(join('..data', name), join(target, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const name of await readdir(target)) {
    if (!name.startsWith('..') && !names.has(name)) await rm(join(target, name), { force: true })
  }
  if (previous !== undefined) await rm(join(target, previous), { recursive: true, force: true })
}
