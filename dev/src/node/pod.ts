import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@service/domain'
import { ApiError } from '../cluster/client.ts'
import type { ApiClient } from '../cluster/client.ts'
import { pause } from '../cluster/watch.ts'
import { runContainer } from './container.ts'
import type { Backoff, Launch, RunningContainer } from './container.ts'
import { expand, resolveEnvironment, rewritePath } from './environment.ts'
import type { EventRecorder } from './events.ts'
import { imageFor, repositoryOf, unsupportedParts } from './pod-spec.ts'
import { lookupIn, podTokens } from './sources.ts'
import { podStatus } from './status.ts'
import { statusWriter } from './status-writer.ts'
import { StartProblem } from './types.ts'
import type { Condition, Container, LocalImage, Pod } from './types.ts'
import { podVolumes } from './volumes.ts'

export const HOST_IP = '127.0.0.1'

/** What all pods of the node share. */
export interface NodeContext {
  api: ApiClient
  nodeName: string
  podsDir: string
  images: Readonly<Record<string, LocalImage>>
  events: EventRecorder
  backoff: Backoff
  clock: Clock
  /** What a process needs of the machine: the search path and no more. */
  baseEnv: Readonly<Record<string, string>>
  log: (line: string) => void
  takeIp: () => string
  releaseIp: (ip: string) => void
}

export interface PodRunner {
  /** Takes a newer version of the pod: its deletion above all. */
  update: (pod: Pod) => void
  uses: (kind: 'secret' | 'configMap', namespace: string, name: string) => boolean
  /** Brings Secret, ConfigMap and token files up to date. */
  refresh: () => void
  /** Ends the processes; the pod itself stays in the API. Also for a pod that the API no longer has. */
  stop: (graceMs: number) => Promise<void>
}

