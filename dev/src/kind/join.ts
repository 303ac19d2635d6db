import { readFile } from 'node:fs/promises'
import type { System } from '../system/system.ts'
import { clusterTools } from './kubectl.ts'
import type { Run } from './kubectl.ts'
import { NAMESPACE, RELEASE, STANDIN_NAMESPACE } from './layout.ts'
import type { KindWorld } from './layout.ts'

type Part = Parameters<System['stop']>[0]

/** Workloads in place of the processes of the development system. */
const PARTS: Partial<Record<Part, { readonly namespace: string; readonly workload: string }>> = {
  api: { namespace: NAMESPACE, workload: `deployment/${RELEASE}-api` },
  postgres: { namespace: NAMESPACE, workload: `statefulset/${RELEASE}-postgres` },
  indexer: { namespace: STANDIN_NAMESPACE, workload: 'deployment/gateway' },
}

/** The installed system, handled like the development system. It outlives whoever joins it. */
export async function joinKindSystem(file: string): Promise<System> {
  const { connection, cluster } = JSON.parse(await readFile(file, 'utf8')) as KindWorld
  const { kubectl } = await clusterTools(cluster.kubeconfigPath)
  const partOf = (name: Part) => {
    const part = PARTS[name]
    if (part === undefined) throw new Error(`${name} is no workload of the installed system`)
    return part
  }
  const scale = async (name: Part, replicas: number): Promise<void> => {
    const { namespace, workload } = partOf(name)
    await kubectl(['scale', workload, '--namespace', namespace, `--replicas=${replicas}`])
    await kubectl(['rollout', 'status', workload, '--namespace', namespace, '--timeout=120s'])
  }
  return {
    connection: () => connection,
    operatorEnvironment: () => {
      throw new Error('the operator of the installed system runs in its pods')
    },
    stop: (name) => scale(name, 0),
    start: (name) => scale(name, 1),
    kill: (name) => {
      const { namespace, workload } = partOf(name)
      void killPods(kubectl, namespace, workload)
    },
    shutdown: () => Promise.resolve(),
  }
}

/** As when a node takes a pod away at once: nothing is told to it beforehand. */
export async function killPods(kubectl: Run, namespace: string, workload: string): Promise<void> {
  const text = await kubectl(['get', workload, '--namespace', namespace, '--output', 'json'])
  const { spec } = JSON.parse(text) as { spec: { selector: { matchLabels: Record<string, string> } } }
  const selector = Object.entries(spec.selector.matchLabels).map(([key, value]) => `${key}=${value}`)
  const now = ['--grace-period=0', '--force', '--wait=false']
  await kubectl(['delete', 'pods', '--namespace', namespace, '--selector', selector.join(','), ...now])
}
