import * as v from 'valibot'
import { INSTALL_SECRETS } from '@service/domain'
import { imageDigest, imageRepository } from '../../image.ts'
import { address, flag, integer, matching, text, uuid } from '../../kubernetes.ts'
import { labels, optionalSecretName, resources, secretKey } from '../parts.ts'
import { Auth, Ingress, NetworkPolicies, Oidc } from './access.ts'
import { Postgres } from './database.ts'
import {
  choice,
  extras,
  freeList,
  group,
  installSecret,
  optionalDnsLabel,
  optionalRepository,
  pinnedTag,
  placement,
  pullPolicy,
  pullSecrets,
  registry,
  textMap,
} from './parts.ts'

const Install = group(
  {
    msspId: uuid('Id of the MSSP. It never changes.'),
    msspName: v.optional(text(255, 'Name of the MSSP.'), 'MSSP'),
    installId: uuid('Id of this install. It never changes.'),
    installLabel: v.optional(text(255, 'Label of this install.'), 'service'),
  },
  'Whose install this is.',
)

const Image = group(
  {
    registry: v.optional(registry('Registry of the image; empty for that of the container runtime.'), ''),
    repository: v.optional(imageRepository('Repository.'), 'service/api'),
    tag: v.optional(pinnedTag('Tag; empty for the version of the application.'), ''),
    digest: v.optional(imageDigest('Digest, sha256:…; it wins over the tag.'), ''),
    pullPolicy: pullPolicy('When the image is pulled.'),
  },
  'The image of the API. Init steps, hooks and a separate operator run it, too.',
)

const credentials = { userKey: 'user', passwordKey: 'password' } as const
const named = (kind: keyof typeof INSTALL_SECRETS): string =>
  `Made as <release>-${INSTALL_SECRETS[kind].name}.`

const signingKey = (kind: 'jwtSigningKey' | 'adapterSigningKey', what: string) =>
  v.optional(
    group(
      {
        existingSecret: v.optional(
          optionalSecretName('Secret of yours; empty for the one that is made.'),
          '',
        ),
        key: v.optional(secretKey('Key in the Secret.'), 'key'),
        previousKey: v.optional(
          matching(
            /^[A-Za-z0-9._-]{0,253}$/,
            253,
            'Key of the former signing key, which is still accepted; empty for none.',
          ),
          '',
        ),
      },
      `${what} ${named(kind)}`,
    ),
    {},
  )

const Secrets = group(
  {
    generate: v.optional(
      flag('Whether a hook makes the Secrets that are absent. Without it each needs an existingSecret.'),
      true,
    ),
    postgresSuperuser: installSecret(
      credentials,
      `Superuser of the chart’s PostgreSQL, which makes the roles. ${named('postgresSuperuser')}`,
    ),
    postgresAdmin: installSecret(
      credentials,
      `Owner of the database, for migrations. ${named('postgresAdmin')}`,
    ),
    postgresApp: installSecret(credentials, `The API at work. ${named('postgresApp')}`),
    postgresMssp: installSecret(credentials, `The API across tenants. ${named('postgresMssp')}`),
    jwtSigningKey: signingKey('jwtSigningKey', 'Signs worker tokens.'),
    adapterSigningKey: signingKey('adapterSigningKey', 'Signs adapter tokens.'),
    bootstrapAdmin: installSecret(
      { emailKey: 'email', passwordKey: 'password' },
      `The first administrator. ${named('bootstrapAdmin')}`,
    ),
    llmApiKey: installSecret(
      { key: 'api_key' },
      `Key of the install’s default LLM provider; nothing uses it yet. ${named('llmApiKey')}`,
    ),
  },
  'Secrets of the install. No value of this chart holds one.',
)

const Api = group(
  {
    replicas: v.optional(integer(1, 20, 'Number of pods; above 1 with a disruption budget.'), 1),
    logLevel: v.optional(
      choice(['trace', 'debug', 'info', 'warn', 'error'], 'Least level that is logged.'),
      'info',
    ),
    heapMegabytes: v.optional(
      integer(
        64,
        65_536,
        'Heap of Node.js in MiB; the rest of the memory is for passwords’ hashes and helm.',
      ),
      512,
    ),
    service: v.optional(
      group(
        {
          type: v.optional(
            choice(['ClusterIP', 'NodePort', 'LoadBalancer'], 'Type of the Service.'),
            'ClusterIP',
          ),
          port: v.optional(integer(1, 65_535, 'Port of the Service.'), 8080),
          nodePort: v.optional(integer(0, 32_767, 'Port on the nodes; 0 for any.'), 0),
          annotations: textMap('Annotations of the Service.'),
        },
        'The Service of the API.',
      ),
      {},
    ),
    ...placement,
    ...extras,
  },
  'Pods of the API.',
)

const Orchestrator = group(
  {
    separate: v.optional(
      flag('Whether the operator has pods of its own instead of running in the API.'),
      false,
    ),
    replicas: v.optional(integer(1, 5, 'Number of its pods, of which one leads.'), 1),
    concurrency: v.optional(integer(1, 100, 'Tenants worked on at once.'), 10),
    adapterApiUrl: v.optional(address('Address of the API as adapters see it; empty for its Service.'), ''),
    indexerUrl: v.optional(
      address(
        'Address of a tenant’s indexer, with {slug} and {namespace}; empty for the one in its namespace.',
      ),
      '',
    ),
    tenantNodeSelector: v.optional(labels('Labels of the nodes that tenants’ pods run on.'), {}),
    ...placement,
    extraEnv: extras.extraEnv,
  },
  'The operator.',
)