/** Runs one pod until it is deleted. Nothing here rejects: problems are shown in the pod's status and Events. */
export function runPod(node: NodeContext, initial: Pod): PodRunner {
  let pod = initial
  const { name, namespace, uid } = pod.metadata
  const what = `${namespace}/${name}`
  const stopped = new AbortController()
  const podIp = node.takeIp()
  const folder = join(node.podsDir, `${namespace}_${name}`)
  const ownFolder = join(folder, uid)
  const startTime = node.clock()
  const facts = { pod, podIp, hostIp: HOST_IP }
  const lookup = lookupIn(node.api, namespace)
  const token = podTokens(node.api, pod, node.clock)
  const volumes = podVolumes(pod, ownFolder, { ...facts, lookup, token })
  let previous: readonly Condition[] = pod.status?.conditions ?? []
  let ending: Promise<void> | undefined
  let deleting: Promise<void> | undefined

  const build = () => {
    const views = containers.map((each) => each.view())
    const input = { pod, containers: views, podIp, hostIp: HOST_IP, startTime, previous, now: node.clock() }
    const status = podStatus(input)
    previous = status.conditions ?? []
    return status
  }
  const { signal } = stopped
  const writer = statusWriter({ api: node.api, pod, build, signal, log: node.log })
  const problem = unsupportedParts(pod).join(', ')

  const prepare = async (spec: Container): Promise<Launch> => {
    if (problem !== '') {
      throw new StartProblem(
        'CreateContainerConfigError',
        'Failed',
        `the local node does not support ${problem}`,
      )
    }
    const image = imageFor(node.images, spec)
    if (image === undefined) {
      const message = `the local node has no program for the image ${repositoryOf(spec.image)}`
      throw new StartProblem('ImagePullBackOff', 'Failed', message)
    }
    await mkdir(join(ownFolder, 'tmp'), { recursive: true, mode: 0o700 })
    await volumes.sync()
    const mounts = volumes.mountsOf(spec)
    const asked = await resolveEnvironment(spec, facts, lookup)
    return launchOf(
      { spec, image, asked, name, temporary: join(ownFolder, 'tmp'), baseEnv: node.baseEnv },
      (value) => rewritePath(value, mounts),
    )
  }

  const containers: RunningContainer[] = pod.spec.containers.map((spec) => {
    const before = pod.status?.containerStatuses?.find((each) => each.name === spec.name)
    return runContainer({
      spec,
      podIp,
      restartPolicy: pod.spec.restartPolicy ?? 'Always',
      graceMs: (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000,
      logFile: join(folder, `${spec.name}.log`),
      recordFile: join(folder, `${uid}.${spec.name}.process.json`),
      // A container that an earlier life of the node has run is started once more.
      restartCount: before?.containerID === undefined ? (before?.restartCount ?? 0) : before.restartCount + 1,
      backoff: node.backoff,
      clock: node.clock,
      prepare: () => prepare(spec),
      changed: () => writer.changed(),
      event: (type, reason, message) => node.events.record(pod, type, reason, message),
    })
  })
  node.log(`${what}: runs at ${podIp}`)

  const complain = (error: unknown): void => node.log(`${what}: ${String(error)}`)
  const end = async (graceMs: number): Promise<void> => {
    const stops = Promise.all(containers.map((container) => container.stop(graceMs).catch(complain)))
    ending ??= stops
      .then(() => volumes.dispose())
      .catch(complain)
      .then(() => {
        node.releaseIp(podIp)
        node.log(`${what}: ended`)
      })
    await ending
  }
  const remove = async (graceMs: number): Promise<void> => {
    node.events.record(pod, 'Normal', 'Killing', 'Stopping the containers')
    await end(graceMs)
    writer.changed()
    await Promise.race([writer.settled(), pause(4_000, signal)])
    await deletePod(node, pod, signal)
  }

  const update = (newer: Pod): void => {
    pod = newer
    writer.observed(newer.status)
    if (newer.metadata.deletionTimestamp === undefined) return
    deleting ??= remove((newer.metadata.deletionGracePeriodSeconds ?? 30) * 1000).catch(complain)
  }
  writer.changed()
  update(initial)
  return {
    update,
    uses: (kind, inNamespace, of) => inNamespace === namespace && volumes.uses(kind, of),
    refresh: () => {
      if (ending !== undefined || problem !== '') return
      volumes.sync().catch(complain)
    },
    stop: async (graceMs) => {
      stopped.abort()
      await end(graceMs)
    },
  }
}

function launchOf(
  parts: {
    spec: Container
    image: LocalImage
    asked: Readonly<Record<string, string>>
    name: string
    temporary: string
    baseEnv: Readonly<Record<string, string>>
  },
  rewrite: (value: string) => string,
): Launch {
  const { spec, image, asked, name, temporary } = parts
  const mountedTmp = rewrite('/tmp')
  const own = { HOME: temporary, TMPDIR: mountedTmp === '/tmp' ? temporary : mountedTmp, HOSTNAME: name }
  const wanted = { ...image.env, ...asked }
  const env = Object.fromEntries(Object.entries(wanted).map(([key, value]) => [key, rewrite(value)]))
  const text = (value: string): string => rewrite(expand(value, wanted))
  // As with an image: `command` replaces its entrypoint, `args` come after it.
  const [command = image.command, ...first] = spec.command?.map(text) ?? [image.command, ...image.args]
  const workingDir = spec.workingDir === undefined ? undefined : rewrite(spec.workingDir)
  return {
    command,
    args: [...first, ...(spec.args ?? []).map(text)],
    env: { ...parts.baseEnv, ...own, ...env },
    cwd: image.cwd ?? (workingDir !== spec.workingDir && workingDir !== undefined ? workingDir : temporary),
  }
}

/** Tells the API server that nothing of the pod runs any more; tries until it is told or the node ends. */
async function deletePod(node: NodeContext, pod: Pod, signal: AbortSignal): Promise<void> {
  const { name, namespace, uid } = pod.metadata
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const body = { gracePeriodSeconds: 0, preconditions: { uid } }
      await node.api.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, { body, signal })
      return
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return
      if (!signal.aborted) node.log(`delete ${namespace}/${name}: ${String(error)}`)
      await pause(Math.min(5_000, 200 * 2 ** failures), signal)
    }
  }
}
