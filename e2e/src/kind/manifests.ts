import { NAMESPACE, NODE_PORTS, RELEASE, STANDIN_NAMESPACE } from './layout.ts'
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

/** The database from outside, for the scenarios' own looks; `selector` is that of the chart's Service. */
export const databasePort = (selector: Readonly<Record<string, string>>) =>
  nodePort('e2e-postgres', NAMESPACE, selector, 5432, NODE_PORTS.postgres)

function nodePort(
  name: string,
  namespace: string,
  selector: Readonly<Record<string, string>>,
  port: number,
  onNode: number,
) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { type: 'NodePort', selector, ports: [{ port, targetPort: port, nodePort: onNode }] },
  }
}

/** Values for `helm install` besides those that the guide asks everybody for. */
export const systemValues = (hostPort: number) => ({
  install: {
    msspId: '0190a1b2-0000-7000-8000-000000000001',
    installId: '0190a1b2-0000-7000-8000-000000000002',
    msspName: 'Example MSSP',
    installLabel: RELEASE,
  },
  api: {
    service: { type: 'NodePort', nodePort: NODE_PORTS.api },
    // The indexer's stand-in takes the place of each tenant's stack.
    extraEnv: [{ name: 'SERVICE_TENANT_WAZUH', value: 'false' }],
  },
  auth: {
    cookieSecure: false,
    publicOriginOverride: `http://localhost:${hostPort}`,
    publicCustomerOriginOverride: `http://*.localhost:${hostPort}`,
  },
  postgres: { image: imageOf(STANDINS.postgres), runAsUser: 999, persistence: { size: '1Gi' } },
  orchestrator: { indexerUrl: `http://indexer.${STANDIN_NAMESPACE}.svc:9200/{slug}` },
})

function imageOf(reference: string) {
  const [repository = '', tag = ''] = reference.split(':')
  return { repository, tag }
}
