import { BODY } from '@service/domain'
import {
  AdapterConfig,
  Checkpoint,
  CheckpointQuery,
  CheckpointUpdate,
  EventBatch,
  EventBatchResult,
  Heartbeat,
  HeartbeatAnswer,
} from '../adapter.ts'
import { type Route, adapter, noQuery } from './route.ts'

export const ADAPTER_ROUTES = {
  'adapter.health': {
    method: 'POST',
    path: '/api/internal/adapter/health',
    summary: 'Heartbeat of a tenant adapter',
    access: adapter,
    body: Heartbeat,
    status: 200,
    response: HeartbeatAnswer,
    problems: ['forbidden_target'],
  },
  'adapter.events': {
    method: 'POST',
    path: '/api/internal/adapter/events',
    summary: 'Store a batch of events, each answered by itself',
    access: adapter,
    body: EventBatch,
    bodyLimit: BODY.events,
    status: 200,
    response: EventBatchResult,
  },
  'adapter.config': {
    method: 'GET',
    path: '/api/internal/adapter/config',
    summary: 'How the adapter should work',
    access: adapter,
    query: noQuery,
    status: 200,
    response: AdapterConfig,
  },
  'adapter.checkpoint.get': {
    method: 'GET',
    path: '/api/internal/adapter/checkpoint',
    summary: 'How far the adapter has read',
    access: adapter,
    query: CheckpointQuery,
    status: 200,
    response: Checkpoint,
  },
  'adapter.checkpoint.put': {
    method: 'PUT',
    path: '/api/internal/adapter/checkpoint',
    summary: 'Move the checkpoint forward',
    access: adapter,
    body: CheckpointUpdate,
    status: 200,
    response: Checkpoint,
  },
} as const satisfies Readonly<Record<string, Route>>
