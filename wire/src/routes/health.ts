import { Live, Ready } from '../health.ts'
import { type Route, publicAccess } from './route.ts'

export const HEALTH_ROUTES = {
  'health.live': {
    method: 'GET',
    path: '/health/live',
    summary: 'The process lives',
    access: publicAccess,
    status: 200,
    response: Live,
  },
  'health.ready': {
    method: 'GET',
    path: '/health/ready',
    summary: 'The service can work; 503 with the same body when it cannot',
    access: publicAccess,
    status: 200,
    response: Ready,
    otherwise: 503,
  },
} as const satisfies Readonly<Record<string, Route>>
