import type * as fc from 'fast-check'
import * as v from 'valibot'
import { API_VERSION, TenantSpec, structuralSchema } from '../src/index.ts'
import type { Tenant } from '../src/index.ts'
import { admitted } from './arbitrary.ts'

export const TENANT_ID = '0198b5a0-0000-7000-8000-000000000001'
export const OTHER_ID = '0198b5a0-0000-7000-8000-000000000002'

/** What the API at least writes. */
export const minimalSpec = {
  tenantId: TENANT_ID,
  revision: 1,
  secretsRevision: 1,
  desired: 'Run',
  displayName: 'Acme',
  config: { msspId: OTHER_ID, installId: OTHER_ID },
}

export const tenant = (name: string, spec: unknown): Tenant => ({
  apiVersion: API_VERSION,
  kind: 'Tenant',
  metadata: { name },
  spec: v.parse(TenantSpec, spec),
})

/** Any spec that the API server takes for a new resource. */
export const anySpec: fc.Arbitrary<Record<string, unknown>> = admitted(structuralSchema(TenantSpec)).map(
  (value) => {
    const spec = value as Record<string, unknown> & { teardown?: { uid: string } }
    return spec.teardown === undefined
      ? spec
      : { ...spec, desired: 'Decommission', teardown: { ...spec.teardown, tenantId: spec.tenantId } }
  },
)
