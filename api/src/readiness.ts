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

/** Decision 1.11: the cluster, and an operator that fails with it, do not make the API unready. */
export function createReadiness(options: ReadinessOptions): () => Promise<Ready> {
  let last: { readonly at: number; readonly result: Promise<Ready> } | undefined
  return () => {
    const now = options.clock().getTime()
    if (last === undefined || now - last.at >= FRESH_MS) last = { at: now, result: look(options) }
    return last.result
  }
}

async function look({ checks, authMode, version }: ReadinessOptions): Promise<Ready> {
  const names = Object.keys(checks) as CheckName[]
  const found = await Promise.all(names.map(async (name) => [name, await statusOf(checks[name])] as const))
  const results = Object.fromEntries(found) as Ready['checks']
  const operatorAlone = results.operator === 'failing' && results.cluster === 'ok'
  const ok = NEEDED.every((name) => results[name] === 'ok') && !operatorAlone
  return { ok, auth_mode: authMode, version, checks: results }
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
