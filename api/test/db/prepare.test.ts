import { createTestDatabase } from '@service/dev'
import { pino } from 'pino'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { parseMigrateConfig } from '../../src/config/index.ts'
import { prepareDatabase } from '../../src/prepare.ts'

const ID = '0197a000-0000-7000-8000-000000000001'

/** The address without who enters it, and both halves of that: as a chart hands them over. */
function parts(role: string, text: string, database: string): Record<string, string> {
  const url = new URL(text)
  const { username, password } = url
  Object.assign(url, { username: '', password: '', pathname: `/${database}` })
  return {
    [`SERVICE_DATABASE_${role}_URL`]: url.href,
    [`SERVICE_DATABASE_${role}_USER`]: decodeURIComponent(username),
    [`SERVICE_DATABASE_${role}_PASSWORD`]: decodeURIComponent(password),
  }
}

test('makes the database, its roles and the first administrator from nothing, and may do so twice', async () => {
  const existing = await createTestDatabase('prepare')
  const database = `prepare_${crypto.randomUUID().slice(0, 8)}`
  const superuser = postgres(existing.superuserUrl, { max: 1, onnotice: () => undefined })
  try {
    const { urls, superuserUrl } = existing
    const config = parseMigrateConfig({
      ...parts('ADMIN', urls.admin, database),
      ...parts('APP', urls.app, database),
      ...parts('MSSP', urls.mssp, database),
      ...parts('SUPERUSER', superuserUrl, new URL(superuserUrl).pathname.slice(1)),
      SERVICE_MSSP_ID: ID,
      SERVICE_INSTALL_ID: ID,
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: 'first@b.example',
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: 'x'.repeat(12),
    })
    const log = pino({ level: 'silent' })
    await prepareDatabase(config, log)
    await prepareDatabase(config, log)
    const mssp = new URL(urls.mssp)
    mssp.pathname = `/${database}`
    const sql = postgres(mssp.href, { max: 1 })
    try {
      expect(await sql`select email, role from users`).toEqual([
        { email: 'first@b.example', role: 'platform_admin' },
      ])
    } finally {
      await sql.end()
    }
  } finally {
    await superuser`drop database if exists ${superuser(database)} with (force)`
    await superuser.end()
    await existing.drop()
  }
})
