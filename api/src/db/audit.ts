import { actorOf } from '@service/domain'
import type { AuditAction, Principal } from '@service/domain'
import { newId } from './ids.ts'
import type { Tx } from './scope.ts'

export type AuditEntry = {
  readonly principal: Principal
  readonly action: AuditAction
  /** The tenant whose row it is; null for the install. */
  readonly tenantId: string | null
  readonly resourceType: string
  readonly resourceId: string | null
  /** Snapshots without secrets. */
  readonly before?: object | null
  readonly after?: object | null
  /** The tenant that MSSP staff act on. */
  readonly actingAs?: string | null
  readonly requestId: string | null
  readonly details?: object | null
}

/** Adds the row to the transaction of what it tells of: both are written, or neither is (decision 7). */
export async function writeAudit(tx: Tx, entry: AuditEntry): Promise<void> {
  const id = newId(tx.clock)
  const actor = actorOf(entry.principal)
  const [before, after, details] = [json(entry.before), json(entry.after), json(entry.details)]
  if (entry.tenantId === null && tx.role === 'app') {
    await tx.sql`
      select public.append_install_audit(${id}, now(), ${actor.principal}, ${actor.id}, ${entry.action},
        ${entry.resourceType}, ${entry.resourceId}, ${before}, ${after}, ${entry.requestId}, ${details})`
    return
  }
  await tx.sql`
    insert into public.audit_log (id, timestamp, tenant_id, actor_principal, actor_id, action, resource_type,
                                  resource_id, before, after, acting_as, request_id, details)
    values (${id}, now(), ${entry.tenantId}, ${actor.principal}, ${actor.id}, ${entry.action}, ${entry.resourceType},
            ${entry.resourceId}, ${before}, ${after}, ${entry.actingAs ?? null}, ${entry.requestId}, ${details})`
}

const json = (value: object | null | undefined): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value)

/** The row that says why code without a user crossed the tenants' borders. */
export function writeSystemEnter(tx: Tx, reason: string): Promise<void> {
  return writeAudit(tx, {
    principal: { kind: 'system', reason },
    action: 'system.enter',
    tenantId: null,
    resourceType: 'database',
    resourceId: null,
    requestId: null,
  })
}
