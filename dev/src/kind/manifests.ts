import { NAMESPACE, NODE_PORTS, STANDIN_NAMESPACE } from './layout.ts'
import { STANDINS } from './standins.ts'

const INDEXER = { app: 'indexer' }

/** One indexer for all tenants, each below its slug, and ports of the node to it and to the database. */
export const STANDIN_OBJECTS = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STANDIN_NAMESPACE } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'indexer', namespace: STANDIN_NAMESPACE },
    spec: {
      selector: { matchLabels: INDEXER },
      template: {
        metadata: { labels: INDEXER },
        spec: {
          automountServiceAccountToken: false,
          // A Service's variables would look like the indexer's own.
          enableServiceLinks: false,
          containers: [
            {
              name: 'indexer',
              image: STANDINS.indexer,
              env: [{ name: 'INDEXER_DATA_DIR', value: '/data' }],
              readinessProbe: { httpGet: { path: '/', port: 9200 }, periodSeconds: 1 },
              volumeMounts: [{ name: 'data', mountPath: '/data' }],
            },
          ],
          securityContext: { fsGroup: 10_001 },
          volumes: [{ name: 'data', emptyDir: {} }],
        },
      },
    },
  },
  nodePort('indexer', STANDIN_NAMESPACE, INDEXER, 9200, NODE_PORTS.indexer),
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
    // The indexer's stand-in takes the place of each tenant's stack.
    extraEnv: [{ name: 'SERVICE_TENANT_WAZUH', value: 'false' }],
  },
  auth: {
    publicOriginOverride: [ports.api, ports.forwarded].map((port) => `http://localhost:${port}`).join(','),
    publicCustomerOriginOverride: `http://*.localhost:${ports.api}`,
  },
  postgres: { image: imageOf(STANDINS.postgres), runAsUser: 999, persistence: { size: '1Gi' } },
  orchestrator: { indexerUrl: `http://indexer.${STANDIN_NAMESPACE}.svc:9200/{slug}` },
  // A node of two cores has to hold some tenants beside them, and a second API during an upgrade.
  resources: { api: { requests: { cpu: '50m' } }, postgres: { requests: { cpu: '50m' } } },
})

function imageOf(reference: string) {
  const [repository = '', tag = ''] = reference.split(':')
  return { repository, tag }
}
