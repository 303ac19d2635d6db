import { ACTOR_PRINCIPALS } from '@service/domain'
import * as v from 'valibot'
import { page, pageQuery, repeatable } from './list.ts'
import { strictObject } from './object.ts'
import { instant, text, timestamp, uuid } from './text.ts'

const snapshot = v.nullable(v.record(v.string(), v.unknown()))

/** S "Audit record", its fields in order. */
export const AuditRecord = v.object({
  id: uuid,
  timestamp,
  tenant_id: v.nullable(uuid),
  actor_principal: v.picklist(ACTOR_PRINCIPALS),
  actor_id: v.string(),
  action: v.string(),
  resource_type: v.string(),
  resource_id: v.nullable(v.string()),
  before: snapshot,
  after: snapshot,
  acting_as: v.nullable(uuid),
  request_id: v.nullable(v.string()),
  details: snapshot,
})
export type AuditRecord = v.InferOutput<typeof AuditRecord>

/** As its tenant sees it: what MSSP staff did is marked (decision 6.1). */
export const TenantAuditRecord = v.object({ ...AuditRecord.entries, impersonation: v.boolean() })
export type TenantAuditRecord = v.InferOutput<typeof TenantAuditRecord>

const filters = {
  ...pageQuery,
  since: v.optional(instant),
  until: v.optional(instant),
  actor: repeatable(text(1, 128)),
  action: repeatable(text(1, 64)),
}

/** Decision 7. */
export const AuditQuery = strictObject({ ...filters, tenant: repeatable(uuid) })
export type AuditQuery = v.InferOutput<typeof AuditQuery>
export const TenantAuditQuery = strictObject(filters)
export type TenantAuditQuery = v.InferOutput<typeof TenantAuditQuery>

export const AuditList = page(AuditRecord)
export const TenantAuditList = page(TenantAuditRecord)
