import { availableParallelism } from 'node:os'
import type { Clock } from '@service/domain'
import { ApiError } from '../cluster/client.ts'
import type { ApiClient } from '../cluster/client.ts'
import { LOCAL_NODE_LABEL } from '../cluster/labels.ts'
import { pause } from '../cluster/watch.ts'
import { seconds } from './status.ts'

/** Pods come here by `nodeSelector: {service.dev/local-node: "true"}`, which also brings them the toleration. */
const TAINT = { key: LOCAL_NODE_LABEL, value: 'true', effect: 'NoSchedule' }

const LEASE_SECONDS = 40
const RENEW_MS = 10_000
const REPORT_MS = 5 * 60_000

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

interface NodeObject {
  metadata: { labels?: Record<string, string>; resourceVersion?: string }
  spec?: { taints?: Array<{ key: string }> }
  status?: { conditions?: Array<{ type: string; status: string; lastHeartbeatTime?: string }> }
}

export interface RegistrationOptions {
  api: ApiClient
  nodeName: string
  hostIp: string
  clock: Clock
  signal: AbortSignal
  log: (line: string) => void
  /** Called once, when the node is registered and ready. */
  onRegistered: () => void
}

/** Keeps the Node object, its Ready condition and its Lease alive until the signal. Never rejects. */
export async function keepRegistered(options: RegistrationOptions): Promise<void> {
  const { signal, log } = options
  let failures = 0
  let registered = false
  while (!signal.aborted) {
    try {
      await ensureNode(options)
      await renewLease(options)
      failures = 0
      if (!registered) options.onRegistered()
      registered = true
      await pause(RENEW_MS, signal)
    } catch (error) {
      if (signal.aborted) return
      log(`registration: ${error instanceof Error ? error.message : String(error)}`)
      await pause(Math.min(5_000, 200 * 2 ** failures++), signal)
    }
  }
}

async function ensureNode({ api, nodeName, hostIp, clock }: RegistrationOptions): Promise<void> {
  const path = `/api/v1/nodes/${nodeName}`
  const labels = nodeLabels(nodeName)
  let node = await api.find<NodeObject>(path)
  if (node === null) {
    node = await api.call<NodeObject>('POST', '/api/v1/nodes', {
      body: { metadata: { name: nodeName, labels }, spec: { taints: [TAINT] } },
    })
  } else if (!isMarked(node, labels)) {
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== TAINT.key)
    const { resourceVersion } = node.metadata
    await api.call('PATCH', path, {
      body: { metadata: { labels, resourceVersion }, spec: { taints: [...taints, TAINT] } },
    })
  }
  const ready = node.status?.conditions?.find((each) => each.type === 'Ready')
  const age = clock().getTime() - Date.parse(ready?.lastHeartbeatTime ?? '1970-01-01T00:00:00Z')
  if (ready?.status === 'True' && age < REPORT_MS) return
  const status = nodeStatus(nodeName, hostIp, seconds(clock()), ready?.status === 'True')
  await api.call('PATCH', `${path}/status`, { body: { status }, patch: 'strategic-merge' })
}

function isMarked({ metadata, spec }: NodeObject, labels: Readonly<Record<string, string>>): boolean {
  const labelled = Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)
  return labelled && (spec?.taints ?? []).some(({ key }) => key === TAINT.key)
}

function nodeLabels(nodeName: string): Record<string, string> {
  return {
    [LOCAL_NODE_LABEL]: 'true',
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
  }
}

/** Capacity is a fixed figure, not the machine's: nothing enforces it, and the scheduler shall place all pods. */
function nodeStatus(nodeName: string, hostIp: string, now: string, wasReady: boolean) {
  const resources = { cpu: '8', memory: '32Gi', pods: '200', 'ephemeral-storage': '100Gi' }
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    ...(wasReady ? {} : { lastTransitionTime: now }),
  })
  return {
    capacity: resources,
    allocatable: resources,
    addresses: [
      { type: 'InternalIP', address: hostIp },
      { type: 'Hostname', address: nodeName },
    ],
    conditions: [
      condition('Ready', 'True', 'LocalNodeReady', `runs pods as processes, ${availableParallelism()} cores`),
      condition('MemoryPressure', 'False', 'NotMeasured', 'the local node does not measure memory'),
      condition('DiskPressure', 'False', 'NotMeasured', 'the local node does not measure disks'),
      condition('PIDPressure', 'False', 'NotMeasured', 'the local node does not count processes'),
    ],
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      osImage: 'local processes',
      containerRuntimeVersion: 'local://1',
      kubeletVersion: 'v1.36.0-local',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    },
  }
}

async function renewLease({ api, nodeName, clock }: RegistrationOptions): Promise<void> {
  const spec = {
    holderIdentity: nodeName,
    leaseDurationSeconds: LEASE_SECONDS,
    renewTime: clock().toISOString().replace(/Z$/, '000Z'),
  }
  try {
    await api.call('PATCH', `${LEASES}/${nodeName}`, { body: { spec } })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error
    await api.call('POST', LEASES, { body: { metadata: { name: nodeName }, spec } })
  }
}
