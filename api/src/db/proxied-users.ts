import { SESSION } from '@service/domain'
import type { HostSlug, SignedInRow } from './credentials.ts'
import type { Database } from './database.ts'
import type { Tx } from './scope.ts'

/** The door to users for whom an identity proxy vouches (migration proxy). */

export type ProxiedUserRow = SignedInRow & { entered: boolean }

/** One prepared statement without a transaction around it. Undefined: nobody active at this host has the address. */
export async function findProxiedUser(
  db: Database,
  who: {
    readonly email: string
    readonly host: HostSlug
    readonly tenantId: string | null
    readonly tenantSlug: string | null
  },
): Promise<ProxiedUserRow | undefined> {
  const rows = await db.app<ProxiedUserRow[]>`
    select * from public.proxy_resolve(${who.email}, ${who.host}, ${who.tenantId}, ${who.tenantSlug}, ${SESSION.pinMs})`
  return rows[0]
}

/**
 * Whether the audit log tells of the user's work in the tenant in the last 30 minutes. Whoever asks the same at the same
 * time waits, so that one of them alone finds nothing and writes the row.
 */
export async function enteredLately(tx: Tx, userId: string, tenantId: string): Promise<boolean> {
  await tx.sql`select pg_advisory_xact_lock(hashtextextended(${`${userId} ${tenantId}`}, 712340005))`
  const rows = await tx.sql`
    select from audit_log
     where tenant_id = ${tenantId} and actor_id = ${userId} and action = 'tenant.assume'
       and timestamp > clock_timestamp() - ${SESSION.pinMs} * interval '1 millisecond'
     limit 1`
  return rows.length > 0
}
