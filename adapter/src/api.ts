import { createApiClient } from '@service/pod'
import type { ApiClientOptions } from '@service/pod'
import { AdapterConfig, Checkpoint, EventBatchResult, HeartbeatAnswer, ROUTES } from '@service/wire'
import type { CheckpointUpdate, Heartbeat } from '@service/wire'

/** The routes of the API that an adapter calls. Every method rejects with an ApiError. */
export type Api = {
  heartbeat: (beat: Heartbeat) => Promise<HeartbeatAnswer>
  /** `body` is an encoded EventBatch. */
  sendEvents: (body: string) => Promise<EventBatchResult>
  config: () => Promise<AdapterConfig>
  checkpoint: (source: string) => Promise<Checkpoint>
  moveCheckpoint: (update: CheckpointUpdate) => Promise<Checkpoint>
  close: () => void
}

export function createApi(options: ApiClientOptions): Api {
  const { call, close } = createApiClient(options)
  return {
    heartbeat: (beat) => call(ROUTES['adapter.health'], HeartbeatAnswer, { body: JSON.stringify(beat) }),
    sendEvents: (body) => call(ROUTES['adapter.events'], EventBatchResult, { body }),
    config: () => call(ROUTES['adapter.config'], AdapterConfig),
    checkpoint: (source) =>
      call(ROUTES['adapter.checkpoint.get'], Checkpoint, { query: `?source=${encodeURIComponent(source)}` }),
    moveCheckpoint: (update) =>
      call(ROUTES['adapter.checkpoint.put'], Checkpoint, { body: JSON.stringify(update) }),
    close,
  }
}
