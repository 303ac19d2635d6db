export * from './checksums.ts'
export * from './namespace.ts'
export * from './values.ts'
