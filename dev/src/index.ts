export { generateAlerts, loadAlerts, readAlertsFile } from './alerts/index.ts'
export { startEmbeddedCluster } from './cluster/embedded.ts'
export { connectApi, readKubeconfig } from './cluster/client.ts'
export { testCluster } from './cluster/testing.ts'
export { ensureTools } from './cluster/tools.ts'
export { createTestDatabase } from './postgres/testing.ts'
export { WHOLE_HISTORY } from './history.ts'
export { startIndexer } from './indexer/index.ts'
export { readSystemConfig, type SystemConfig } from './system/config.ts'
export type { Connection } from './system/connection.ts'
export { RestError, signIn, type RestSession } from './system/rest.ts'
export { startSystem, type System } from './system/system.ts'
export { startTemporarySystem, type TemporarySystem } from './system/temporary.ts'
export { waitUntil } from './wait-until.ts'
export {
  createKindCluster,
  deleteKindCluster,
  exportKindLogs,
  loadKindImages,
  readKindAuditLog,
  type KindCluster,
} from './cluster/kind.ts'
export { buildContext, buildImages, defaultBase, readImageConfig } from './images/build.ts'
export { bundle } from './images/bundle.ts'
export { copyMissingLibraries } from './images/libraries.ts'
export { docker, NO_DOCKER_EXIT, NoDocker } from './images/docker.ts'
export { findBinaries } from './postgres/binaries.ts'
export { serverUser } from './postgres/system-user.ts'
