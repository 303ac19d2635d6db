import { defineConfig } from 'drizzle-kit'

/** Only for `drizzle-kit generate`: migrations are applied by src/db/migrate.ts. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/schema/index.ts',
  out: './src/db/migrations',
})
