import { randomUUID } from 'node:crypto'
import type { Role } from '@service/domain'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { connect } from '../../src/db/connection.ts'
import type { Sql } from '../../src/db/connection.ts'
import { createDatabase } from '../../src/db/database.ts'
import type { Database } from '../../src/db/database.ts'
import { createLoginLimiter, createPasswordHasher } from '../../src/identity/index.ts'
import type { PasswordHasher } from '../../src/identity/index.ts'
import { silent } from '../../src/log.ts'
import type { AuthContext, AuthHost, LoginInput } from '../../src/verbs/auth/index.ts'

export const PASSWORD = 'correct horse battery staple'
export const WRONG = 'correct horse battery stable'
export const MSSP: AuthHost = { kind: 'mssp' }

export type Bench = {
  readonly database: TestDatabase
  readonly db: Database
  readonly superuser: Sql
  readonly hasher: PasswordHasher
  /** A context of a fresh process: its own limiter, and a clock that tests move. */
  context(): AuthContext & { advance(ms: number): void }
  tenant(): Promise<{ readonly id: string; readonly slug: string; readonly host: AuthHost }>
  user(options?: UserOptions): Promise<{ readonly id: string; readonly email: string }>
  actions(userId: string): Promise<string[]>
  close(): Promise<void>
}
type UserOptions = {
  readonly tenantId?: string | null
  readonly role?: Role
  readonly active?: boolean
  readonly mustChange?: boolean
  /** Null: no credential. */
  readonly hash?: string | null
}

/** A database of its own with real hashes; `wrapHasher` lets a test watch or slow the hashing. */
export async function createBench(
  name: string,
  wrapHasher: (hasher: PasswordHasher) => PasswordHasher = (hasher) => hasher,
): Promise<Bench> {
  const database = await createTestDatabase(name)
  const db = createDatabase({ appUrl: database.urls.app, msspUrl: database.urls.mssp, max: 8, log: silent })
  const superuser = connect(database.superuserUrl, { max: 2, applicationName: 'test' })
  const real = createPasswordHasher()
  const stored = await real.hash(PASSWORD)
  const hasher = wrapHasher(real)
  return {
    database,
    db,
    superuser,
    hasher,
    context: () => {
      let offset = 0
      return {
        db,
        hasher,
        clock: () => new Date(Date.now() + offset),
        limiter: createLoginLimiter(),
        authMode: 'internal',
        emailHmacKey: new Uint8Array(32).fill(7),
        log: silent,
        advance: (ms) => {
          offset += ms
        },
      }
    },
    tenant: async () => {
      const id = randomUUID()
      const slug = `t${id.slice(0, 8)}`
      const row = {
        id,
        slug,
        display_name: 'T',
        profile: 'pilot',
        placement: 'cluster',
        state: 'active',
        config: '{}',
      }
      await superuser`insert into tenants ${superuser(row)}`
      return { id, slug, host: { kind: 'customer', slug } }
    },
    user: async ({ tenantId = null, role, active = true, mustChange = false, hash = stored } = {}) => {
      const id = randomUUID()
      const email = `${id}@example.test`
      const side = role ?? (tenantId === null ? 'mssp_admin' : 'tenant_admin')
      const row = { id, tenant_id: tenantId, email, display_name: 'U', role: side, active }
      await superuser`insert into users ${superuser(row)}`
      if (hash !== null)
        await superuser`
          insert into password_credentials (user_id, password_hash, must_change) values (${id}, ${hash}, ${mustChange})`
      return { id, email }
    },
    actions: async (userId) => {
      const rows = await superuser<{ what: string }[]>`
        select concat_ws(' ', action, details ->> 'reason') as what from audit_log where resource_id = ${userId} order by id`
      return rows.map((row) => row.what)
    },
    close: async () => {
      await Promise.all([db.close(), superuser.end({ timeout: 5 })])
      await database.drop()
    },
  }
}

export const attempt = (email: string, password: string, host: AuthHost = MSSP): LoginInput => ({
  email,
  password,
  ip: '127.0.0.1',
  userAgent: 'test',
  requestId: 'r-1',
  host,
})

/** The code of the ServiceError that an attempt fails with, or `ok`. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) =>
      error instanceof Error ? ((error as { code?: string }).code ?? error.message) : 'not an error',
  )
