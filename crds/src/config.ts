import * as v from 'valibot'
import { address, atomicList, flag, integer, text, uuid } from './kubernetes.ts'

const Branding = v.pipe(
  v.object({
    appName: v.optional(text(255, 'Name that the customer portal shows; empty for the default.'), ''),
    logoUrl: v.optional(address('Address of the logo; empty for none.'), ''),
    favicon: v.optional(address('Address of the favicon; empty for none.'), ''),
    primaryColor: v.optional(text(16, 'Primary colour; empty for the default.'), ''),
    secondaryColor: v.optional(text(16, 'Secondary colour; empty for the default.'), ''),
  }),
  v.description('How the customer portal looks.'),
)

const Llm = v.pipe(
  v.object({
    provider: v.optional(text(64, 'Kind of LLM provider.'), 'openai-compatible'),
    baseUrl: v.optional(address('Base address of the LLM; empty when none is set.'), ''),
    model: v.optional(text(255, 'Model name; empty when none is set.'), ''),
    keyVersion: v.optional(
      text(64, 'Changes with each change of the key; what uses the key starts anew.'),
      '1',
    ),
  }),
  v.description('The LLM that triage uses. Its key is in a Secret and never here.'),
)

const Components = v.pipe(
  v.object({
    linuxep: v.optional(
      v.pipe(
        v.object({ enabled: v.optional(flag('Whether the endpoint agent is installed.'), false) }),
        v.description('The endpoint agent subchart.'),
      ),
      {},
    ),
    wazuh: v.optional(
      v.pipe(
        v.object({
          dashboard: v.optional(
            v.pipe(
              v.object({ enabled: v.optional(flag('Whether the Wazuh dashboard is installed.'), true) }),
              v.description('The Wazuh dashboard.'),
            ),
            {},
          ),
        }),
        v.description('The Wazuh subchart.'),
      ),
      {},
    ),
  }),
  v.description('The optional parts of the tenant stack.'),
)

const WazuhIngress = v.pipe(
  v.object({
    mode: v.optional(
      v.pipe(
        v.picklist(['loadbalancer', 'edge-haproxy']),
        v.description('How agents outside the cluster reach the manager.'),
      ),
      'loadbalancer',
    ),
    hostname: v.optional(text(253, 'Host name that agents use; empty when none is set.'), ''),
  }),
  v.description('The way of agents to the manager.'),
)

const RunsWorker = v.pipe(
  v.object({
    concurrency: v.optional(integer(1, 32, 'Investigations at once.'), 1),
    drainSeconds: v.optional(
      integer(0, 3600, 'Seconds that a stopping worker may finish in, when concurrency is above 1.'),
      60,
    ),
  }),
  v.description('The worker that runs AI-assisted triage.'),
)

const Network = v.pipe(
  v.object({
    allowedLlmHosts: v.optional(
      v.pipe(
        v.array(text(253, 'A host name.')),
        v.maxLength(32),
        atomicList(),
        v.description('Hosts that the runs worker may reach.'),
      ),
      [],
    ),
  }),
  v.description('What the tenant stack may reach.'),
)

/** `spec.config`: the part of a tenant's configuration that reaches its chart (decision 8.2). */
export const TenantConfig = v.pipe(
  v.object({
    msspId: uuid('Id of the MSSP that runs the install.'),
    installId: uuid('Id of the install.'),
    branding: v.optional(Branding, {}),
    llm: v.optional(Llm, {}),
    integrations: v.optional(
      v.pipe(
        v.object({
          externalCortexUrl: v.optional(address('Address of an external Cortex; empty when unused.'), ''),
        }),
        v.description('Systems outside that the tenant uses.'),
      ),
      {},
    ),
    components: v.optional(Components, {}),
    wazuhIngress: v.optional(WazuhIngress, {}),
    runsWorker: v.optional(RunsWorker, {}),
    network: v.optional(Network, {}),
    triage: v.optional(
      v.pipe(
        v.object({
          autoClose: v.optional(flag('Close high-confidence false positives without a case.'), false),
        }),
        v.description('Rules of triage.'),
      ),
      {},
    ),
  }),
  v.description('Tenant configuration. Holds no secret.'),
)
export type TenantConfig = v.InferOutput<typeof TenantConfig>
