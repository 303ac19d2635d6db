/** Numbers of S "Limits" and of the decisions. Times in milliseconds, sizes in bytes, texts in Unicode code points. */
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const KIB = 1_024
const MIB = 1_024 * KIB

export const PASSWORD = { minLength: 12, maxLength: 1_024 } as const
export const LOCKOUT = { failures: 10, windowMs: 15 * MINUTE, lockedMs: 15 * MINUTE } as const
export const SESSION = {
  absoluteMs: 12 * HOUR,
  idleMs: 30 * MINUTE,
  touchIntervalMs: MINUTE,
  /** How long MSSP staff stay in a tenant that they have entered (decision 2.6). */
  pinMs: 30 * MINUTE,
} as const
/** Decision 2.3. */
export const LOGIN_LIMITER = { perIp: 100, perEmail: 30, windowMs: 15 * MINUTE, maxKeys: 10_000 } as const
export const PASSWORD_HASHING = { parallel: 2, queued: 32 } as const
/** Argon2id as S "Password policy" 1; memory in KiB. */
export const ARGON2 = {
  timeCost: 3,
  memoryCost: 65_536,
  parallelism: 4,
  hashLength: 32,
  saltLength: 16,
} as const

/** Decision 1.8. */
export const BODY = { json: 64 * KIB, message: 256 * KIB, events: 4 * MIB } as const
export const JSON_DEPTH = { body: 1_000, event: 32, heartbeatMetrics: 4 } as const
export const HEARTBEAT_METRICS_BYTES = 16 * KIB
/** Decision 1.5. */
export const PAGE = { default: 50, max: 200 } as const
/** Decision 1.7. A key whose request has not ended after `abandonedMs` is free again: requests end within seconds. */
export const IDEMPOTENCY = {
  /** Printable ASCII; spaces only inside, since headers lose the others. */
  key: /^[!-~]([ -~]{0,126}[!-~])?$/,
  keyLength: 128,
  keptMs: DAY,
  abandonedMs: 2 * MINUTE,
} as const
export const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Decision 5.2. */
export const EVENT_BATCH = { min: 1, max: 500 } as const
/** S "AdapterEvent" and decision 5.1. */
export const EVENT = {
  sourceEventId: 128,
  source: 32,
  ruleId: 64,
  decoder: 128,
  title: 255,
  description: 1_024,
  fullLog: 4_096,
  redactionVersion: 16,
  templateHash: 64,
  templateVersion: 16,
  severityMax: 15,
  entities: 64,
  ruleGroups: 16,
  assetIds: 64,
  assetId: 255,
  initialIocs: 64,
  entityValue: 512,
  entitySourceField: 128,
  mitre: 16,
  iocType: 32,
  iocValue: 2_048,
} as const
export const DEFAULT_EVENT_SOURCE = 'wazuh'

/** Decision 3.10: beyond this age `AdapterConnected` is False. */
export const HEARTBEAT = { staleMs: 150 * SECOND, defaultIntervalMs: 30 * SECOND, healthLength: 64 } as const
/** Decision 8.6: the API renews the Lease at most this often. */
export const ADAPTER_LEASE = { renewEveryMs: 30 * SECOND, durationSeconds: 150 } as const
/** Decision 2.11. */
export const SERVICE_TOKEN = { lifetimeMs: 8 * DAY, refreshMs: 7 * DAY, minKeyBytes: 32 } as const
/** Decision 3.8. */
export const RETIREMENT = { graceMs: 72 * HOUR, retentionMs: 30 * DAY } as const
/** Decision 3.6. */
export const EVIDENCE_BYTES = 4 * KIB
/** Decision 8.3. */
export const JOURNAL_ENTRIES = 64
/** Decision 5.3: what is read again for documents that arrive late. */
export const CHECKPOINT_OVERLAP_MS = 5 * MINUTE
