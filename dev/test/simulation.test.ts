import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Pod } from '../src/node/types.ts'
import { IMAGE, nodeFixture, SOON } from './node-fixture.ts'
import type { NodeFixture } from './node-fixture.ts'

type Items<T> = { items: T[] }
type Claim = { status: { phase: string; capacity?: { storage: string } }; spec: { volumeName?: string } }
type Volume = { spec: { claimRef?: { namespace: string }; nodeAffinity: unknown } }

let fixture: NodeFixture
let stopNode: () => Promise<void>
beforeAll(async () => {
  fixture = await nodeFixture('simulation')
  const node = await fixture.startNode()
  stopNode = () => node.stop()
})
afterAll(async () => {
  await stopNode?.()
  await fixture?.end()
})

const template = (app: string, spec: object) => ({ metadata: { labels: { app } }, spec })
const container = (image = 'registry.example/foreign:1') => ({ name: 'main', image })
const create = (collection: string, body: object) => fixture.api.call('POST', `/apis/${collection}`, { body })
const workload = (app: string, spec: object, more: object = {}) => ({
  metadata: { name: app },
  spec: { selector: { matchLabels: { app } }, template: template(app, spec), ...more },
})
const deploy = (app: string, spec: object, replicas = 1) =>
  create(`apps/v1/namespaces/${fixture.namespace}/deployments`, workload(app, spec, { replicas }))
const nodesOf = async (app: string): Promise<(string | undefined)[]> =>
  (await fixture.podsOf(app)).map((pod) => pod.spec.nodeName)
const conditionOf = (pod: Pod | undefined, type: string) =>
  pod?.status?.conditions?.find((each) => each.type === type)
const volumesOfNamespace = async (namespace: string): Promise<Volume[]> => {
  const { items } = await fixture.api.call<Items<Volume>>('GET', '/api/v1/persistentvolumes')
  return items.filter(({ spec }) => spec.claimRef?.namespace === namespace)
}

it('binds the claims of a stateful set, plays its pods, and keeps no volume of a deleted namespace', async () => {
  const namespace = `${fixture.namespace}-volumes`
  const at = (group: string, resource: string) => `/${group}/namespaces/${namespace}/${resource}`
  await fixture.api.call('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } }
  await fixture.api.call('POST', at('apis/apps/v1', 'statefulsets'), {
    body: workload(
      'store',
      { containers: [{ ...container(), volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
      {
        replicas: 2,
        serviceName: 'store',
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
      },
    ),
  })
  await expect
    .poll(async () => {
      const path = `${at('apis/apps/v1', 'statefulsets')}/store`
      const { status } = await fixture.api.call<{ status: { readyReplicas?: number } }>('GET', path)
      return status.readyReplicas
    }, SOON)
    .toBe(2)
  const claims = await fixture.api.call<Items<Claim>>('GET', at('api/v1', 'persistentvolumeclaims'))
  expect(claims.items.map(({ status }) => [status.phase, status.capacity?.storage])).toEqual([
    ['Bound', '3Gi'],
    ['Bound', '3Gi'],
  ])
  expect(await volumesOfNamespace(namespace)).toHaveLength(2)
  await fixture.api.call('DELETE', `/api/v1/namespaces/${namespace}`)
  await expect.poll(() => volumesOfNamespace(namespace), { ...SOON, timeout: 60_000 }).toEqual([])
}, 120_000)

it('completes the pod of a job', async () => {
  await create(`batch/v1/namespaces/${fixture.namespace}/jobs`, {
    metadata: { name: 'once' },
    spec: { template: template('once', { restartPolicy: 'Never', containers: [container()] }) },
  })
  await expect
    .poll(async () => {
      const path = `/apis/batch/v1/namespaces/${fixture.namespace}/jobs/once`
      return (await fixture.api.call<{ status: { succeeded?: number } }>('GET', path)).status.succeeded
    }, SOON)
    .toBe(1)
})

it('never makes a pod ready whose image is named so', async () => {
  const image = 'registry.example/never-ready:1'
  await deploy('never', {
    containers: [container(image), { name: 'other', image: 'registry.example/ready' }],
  })
  await expect.poll(async () => (await fixture.podsOf('never'))[0]?.status?.phase, SOON).toBe('Running')
  await deploy('later', { containers: [container()] })
  await expect
    .poll(async () => conditionOf((await fixture.podsOf('later'))[0], 'Ready')?.status, SOON)
    .toBe('True')
  const [pod] = await fixture.podsOf('never')
  expect(conditionOf(pod, 'Ready')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' })
  expect(pod?.status?.containerStatuses?.map(({ ready }) => ready)).toEqual([false, true])
})

it('renews the leases of its nodes, and takes a pod back that has counted as not ready', async () => {
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/simulated-0'
  await expect
    .poll(async () => (await fixture.api.find<{ spec: { renewTime?: string } }>(lease))?.spec.renewTime, SOON)
    .toBeDefined()
  await deploy('again', { containers: [container()] })
  const ready = async () => conditionOf((await fixture.podsOf('again'))[0], 'Ready')?.status
  await expect.poll(ready, SOON).toBe('True')
  const { metadata } = await fixture.podOf('again')
  const lost = { status: { conditions: [{ type: 'Ready', status: 'False' }] } }
  const path = `${fixture.core}/pods/${metadata.name}/status`
  const marked = await fixture.api.call<Pod>('PATCH', path, { body: lost, patch: 'strategic-merge' })
  expect(conditionOf(marked, 'Ready')?.status).toBe('False')
  await expect.poll(ready, SOON).toBe('True')
})

it('keeps our pods on the local node and all others away from it', async () => {
  const hostname = { 'kubernetes.io/hostname': fixture.namespace }
  await deploy('foreign', { containers: [container()] }, 6)
  await deploy('accident', { nodeSelector: hostname, containers: [container()] })
  await deploy('ours', {
    nodeSelector: { ...hostname, 'service.dev/local-node': 'true' },
    containers: [container(IMAGE)],
  })
  await expect.poll(() => nodesOf('ours'), SOON).toEqual([fixture.namespace])
  await expect
    .poll(() => nodesOf('foreign'), SOON)
    .toEqual(Array.from({ length: 6 }, () => expect.stringMatching(/^simulated-\d$/)))
  await expect
    .poll(async () => conditionOf((await fixture.podsOf('accident'))[0], 'PodScheduled')?.reason, SOON)
    .toBe('Unschedulable')
})
