import type { Clock } from '@service/domain'
import type { CheckStatus, Ready } from '@service/wire'

type CheckName = keyof Ready['checks']
/** `null` for a part that is switched off. */
export type Checks = { readonly [Name in CheckName]: (() => Promise<void>) | null }
export type ReadinessOptions = {
  readonly checks: Checks
  readonly authMode: 'internal' | 'proxy'
  readonly version: string
  readonly clock: Clock
}

const CHECK_MS = 3_000
/** Probes come from everywhere at once; one look a second is enough for all of them. */
const FRESH_MS = 1_000
const NEEDED: readonly CheckName[] = ['database', 'migrations', 'signing_keys']

/** An operator needs a moment to find its cluster again; a missed renewal of its lease is no outage either. */
const OPERATOR_GRACE_MS = 30_000

/** Decision 1.11: the cluster, and an operator that fails with it, do not make the API unready. */
export function createReadiness(options: ReadinessOptions): () => Promise<Ready> {
  let last: { readonly at: number; readonly result: Promise<Ready> } | undefined
  let operatorAloneSince: number | null = null

  async function look(now: number): Promise<Ready> {
    const checks = await inspect(options.checks)
    const alone = checks.operator === 'failing' && checks.cluster === 'ok'
    operatorAloneSince = alone ? (operatorAloneSince ?? now) : null
    const broken = operatorAloneSince !== null && now - operatorAloneSince >= OPERATOR_GRACE_MS
    const ok = NEEDED.every((name) => checks[name] === 'ok') && !broken
    return { ok, auth_mode: options.authMode, version: options.version, checks }
  }

  return () => {
    const now = options.clock().getTime()
    if (last === undefined || now - last.at >= FRESH_MS) last = { at: now, result: look(now) }
    return last.result
  }
}

async function inspect(checks: Checks): Promise<Ready['checks']> {
  const names = Object.keys(checks) as CheckName[]
  const found = await Promise.all(names.map(async (name) => [name, await statusOf(checks[name])] as const))
  return Object.fromEntries(found) as Ready['checks']
}

async function statusOf(check: (() => Promise<void>) | null): Promise<CheckStatus> {
  if (check === null) return 'off'
  const timer = Promise.withResolvers<'failing'>()
  const timeout = setTimeout(() => timer.resolve('failing'), CHECK_MS)
  const result = check().then(
    () => 'ok' as const,
    () => 'failing' as const,
  )
  const status = await Promise.race([result, timer.promise])
  clearTimeout(timeout)
  return status
}
