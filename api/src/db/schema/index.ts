export * from './events.ts'
export * from './identity.ts'
export * from './install.ts'
export * from './tenant.ts'
