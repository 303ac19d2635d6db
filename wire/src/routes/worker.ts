import { RunClaim } from '../worker.ts'
import { type Route, worker } from './route.ts'

export const WORKER_ROUTES = {
  'worker.runs.claim': {
    method: 'POST',
    path: '/api/internal/worker/runs/claim',
    summary: 'Ask for the next run of the tenant; 204 when there is none',
    access: worker,
    body: RunClaim,
    status: 204,
    response: null,
  },
} as const satisfies Readonly<Record<string, Route>>
