export { ApiError, createApiClient, reasonOf, retryAfterMs } from './api-client.ts'
export type { ApiClient, ApiClientOptions, ApiFailure } from './api-client.ts'
export {
  anUrl,
  API_VARIABLES,
  ConfigError,
  helpText,
  LOG_LEVELS,
  matching,
  POD_VARIABLES,
  readEnvironment,
  readPodConfig,
  wholeNumber,
} from './environment.ts'
export type { Environment, LogLevel, PodConfig, Reader, Variables } from './environment.ts'
export { optionalFile, rotatingFile } from './files.ts'
export type { RotatingFile } from './files.ts'
export { startHealthServer } from './health-server.ts'
export type { HealthServer, HealthState } from './health-server.ts'
export { backoffMs, createRetry, pause, RETRY_TIMES } from './retry.ts'
export type { Retrying, RetryTimes } from './retry.ts'
export { runPod } from './run.ts'
export type { Workload } from './run.ts'
