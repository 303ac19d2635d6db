import { readLocalNodeConfig } from './config.ts'
import { startLocalNode } from './local-node.ts'

const log = (line: string): void => console.log(`${new Date().toISOString()} ${line}`)

try {
  const node = await startLocalNode({ ...(await readLocalNodeConfig()), log })
  node.registered.then(
    () => log(`node ${node.nodeName} is ready`),
    (error: unknown) => log(String(error)),
  )
  const ended = new Promise<NodeJS.Signals>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  log(`${await ended}: ending the pods`)
  await node.stop()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
