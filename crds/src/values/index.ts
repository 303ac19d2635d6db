import { INSTALL_NAMESPACE, SLUG, TENANT_SECRETS } from '@service/domain'
import * as v from 'valibot'
import { address, flag, integer, matching, text, uuid } from '../kubernetes.ts'
import { Adapter } from './adapter.ts'
import { Components, LimitRange, Linuxep, ResourceQuota, WazuhSubchart } from './components.ts'
import { RunsWorker } from './runs-worker.ts'
import { labels, optionalSecretName, secretKeyRef, secretName } from './parts.ts'

const DNS_LABEL = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/
const CIDR = /^[0-9a-fA-F.:]{2,39}\/[0-9]{1,3}$/

const Identity = v.pipe(
  v.strictObject({
    id: uuid('Id of the tenant.'),
    msspId: uuid('Id of the MSSP that runs the install.'),
    installId: uuid('Id of the install.'),
    slug: matching(SLUG, 40, 'Short name of the tenant; its namespace is tenant-<slug>.'),
    displayName: text(255, 'Name of the customer.'),
  }),
  v.description('Who the tenant is.'),
)

const Branding = v.pipe(
  v.strictObject({
    appName: v.optional(text(255, 'Name that the customer portal shows.'), ''),
    logoUrl: v.optional(address('Address of the logo.'), ''),
    primaryColor: v.optional(text(16, 'Primary colour.'), ''),
    secondaryColor: v.optional(text(16, 'Secondary colour.'), ''),
    favicon: v.optional(address('Address of the favicon.'), ''),
  }),
  v.description('How the customer portal looks; empty for the defaults.'),
)

const Llm = v.pipe(
  v.strictObject({
    provider: v.optional(text(64, 'Kind of LLM provider.'), 'openai-compatible'),
    baseUrl: v.optional(address('Base address of the LLM.'), ''),
    model: v.optional(text(255, 'Model name.'), ''),
    apiKeyRef: secretKeyRef(
      TENANT_SECRETS.llmKey.name,
      TENANT_SECRETS.llmKey.keys[0],
      'Where the LLM key of the tenant is.',
    ),
    keyVersion: v.optional(
      text(64, 'Changes with each change of the key; the runs worker starts anew.'),
      '1',
    ),
  }),
  v.description('The LLM of the tenant.'),
)

const cidrs = (description: string) =>
  v.optional(
    v.pipe(v.array(matching(CIDR, 43, 'An address range.')), v.maxLength(32), v.description(description)),
    [],
  )
const namespace = (description: string) => matching(DNS_LABEL, 63, description)

const NetworkPolicies = v.pipe(
  v.strictObject({
    enabled: v.optional(flag('Whether all traffic is denied that no policy of the chart allows.'), true),
    allowedLlmHosts: v.optional(
      v.pipe(
        v.array(text(253, 'A host name.')),
        v.maxLength(32),
        v.description('Hosts that the runs worker may reach.'),
      ),
      [],
    ),
    dnsNamespace: v.optional(namespace('Namespace of the cluster DNS.'), 'kube-system'),
    apiNamespace: v.optional(namespace('Namespace of the API.'), INSTALL_NAMESPACE),
    apiCidrs: cidrs('Ranges of an API that is not reached as a pod, for example through an ingress.'),
    llmCidrs: cidrs('Ranges of an LLM outside the namespace.'),
    indexerCidrs: cidrs('Ranges of an indexer outside the namespace.'),
    dashboardNamespace: v.optional(
      namespace(
        'Namespace whose pods may open the dashboard, for example that of an ingress; empty for none.',
      ),
      '',
    ),
  }),
  v.description(
    'Network policies. They know no host names: an address literal in a URL is allowed by itself, other hosts outside the cluster need a range.',
  ),
)

const port = (description: string) => v.optional(integer(0, 65_535, description), 0)

