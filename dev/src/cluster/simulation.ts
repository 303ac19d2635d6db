import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import type { ApiClient } from './client.ts'
import { LOCAL_NODE_LABEL } from './labels.ts'

const FOLDER = new URL('../../cluster/simulation/', import.meta.url)
const STAGES = fileURLToPath(new URL('stages.yaml', FOLDER))

const COLLECTIONS: Readonly<Record<string, string>> = {
  Node: '/api/v1/nodes',
  StorageClass: '/apis/storage.k8s.io/v1/storageclasses',
  MutatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings',
}

/** KWOK plays the kubelets of the simulated nodes and makes their volumes, as `stages.yaml` tells it. It listens nowhere. */
export function kwokArgs(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--config=${STAGES}`,
    '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
    '--cidr=10.244.0.0/16',
    '--node-port=0',
    // As a kubelet's; without it the nodes have no lease and count as dead after a while.
    '--node-lease-duration-seconds=40',
    '--v=WARN',
  ]
}

/** Applies the simulated nodes, the default storage class, and the rule that lets pods onto the local node. */
export async function applySimulation(api: ApiClient): Promise<void> {
  const documents = parseAllDocuments(await readFile(new URL('objects.yaml', FOLDER), 'utf8'))
  for (const document of documents) {
    const body = document.toJS() as { kind: string; metadata: { name: string } }
    const path = `${COLLECTIONS[body.kind]}/${body.metadata.name}?fieldManager=service-dev&force=true`
    await api.call('PATCH', path, { body, patch: 'apply' })
  }
}

/** Rejects until the API server has read the rule: a pod that came earlier would wait for ever. */
export async function assertAdmission(api: ApiClient): Promise<void> {
  const body = {
    metadata: { generateName: 'admission-' },
    spec: { nodeSelector: { [LOCAL_NODE_LABEL]: 'true' }, containers: [{ name: 'main', image: 'none' }] },
  }
  const pod = await api.call<{ spec: { tolerations?: { key?: string }[] } }>(
    'POST',
    '/api/v1/namespaces/default/pods?dryRun=All',
    { body },
  )
  if (pod.spec.tolerations?.some(({ key }) => key === LOCAL_NODE_LABEL) !== true)
    throw new Error('pods that name the local node get no toleration yet')
}
