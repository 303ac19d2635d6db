import { timestamp, uuid } from 'drizzle-orm/pg-core'

/** A moment with time zone, microseconds in the database, Date in code. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })
export const createdAt = () => moment('created_at').notNull().defaultNow()
export const updatedAt = () => moment('updated_at').notNull().defaultNow()
export const tenantId = () => uuid('tenant_id').notNull()
