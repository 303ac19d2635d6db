export { ConfigError, parseOperatorConfig, readOperatorConfig, SETTINGS } from './config.ts'
export type { OperatorConfig } from './config.ts'
export { startOperator } from './start.ts'
export type { OperatorHandle, OperatorOptions } from './start.ts'
