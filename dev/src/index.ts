export { generateAlerts, loadAlerts, readAlertsFile } from './alerts/index.ts'
export { startEmbeddedCluster } from './cluster/embedded.ts'
export { connectApi, readKubeconfig } from './cluster/client.ts'
export { testCluster } from './cluster/testing.ts'
export { ensureTools } from './cluster/tools.ts'
export { createTestDatabase } from './postgres/testing.ts'
export { WHOLE_HISTORY } from './history.ts'
export {
  covers,
  isForEverybody,
  readGrants,
  singleGrants,
  type AuditEvent,
  type Grant,
} from './kind/audit/grants.ts'
export { guideBlocks, guideSection, runGuide, type GuidePlace } from './kind/guide.ts'
export { joinKindSystem } from './kind/join.ts'
export { networkManifest } from './kind/config.ts'
export { clusterTools } from './kind/kubectl.ts'
export { GUIDE_TENANT, NAMESPACE, RELEASE, type KindWorld } from './kind/layout.ts'
export { codeBlocks } from './markdown.ts'
export { startIndexer } from './indexer/index.ts'
export { readSystemConfig, type SystemConfig } from './system/config.ts'
export type { Connection } from './system/connection.ts'
export { RestError, signIn, signInAt, type RestSession } from './system/rest.ts'
export { startSystem, type System } from './system/system.ts'
export { startTemporarySystem, type TemporarySystem } from './system/temporary.ts'
export { waitUntil } from './wait-until.ts'
export { loadKindImages, readKindAuditLog } from './cluster/kind.ts'
export { buildImages, readImageConfig } from './images/build.ts'
export { docker, NO_DOCKER_EXIT, NoDocker } from './images/docker.ts'