const WazuhIngress = v.pipe(
  v.strictObject({
    mode: v.optional(
      v.pipe(v.picklist(['loadbalancer', 'edge-haproxy']), v.description('How agents reach the manager.')),
      'loadbalancer',
    ),
    hostname: v.optional(text(253, 'Host name that agents use.'), ''),
    annotations: v.optional(
      v.pipe(
        v.record(v.string(), text(1024, 'Value of the annotation.')),
        v.description('Annotations of the Service in loadbalancer mode.'),
      ),
      {},
    ),
    sourceRanges: cidrs('Ranges that agents come from in loadbalancer mode; empty for all.'),
    edgePorts: v.optional(
      v.pipe(
        v.strictObject({
          events: port('Port of events; 0 until one is assigned.'),
          enrollment: port('Port of enrollment; 0 until one is assigned.'),
        }),
        v.description('The pair of ports in edge-haproxy mode; the service picks it.'),
      ),
      {},
    ),
    tls: v.optional(
      v.pipe(
        v.strictObject({
          issuerRef: v.optional(
            v.pipe(
              v.strictObject({
                name: v.optional(text(253, 'Name of the issuer; empty for none.'), ''),
                kind: v.optional(
                  v.pipe(v.picklist(['Issuer', 'ClusterIssuer']), v.description('Kind of the issuer.')),
                  'ClusterIssuer',
                ),
              }),
              v.description('The cert-manager issuer.'),
            ),
            {},
          ),
          secretName: v.optional(optionalSecretName('Secret with the certificate; empty for none.'), ''),
        }),
        v.description('The certificate.'),
      ),
      {},
    ),
  }),
  v.description('The way of agents to the manager.'),
)

const PodSecurity = v.pipe(
  v.strictObject({
    runAsUser: v.optional(integer(1, 4_294_967_295, 'User id.'), 10_001),
    runAsGroup: v.optional(integer(1, 4_294_967_295, 'Group id.'), 10_001),
    fsGroup: v.optional(integer(1, 4_294_967_295, 'Group of the mounted files.'), 10_001),
  }),
  v.description('Who our pods run as. The rest of their security context is fixed: restricted.'),
)

const checksum = (what: string) =>
  v.optional(matching(/^([0-9a-f]{64})?$/, 64, `Digest of the Secrets that ${what} reads at its start.`), '')

const SecretChecksums = v.pipe(
  v.strictObject({
    manager: checksum('the manager'),
    indexer: checksum('the indexer'),
    dashboard: checksum('the dashboard'),
    linuxep: checksum('the endpoint agent'),
  }),
  v.description('Another digest starts that part anew, and nothing else; empty for none.'),
)

/**
 * The values of the tenant chart, camelCase (S "Tenant configuration"). Unknown keys are refused everywhere; no key
 * holds secret material, only the names of Secrets. The chart's values.schema.json is written from this schema, so
 * that who renders and Helm agree.
 */
export const TenantValues = v.pipe(
  v.strictObject({
    nameOverride: v.optional(namespace('Name of the chart in names of objects; empty for its own.'), ''),
    fullnameOverride: v.optional(namespace('Beginning of the names of objects; empty for the release.'), ''),
    imagePullSecrets: v.optional(
      v.pipe(
        v.array(
          v.pipe(
            v.strictObject({ name: secretName('Name of the Secret.') }),
            v.description('A reference to a Secret.'),
          ),
        ),
        v.maxLength(8),
        v.description('Secrets that images are pulled with.'),
      ),
      [],
    ),
    tenant: Identity,
    branding: v.optional(Branding, {}),
    llm: v.optional(Llm, {}),
    integrations: v.optional(
      v.pipe(
        v.strictObject({
          externalCortexUrl: v.optional(address('Address of an external Cortex; empty when unused.'), ''),
        }),
        v.description('Systems outside that the tenant uses.'),
      ),
      {},
    ),
    components: v.optional(Components, {}),
    wazuh: v.optional(WazuhSubchart),
    linuxep: v.optional(Linuxep, {}),
    secretChecksums: v.optional(SecretChecksums, {}),
    networkPolicies: v.optional(NetworkPolicies, {}),
    resourceQuota: v.optional(ResourceQuota, {}),
    limitRange: v.optional(LimitRange, {}),
    wazuhIngress: v.optional(WazuhIngress, {}),
    adapter: Adapter,
    runsWorker: v.optional(RunsWorker, {}),
    namespaceLabels: v.optional(
      labels('Labels of the namespace. The operator sets them; here they only complete the picture.'),
      {},
    ),
    nodeSelector: v.optional(labels('Labels of the nodes that our pods run on.'), {}),
    podSecurity: v.optional(PodSecurity, {}),
  }),
  v.title('Values of the tenant chart'),
  v.description('What the operator renders into the stack of one tenant.'),
)
export type TenantValues = v.InferOutput<typeof TenantValues>
