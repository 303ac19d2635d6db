import { parseArgs } from 'node:util'
import { ensureTools } from '../cluster/tools.ts'
import { NO_DOCKER_EXIT, NoDocker } from '../images/docker.ts'
import { ensureUp, forgetSystem, recordSystem, takeDown } from './background.ts'
import { readSystemConfig } from './config.ts'
import type { SystemConfig } from './config.ts'
import { runDemo } from './demo.ts'
import type { Connection } from './connection.ts'
import { ensureInstalled, removeInstalled, stopInstalled } from './installed.ts'
import { describeSystem } from './summary.ts'
import { startSystem } from './system.ts'

const HELP = `Usage: node dev/src/system/main.ts <command>

  up      start the development system in the background and wait until it is ready
  down    stop exactly what "up" has started; the data stays
  demo    up, then onboard tenant acme and send alerts through its adapter
  reset   down, then remove the data
  tools   build the control plane and helm into the cache

Environment: CLUSTER=kind          install the images on a kind cluster instead (Docker, kind)
             ALERTS_FILE=<ndjson>  replay this file of Wazuh alerts in the demo
             ALERTS=<n>            how many alerts the demo makes (200)
             OPERATOR=separate     run the operator as a process of its own
             PROXY=1               run a second API in proxy mode beside the usual one
             SERVICE_DATA_DIR      where data is kept (a folder below /var/tmp)
             SERVICE_CACHE_DIR     where built tools are kept (a folder below ~/.cache)
`

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const print = (text: string): void => {
  process.stdout.write(text)
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  })
  const [command] = positionals
  if (values.help === true) {
    print(HELP)
    return 0
  }
  const config = readSystemConfig()
  switch (command) {
    case 'up':
      return up(config)
    case 'down':
      say((await stopAll(config)) ? 'The system is down; its data stays.' : 'Nothing was running.')
      return 0
    case 'demo':
      return demo(config)
    case 'reset':
      return reset(config)
    case 'tools':
      await ensureTools({ progress: say })
      return 0
    case 'serve':
      return serve(config)
    default:
      process.stderr.write(HELP)
      return 2
  }
}

/** The one that `CLUSTER` asks for. */
async function ensureSystem(config: SystemConfig): Promise<Connection> {
  if (config.cluster === 'kind') return ensureInstalled(config, say)
  return (await ensureUp(config, print)).connection
}

/** Whichever runs: what was started with another `CLUSTER` ends, too. */
async function stopAll(config: SystemConfig): Promise<boolean> {
  const stopped = [await takeDown(config), await stopInstalled(config)]
  return stopped.includes(true)
}

async function up(config: SystemConfig): Promise<number> {
  const connection = await interruptible(config, () => ensureSystem(config))
  say(describeSystem(connection))
  return 0
}

async function demo(config: SystemConfig): Promise<number> {
  const began = performance.now()
  await interruptible(config, async () => {
    const connection = await ensureSystem(config)
    await runDemo(config, connection, say)
    say(describeSystem(connection))
  })
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    say(`Done in ${seconds} s. The system runs on; "make down" stops it.`)
    return 0
  }
  say(`Done in ${seconds} s. Ctrl-C stops the system; to leave it running, use "make up" instead.`)
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
  await stopAll(config)
  return 0
}

/** Ctrl-C while the system starts stops what was started. */
async function interruptible<T>(config: SystemConfig, work: () => Promise<T>): Promise<T> {
  let stopping = false
  const interrupted = () => {
    stopping = true
    say('\nStopping…')
    stopAll(config).then(
      () => process.exit(130),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.once('SIGINT', interrupted)
  try {
    return await work()
  } catch (error) {
    // What was stopped under its feet has nothing to add; the process ends when all is down.
    if (stopping) await new Promise(() => undefined)
    throw error
  } finally {
    process.removeListener('SIGINT', interrupted)
  }
}

async function reset(config: SystemConfig): Promise<number> {
  const { rm } = await import('node:fs/promises')
  await takeDown(config)
  await removeInstalled(config)
  await rm(config.paths.dataDir, { recursive: true, force: true })
  say(`Removed ${config.paths.dataDir}.`)
  return 0
}

/** The supervisor itself: what runs in the background. */
async function serve(config: SystemConfig): Promise<number> {
  const ending = new AbortController()
  const ended = new Promise<void>((resolve) => ending.signal.addEventListener('abort', () => resolve()))
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ending.abort())
  const { localDir } = config.paths
  await recordSystem(localDir, [])
  try {
    const system = await startSystem(config, say, (records) => recordSystem(localDir, records), ending.signal)
    await ended
    await system.shutdown()
  } catch (error) {
    if (!ending.signal.aborted) throw error
  }
  await forgetSystem(localDir)
  return 0
}

main().then(
  // The supervisor in the background is a child that would keep this process waiting.
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof NoDocker ? NO_DOCKER_EXIT : 1)
  },
)
