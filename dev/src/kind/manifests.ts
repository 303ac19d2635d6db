import { NAMESPACE, NODE_PORTS, STANDIN_NAMESPACE } from './layout.ts'
import { STANDINS } from './standins.ts'

const GATEWAY = { app: 'gateway' }

/** A door to the indexers of all tenants, each below its slug. */
export const STANDIN_OBJECTS = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STANDIN_NAMESPACE } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'gateway', namespace: STANDIN_NAMESPACE },
    spec: {
      selector: { matchLabels: GATEWAY },
      template: {
        metadata: { labels: GATEWAY },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          // As the node itself: tenants' network policies let no pod in here, and have no say about the node.
          hostNetwork: true,
          dnsPolicy: 'ClusterFirstWithHostNet',
          containers: [
            {
              name: 'gateway',
              image: STANDINS.gateway,
              readinessProbe: { httpGet: { path: '/', port: 9200 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  nodePort('gateway', STANDIN_NAMESPACE, GATEWAY, 9200, NODE_PORTS.indexer),
]

const SMALL = 'small-requests'
const requested = (what: string, amount: string): string =>
  `JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/${what}", value: "${amount}"}`

/**
 * What tenants' pods reserve is for real stacks. Here the cluster reserves less for each, as clusters of other people do by
 * means of their own, so that some fit on a node of two cores; what they may use at most stays as it is.
 */
export const smallRequests = (version: 'v1' | 'v1beta1') => [
  {
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: SMALL },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        namespaceSelector: { matchLabels: { tenant: 'true' } },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] },
        ],
      },
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: { expression: `[${requested('cpu', '10m')}, ${requested('memory', '64Mi')}]` },
        },
      ],
    },
  },
  {
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: SMALL },
    spec: { policyName: SMALL },
  },
]

/** Doors from outside that no Service of the chart is; `selectors` are those of the chart's Services. */
export const doors = (selectors: { readonly postgres: Labels; readonly api: Labels }) => [
  nodePort('dev-postgres', NAMESPACE, selectors.postgres, 5432, NODE_PORTS.postgres),
  nodePort('dev-metrics', NAMESPACE, selectors.api, 9090, NODE_PORTS.metrics),
]

type Labels = Readonly<Record<string, string>>

function nodePort(name: string, namespace: string, selector: Labels, port: number, onNode: number) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { type: 'NodePort', selector, ports: [{ port, targetPort: port, nodePort: onNode }] },
  }
}

/** What the guide's VALUES says here, where images are stand-ins and a Service of the node's port stands in for an Ingress. */
export const systemValues = (ports: { readonly api: number; readonly forwarded: number }) => ({
  api: {
    service: { type: 'NodePort', nodePort: NODE_PORTS.api },
  },
  auth: {
    publicOriginOverride: [ports.api, ports.forwarded].map((port) => `http://localhost:${port}`).join(','),
    publicCustomerOriginOverride: `http://*.localhost:${ports.api}`,
  },
  postgres: { image: imageOf(STANDINS.postgres), runAsUser: 999, persistence: { size: '1Gi' } },
  // A node of two cores has to hold some tenants beside them, and a second API during an upgrade.
  resources: { api: { requests: { cpu: '50m' } }, postgres: { requests: { cpu: '50m' } } },
})

function imageOf(reference: string) {
  const [repository = '', tag = ''] = reference.split(':')
  return { repository, tag }
}
