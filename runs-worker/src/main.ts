import { runPod } from '@service/pod'
import { help, readConfig } from './config.ts'
import { VERSION } from './version.ts'
import { startWorker } from './worker.ts'

await runPod({
  name: 'runs worker',
  version: VERSION,
  args: process.argv.slice(2),
  help,
  readConfig,
  start: (config, log) => startWorker({ config, log, clock: () => new Date() }),
})
