export * from './namespace.ts'
export * from './values.ts'
