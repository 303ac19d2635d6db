import { timestamp } from '@service/domain'
import type { AuditRecord, TenantAuditRecord } from '@service/wire'
import type { auditLog } from '../../db/schema/index.ts'

export type AuditRow = typeof auditLog.$inferSelect

export const auditRecord = (row: AuditRow): AuditRecord => ({
  id: row.id,
  timestamp: timestamp(row.timestamp),
  tenant_id: row.tenantId,
  actor_principal: row.actorPrincipal,
  actor_id: row.actorId,
  action: row.action,
  resource_type: row.resourceType,
  resource_id: row.resourceId,
  before: row.before,
  after: row.after,
  acting_as: row.actingAs,
  request_id: row.requestId,
  details: row.details,
})

/** `acting_as` stands in the rows of MSSP staff alone. */
export const tenantAuditRecord = (row: AuditRow): TenantAuditRecord => ({
  ...auditRecord(row),
  impersonation: row.actingAs !== null,
})
