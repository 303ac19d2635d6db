import * as v from 'valibot'
import { flag, matching, text } from '../../kubernetes.ts'
import { optionalSecretName } from '../parts.ts'
import { choice, cidrs, group, list, textMap } from './parts.ts'

const HOST = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$/
const WILDCARD_HOST = /^(\*(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+)?$/
const ORIGIN = '(https?:\\/\\/[a-z0-9.-]+(:[0-9]{1,5})?)'
const ORIGINS = new RegExp(`^(${ORIGIN}(,${ORIGIN})*)?$`)
const WILDCARD_ORIGIN = /^(https?:\/\/\*\.[a-z0-9.-]+(:[0-9]{1,5})?)?$/
const EMAIL = /^[^\s@,]+@[^\s@,]+$/
const HEADER = /^[A-Za-z0-9-]+$/

export const Ingress = group(
  {
    enabled: v.optional(flag('Whether an Ingress is made.'), false),
    className: v.optional(text(253, 'Ingress class; empty for the default one.'), ''),
    annotations: textMap(
      'Annotations of the Ingress. Event streams need long read timeouts and no buffering.',
    ),
    tls: v.optional(
      group(
        {
          enabled: v.optional(flag('Whether the hosts are served with TLS.'), true),
          secretName: v.optional(optionalSecretName('Secret with the certificate of both hosts.'), ''),
          issuerRef: v.optional(
            group(
              {
                name: v.optional(text(253, 'Name of the issuer; empty for none.'), ''),
                kind: v.optional(choice(['Issuer', 'ClusterIssuer'], 'Kind of the issuer.'), 'ClusterIssuer'),
              },
              'The cert-manager issuer that makes the certificate.',
            ),
            {},
          ),
        },
        'The certificate.',
      ),
      {},
    ),
    hostnames: v.optional(
      group(
        {
          mssp: v.optional(matching(HOST, 253, 'Host of the MSSP console. Needed unless overridden.'), ''),
          customer: v.optional(
            matching(
              WILDCARD_HOST,
              253,
              'Hosts of the customer portals, *.<domain>: the star is the slug. Needed unless overridden.',
            ),
            '',
          ),
        },
        'Hosts. They say which origins the API accepts, also without an Ingress.',
      ),
      {},
    ),
  },
  'How the API is reached from outside.',
)

export const Auth = group(
  {
    mode: v.optional(
      choice(['internal', 'proxy'], 'Who signs users in: the service, or an identity proxy before it.'),
      'internal',
    ),
    cookieSecure: v.optional(
      flag('True for TLS; false for development without it. Also tells the scheme of the hosts.'),
      true,
    ),
    publicOriginOverride: v.optional(
      matching(
        ORIGINS,
        1000,
        'Origins of the MSSP console instead of the one of its host, separated by commas; the first is canonical.',
      ),
      '',
    ),
    publicCustomerOriginOverride: v.optional(
      matching(WILDCARD_ORIGIN, 300, 'Origin pattern of the portals instead of the one of their hosts.'),
      '',
    ),
    bootstrapAdminEmail: v.optional(
      matching(EMAIL, 254, 'E-mail address of the first administrator.'),
      'admin@example.com',
    ),
  },
  'Signing in.',
)

const header = (name: string, what: string) => v.optional(matching(HEADER, 128, what), name)

export const Oidc = group(
  {
    trustedHeaderUser: header(
      'X-Forwarded-User',
      'Header with the user; it counts without the e-mail header, and is the e-mail address then.',
    ),
    trustedHeaderEmail: header(
      'X-Forwarded-Email',
      'Header with the e-mail address of a user of the service.',
    ),
    trustedHeaderGroups: header(
      'X-Forwarded-Groups',
      'Header with the groups. Roles are those of the service.',
    ),
    trustedProxyCIDRs: cidrs(
      'Addresses of the identity proxy as the API sees them; nobody else may send the headers, and empty trusts nobody.',
    ),
  },
  'Identity headers, for auth.mode proxy.',
)

export const NetworkPolicies = group(
  {
    enabled: v.optional(
      flag('Whether all traffic of the chart’s pods is denied that no policy allows.'),
      true,
    ),
    dnsNamespace: v.optional(text(63, 'Namespace of the cluster DNS; empty for no rule.'), 'kube-system'),
    apiNamespaces: list(
      text(63, 'A namespace.'),
      64,
      'Namespaces that may reach the API besides tenants, such as that of the ingress controller; empty for any source.',
    ),
    metricsNamespaces: v.optional(
      v.pipe(
        v.array(text(63, 'A namespace.')),
        v.maxLength(64),
        v.description('Namespaces that may read metrics.'),
      ),
      ['monitoring'],
    ),
    apiServerCidrs: cidrs('Addresses of the Kubernetes API; empty for any on ports 443 and 6443.'),
    databaseCidrs: cidrs('Addresses of an external database; empty for any on its port.'),
    tenantLlmCidrs: cidrs(
      'Addresses at which tenants’ runs workers find LLMs that have a host name, on the port of each; empty for none: policies know no names.',
    ),
    tenantIndexerCidrs: cidrs(
      'Addresses of indexers outside of tenants’ namespaces, when orchestrator.indexerUrl names a host.',
    ),
  },
  'Network policies.',
)