const Defaults = group(
  {
    llm: v.optional(
      group(
        {
          provider: v.optional(text(64, 'Kind of provider.'), 'openai-compatible'),
          baseUrl: v.optional(address('Base address.'), ''),
          model: v.optional(text(255, 'Model name.'), ''),
        },
        'LLM of tenants that name none.',
      ),
      {},
    ),
  },
  'What tenants get that say nothing.',
)

const Resources = group(
  {
    // Ten helms at once take about 140Mi each.
    api: resources({
      requests: { cpu: '200m', memory: '512Mi' },
      limits: { cpu: '2', memory: '2560Mi' },
    }),
    orchestrator: resources({
      requests: { cpu: '100m', memory: '256Mi' },
      limits: { cpu: '2', memory: '2Gi' },
    }),
    postgres: resources({
      requests: { cpu: '250m', memory: '512Mi' },
      limits: { cpu: '2', memory: '2Gi' },
    }),
    init: resources({
      requests: { cpu: '50m', memory: '192Mi' },
      limits: { cpu: '1', memory: '384Mi' },
    }),
  },
  'Requests and limits: API, separate operator, PostgreSQL; init for init steps, hooks and tests.',
)

const TenantProvisioning = group(
  {
    tenantChartRef: v.optional(
      text(500, 'Chart of the tenants, an oci:// reference; empty for the one in the image.'),
      '',
    ),
    tenantChartVersion: v.optional(
      matching(/^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$/, 64, 'Its version.'),
      '0.1.0',
    ),
    adapterImageRepo: v.optional(
      optionalRepository('Adapter; empty for the repository of the tenant chart.'),
      '',
    ),
    adapterImageTag: v.optional(
      pinnedTag('Tag, tag@digest or @digest; empty for that of the tenant chart.'),
      '',
    ),
    runsWorkerImageRepo: v.optional(
      optionalRepository('Runs worker; empty for the repository of the tenant chart.'),
      '',
    ),
    runsWorkerImageTag: v.optional(
      pinnedTag('Tag, tag@digest or @digest; empty for that of the tenant chart.'),
      '',
    ),
    linuxEpImageTag: v.optional(pinnedTag('Endpoint agent; empty for the tag of the tenant chart.'), ''),
  },
  'What is pinned for all tenants. Changing it upgrades the whole fleet.',
)

const off = (what: string) =>
  v.optional(
    group(
      {
        enabled: v.optional(
          v.pipe(v.literal(false), v.description('Always false; this part does not exist yet.')),
          false,
        ),
      },
      what,
    ),
    {},
  )

const Monitoring = group(
  {
    serviceMonitor: v.optional(
      group(
        {
          enabled: v.optional(flag('Whether a ServiceMonitor is made, where the cluster knows them.'), false),
          interval: v.optional(matching(/^[0-9]+(ms|s|m)$/, 16, 'How often metrics are read.'), '30s'),
          labels: v.optional(labels('Labels that the Prometheus selects by.'), {}),
        },
        'For the Prometheus operator.',
      ),
      {},
    ),
    prometheusRule: v.optional(
      group(
        {
          enabled: v.optional(flag('Whether alerts are made, where the cluster knows them.'), false),
          labels: v.optional(labels('Labels that the Prometheus selects by.'), {}),
          runbookUrl: v.optional(
            address('Address of the runbook, which alerts link to; empty for no link.'),
            '',
          ),
        },
        'Alerts.',
      ),
      {},
    ),
  },
  'Metrics.',
)

/**
 * The values of the control-plane chart, camelCase (S "Control-plane chart values"). Unknown keys are refused; no key
 * holds secret material. The chart's values.schema.json is written from this schema.
 */
export const SystemValues = v.pipe(
  v.strictObject({
    global: v.optional(
      group(
        { imageRegistry: v.optional(registry('Registry of all images; image.registry wins.'), '') },
        'For a chart around this one.',
      ),
      {},
    ),
    nameOverride: v.optional(
      optionalDnsLabel('Name of the chart in names of objects; empty for its own.'),
      '',
    ),
    fullnameOverride: v.optional(
      optionalDnsLabel('Beginning of the names of objects; empty for the release.'),
      '',
    ),
    commonLabels: v.optional(labels('Labels of all objects.'), {}),
    commonAnnotations: textMap('Annotations of all objects.'),
    imagePullSecrets: pullSecrets,
    install: Install,
    image: v.optional(Image, {}),
    secrets: v.optional(Secrets, {}),
    api: v.optional(Api, {}),
    orchestrator: v.optional(Orchestrator, {}),
    postgres: v.optional(Postgres, {}),
    ingress: v.optional(Ingress, {}),
    auth: v.optional(Auth, {}),
    oidc: v.optional(Oidc, {}),
    defaults: v.optional(Defaults, {}),
    resources: v.optional(Resources, {}),
    tenantProvisioning: v.optional(TenantProvisioning, {}),
    admission: v.optional(
      group(
        {
          engine: v.optional(
            choice(
              ['vap', 'none'],
              'vap: ValidatingAdmissionPolicies hold the service account to its own namespaces. none: only RBAC does.',
            ),
            'vap',
          ),
        },
        'Admission.',
      ),
      {},
    ),
    networkPolicies: v.optional(NetworkPolicies, {}),
    crds: v.optional(
      group(
        {
          install: v.optional(flag('Whether the chart brings the definition of tenants.service.dev.'), true),
          keep: v.optional(
            flag('Whether it stays after an uninstall. Without it all tenants go, too.'),
            true,
          ),
        },
        'Custom resources.',
      ),
      {},
    ),
    monitoring: v.optional(Monitoring, {}),
    licensing: off('Licences.'),
    telemetry: off('Telemetry.'),
    extraObjects: freeList('Further objects of the release; templates in them are rendered.'),
  }),
  v.title('Values of the control-plane chart'),
  v.description('One install of the service.'),
)
export type SystemValues = v.InferOutput<typeof SystemValues>
