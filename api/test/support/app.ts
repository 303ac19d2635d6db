import { createApi } from '../../src/api.ts'
import { type Environment, parseServeConfig } from '../../src/config/index.ts'
import { createContext } from '../../src/context.ts'
import { appListener, startHttpServer } from '../../src/http/server.ts'
import { silent } from '../../src/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { VERSION } from '../../src/version.ts'

/** The whole API as its environment says, in this process: no cluster, no jobs, no readiness. */
export async function startApp(env: Environment) {
  const config = parseServeConfig({ ...env, SERVICE_KUBECONFIG: 'off' })
  const context = createContext(config, silent)
  const app = createApi(context, {
    metrics: createMetrics(VERSION, config.authMode),
    ready: () => Promise.reject(new Error('nobody asks')),
    wake: () => undefined,
  })
  const { cookieSecure } = config
  const server = await startHttpServer(appListener(app, { cookieSecure, log: silent }), config.listen)
  return {
    port: server.address.port,
    stop: async () => {
      await server.stop(1_000)
      await context.close()
    },
  }
}
