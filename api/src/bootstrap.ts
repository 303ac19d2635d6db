import type { Clock, Principal } from '@service/domain'
import { writeAudit } from './db/audit.ts'
import { withConnection } from './db/connection.ts'
import type { TransactionSql } from './db/connection.ts'
import { newId } from './db/ids.ts'
import { transactionOf } from './db/scope.ts'
import { normalizeEmail } from './identity/email.ts'
import { createPasswordHasher } from './identity/hasher.ts'
import type { Log } from './log.ts'

const BOOTSTRAP: Principal = { kind: 'system', reason: 'bootstrap' }

type Init = {
  /** As `service_admin`: the init step's credentials, which the serving process does not have. */
  readonly adminUrl: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * The first administrator, while there is no MSSP user yet: only once, so that a restart never takes back what the
 * administrator has changed since. True when it was made now.
 */
export async function bootstrapAdmin(
  options: Init & { readonly email: string; readonly password: string; readonly mustChange: boolean },
): Promise<boolean> {
  const { clock, log, mustChange } = options
  const email = normalizeEmail(options.email)
  return withConnection(options.adminUrl, 'service-bootstrap', async (sql) => {
    if (!(await needsAdmin(sql))) return false
    const hash = await createPasswordHasher().hash(options.password)
    const id = newId(clock)
    const created = await sql.begin(async (tx) => {
      const rows = await tx<{ created: boolean }[]>`
        select public.bootstrap_admin(${id}, ${email}, 'Administrator', ${hash}, ${mustChange}, ${clock()}) as created`
      if (rows[0]?.created !== true) return false
      await auditAsSystem(tx, clock, {
        action: 'user.create',
        resourceType: 'user',
        resourceId: id,
        after: { email, role: 'platform_admin', must_change: mustChange },
      })
      return true
    })
    if (created) log.info({ user_id: id }, 'first administrator created')
    return created
  })
}

/** Saves the slow hash on every later start; the function decides again, under its lock. */
async function needsAdmin(sql: Parameters<Parameters<typeof withConnection>[2]>[0]): Promise<boolean> {
  return sql.begin(async (tx) => {
    await tx`set local role service_mssp`
    const rows = await tx<{ found: boolean }[]>`
      select exists (select from public.users where tenant_id is null) as found`
    return rows[0]?.found === false
  })
}

export type OrganizationOptions = Init & {
  readonly installId: string
  readonly msspId: string
  readonly msspName: string
  readonly installLabel: string
}

/** The install's own row (S Organization). Its ids never change; name and label follow the configuration. */
export async function bootstrapOrganization(options: OrganizationOptions): Promise<void> {
  const { clock, installId, msspId, msspName, installLabel } = options
  await withConnection(options.adminUrl, 'service-bootstrap', async (sql) => {
    await sql.begin(async (tx) => {
      await tx`lock table public.organization in share row exclusive mode`
      const rows = await tx<
        { install_id: string; mssp_id: string; mssp_name: string; install_label: string }[]
      >`
        select install_id, mssp_id, mssp_name, install_label from public.organization`
      const found = rows[0]
      if (found !== undefined && (found.install_id !== installId || found.mssp_id !== msspId))
        throw new Error('the database belongs to another install: install id and MSSP id must not change')
      if (found?.mssp_name === msspName && found.install_label === installLabel) return
      await tx`
        insert into public.organization (install_id, mssp_id, mssp_name, install_label)
        values (${installId}, ${msspId}, ${msspName}, ${installLabel})
        on conflict (install_id) do update
          set mssp_name = excluded.mssp_name, install_label = excluded.install_label, updated_at = now()`
      const names = { mssp_name: msspName, install_label: installLabel }
      await auditAsSystem(tx, clock, {
        action: 'system.bootstrap',
        resourceType: 'organization',
        resourceId: installId,
        before:
          found === undefined ? null : { mssp_name: found.mssp_name, install_label: found.install_label },
        after: names,
      })
    })
  })
}

type Row = Pick<
  Parameters<typeof writeAudit>[1],
  'action' | 'resourceType' | 'resourceId' | 'before' | 'after'
>

/** The owner is bound by the policies as well; rows of the install are written as the bypass role. */
async function auditAsSystem(tx: TransactionSql, clock: Clock, row: Row): Promise<void> {
  await tx`set local role service_mssp`
  await writeAudit(transactionOf(tx, 'mssp', clock), {
    ...row,
    principal: BOOTSTRAP,
    tenantId: null,
    requestId: null,
  })
  await tx`reset role`
}
