import { jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, updatedAt } from './columns.ts'

/** Install-scoped, no row-level security (S "Database resources scoped to the install"). One row. */
export const organization = pgTable('organization', {
  installId: uuid('install_id').primaryKey(),
  msspId: uuid('mssp_id').notNull(),
  msspName: text('mssp_name').notNull(),
  installLabel: text('install_label').notNull(),
  licenseJwt: text('license_jwt'),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
})

export const installSettings = pgTable('install_settings', {
  key: text('key').primaryKey(),
  value: jsonb('value').notNull(),
  updatedAt: updatedAt(),
})
