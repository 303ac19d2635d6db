import { AuditRecord, TenantAuditRecord } from '@service/wire'
import { type AuditContext, type AuditPage, listAudit, listTenantAudit } from '../../verbs/audit/list.ts'
import { exported } from '../export.ts'
import type { Answer, Client, Handlers } from '../types.ts'

export const auditHandlers = (ctx: AuditContext) =>
  ({
    'mssp.audit.list': async ({ principal, query, client }) => {
      const whole = client.format !== 'json'
      const page = await listAudit(ctx, { principal, query, whole })
      return asked(client, page, Object.keys(AuditRecord.entries))
    },
    'tenant.audit.list': async ({ principal, query, client }) => {
      const whole = client.format !== 'json'
      const page = await listTenantAudit(ctx, { principal, query, whole })
      return asked(client, page, Object.keys(TenantAuditRecord.entries))
    },
  }) satisfies Partial<Handlers>

/** The page itself, or its rows in the form that was asked for. */
function asked<T extends Readonly<Record<string, unknown>>>(
  { format, target }: Client,
  page: AuditPage<T>,
  fields: readonly string[],
): Answer<AuditPage<T>> {
  if (format === 'json') return { body: page }
  return exported({ format, fields, rows: page.items, nextCursor: page.next_cursor, target })
}
