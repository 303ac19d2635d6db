import { GROUP, KIND, PLURAL, SLUG, VERSION } from '@service/domain'
import type { JsonSchema } from './convert.ts'
import { TenantSpec } from './spec.ts'
import { TenantStatus } from './status.ts'
import { structuralSchema } from './structural.ts'

type PrinterColumn = {
  readonly name: string
  readonly type: 'string' | 'date'
  readonly jsonPath: string
  readonly description: string
  readonly priority?: 1
}

const conditionPath = (type: string, field: string): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`

/** Decision 8.5. */
const COLUMNS: readonly PrinterColumn[] = [
  { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'State of the tenant.' },
  {
    name: 'Ready',
    type: 'string',
    jsonPath: conditionPath('Ready', 'status'),
    description: 'Whether all that is wanted is true.',
  },
  {
    name: 'Chart',
    type: 'string',
    jsonPath: '.status.release.chartVersion',
    description: 'Version of the installed tenant chart.',
  },
  {
    name: 'Adapter',
    type: 'string',
    jsonPath: conditionPath('AdapterConnected', 'status'),
    description: 'Whether the heartbeats of the adapter come.',
  },
  {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: 'Time since the resource was created.',
  },
  {
    name: 'Namespace',
    type: 'string',
    jsonPath: '.status.namespace',
    description: 'Namespace of the tenant.',
    priority: 1,
  },
  {
    name: 'Reason',
    type: 'string',
    jsonPath: conditionPath('Ready', 'reason'),
    description: 'Why the tenant is ready or not.',
    priority: 1,
  },
  {
    name: 'Message',
    type: 'string',
    jsonPath: conditionPath('Ready', 'message'),
    description: 'The same for people.',
    priority: 1,
  },
]

/** The whole Tenant resource as the API server knows it. */
export const tenantSchema = (): JsonSchema => ({
  description:
    'A Tenant is one end customer: what the service wants of its stack (spec) and what is true of it (status).',
  type: 'object',
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: `Always ${GROUP}/${VERSION}.` },
    kind: { type: 'string', description: `Always ${KIND}.` },
    metadata: { type: 'object' },
    spec: structuralSchema(TenantSpec),
    status: structuralSchema(TenantStatus),
  },
  'x-kubernetes-validations': [
    {
      rule: `size(self.metadata.name) <= 40 && self.metadata.name.matches('${SLUG.source}')`,
      message:
        'metadata.name is the slug: 1 to 40 lower-case letters, digits and hyphens, beginning with a letter',
    },
    {
      rule: '!has(self.status) || !has(self.status.observedRevision) || self.status.observedRevision <= self.spec.revision',
      message: 'status.observedRevision cannot be above spec.revision',
    },
    {
      rule: "!has(self.status) || !has(self.status.namespace) || self.status.namespace == 'tenant-' + self.metadata.name",
      message: 'status.namespace is the namespace of this slug',
    },
  ],
})

/** The CustomResourceDefinition of decision 8, ready to be written as YAML or applied. */
export const tenantCrd = () => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${PLURAL}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Cluster',
    names: {
      kind: KIND,
      listKind: `${KIND}List`,
      plural: PLURAL,
      singular: 'tenant',
      shortNames: ['tn'],
      categories: ['service'],
    },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: COLUMNS,
        selectableFields: [{ jsonPath: '.spec.tenantId' }, { jsonPath: '.status.phase' }],
        schema: { openAPIV3Schema: tenantSchema() },
      },
    ],
  },
})
