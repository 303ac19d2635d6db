import { readIndexerConfig } from './config.ts'
import { startIndexer } from './index.ts'

try {
  const indexer = await startIndexer(readIndexerConfig())
  process.stdout.write(`the indexer listens at ${indexer.url}\n`)
  const stop = () => {
    indexer.stop().catch(() => undefined)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
