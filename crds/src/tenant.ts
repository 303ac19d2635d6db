import { GROUP, KIND, PLURAL, SLUG, VERSION } from '@service/domain'
import type { TenantSpec } from './spec.ts'
import type { TenantStatus } from './status.ts'

/** `apiVersion` of the Tenant resource (decision 8.1). */
export const API_VERSION = `${GROUP}/${VERSION}`

/** The Tenant resource; `metadata.name` is the slug, the resource is cluster-scoped (decision 8.1). */
export type Tenant = {
  readonly apiVersion: typeof API_VERSION
  readonly kind: typeof KIND
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly generation?: number
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: TenantSpec
  readonly status?: TenantStatus
}

/** `metadata.name` of a Tenant. */
export const TENANT_NAME = SLUG

/** How the cluster port addresses Tenants; a structural match of its ResourceType. */
export const TENANTS = { apiVersion: API_VERSION, kind: KIND, plural: PLURAL, namespaced: false } as const

/** On the material Secret: the `spec.secretsRevision` that it satisfies (decision 8.8). */
export const SECRETS_REVISION_ANNOTATION = 'service.dev/secrets-revision'
