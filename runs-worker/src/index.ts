export { parse, VARIABLES, type Config } from './config.ts'
export { startWorker, type Worker, type WorkerOptions } from './worker.ts'
export type { Release, RunHandler, RunHandlers } from './work.ts'
