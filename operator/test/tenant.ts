import type { Tenant } from '@service/crds'

/** A Tenant as the API writes it. */
export function tenantSpec(slug: string, change: Partial<Tenant['spec']> = {}): Tenant {
  return {
    apiVersion: 'service.dev/v1alpha1',
    kind: 'Tenant',
    metadata: { name: slug },
    spec: {
      tenantId: crypto.randomUUID(),
      revision: 1,
      desired: 'Run',
      retryToken: '0',
      secretsRevision: 1,
      placement: 'cluster',
      profile: 'pilot',
      displayName: `Customer ${slug}`,
      chart: { ref: '', version: '' },
      images: { adapter: '', runsWorker: '', linuxEp: '' },
      config: {
        msspId: '00000000-0000-4000-8000-000000000001',
        installId: '00000000-0000-4000-8000-000000000002',
        branding: { appName: '', logoUrl: '', favicon: '', primaryColor: '', secondaryColor: '' },
        llm: { provider: 'openai-compatible', baseUrl: '', model: '', keyVersion: '1' },
        integrations: { externalCortexUrl: '' },
        components: { linuxep: { enabled: false }, wazuh: { dashboard: { enabled: true } } },
        wazuhIngress: { mode: 'loadbalancer', hostname: '' },
        runsWorker: { concurrency: 1, drainSeconds: 60 },
        network: { allowedLlmHosts: [] },
        triage: { autoClose: false },
      },
      ...change,
    },
  }
}

/** What the operator recorded, one line an entry. */
export const story = (tenant: Tenant): string[] =>
  (tenant.status?.journal ?? []).map(({ kind, step, from, to }) =>
    [kind, step, from === undefined ? undefined : `${from} -> ${to}`].filter(Boolean).join(' '),
  )

/** The story of a tenant that nothing happens to. */
export const ONBOARDED = [
  'step.started namespace',
  'step.done namespace',
  'step.started secrets',
  'step.done secrets',
  'step.started release',
  'step.done release',
  'state.changed pending -> provisioning',
  'step.started workloads',
  'step.done workloads',
  'step.started heartbeat',
  'step.done heartbeat',
  'state.changed provisioning -> active',
]

export const conditionOf = (tenant: Tenant, type: string): string | undefined => {
  const found = tenant.status?.conditions?.find((condition) => condition.type === type)
  return found === undefined ? undefined : `${found.status} ${found.reason}`
}
