export * from './tenant.ts'
