import { runPod } from '@service/pod'
import { startAdapter } from './adapter.ts'
import { help, readConfig } from './config.ts'
import { VERSION } from './version.ts'

await runPod({
  name: 'adapter',
  version: VERSION,
  args: process.argv.slice(2),
  help,
  readConfig,
  start: (config, log) => startAdapter({ config, log, clock: () => new Date() }),
})
