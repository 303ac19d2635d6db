export { startEmbeddedPostgres } from './embedded.ts'
export type { DatabaseUrls, EmbeddedPostgres, EmbeddedPostgresOptions, RolePasswords } from './embedded.ts'
