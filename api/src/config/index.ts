export * from './config.ts'
export { helpText } from './help.ts'
export type { CustomerOrigins, Listen } from './parsers.ts'
export { ConfigError, type Environment, type ReadFile } from './reader.ts'
