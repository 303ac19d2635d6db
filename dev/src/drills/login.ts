import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Connection } from '../system/connection.ts'
import { signIn } from '../system/rest.ts'
import { startTemporarySystem } from '../system/temporary.ts'

/**
 * The login drill, over HTTP against a whole system: does a failed login tell by time or code whether an account
 * exists, can parallel guesses pass the limit, and does hashing leave the rest of the API alone?
 */
const WRONG = 'this is not the password'
/** An account is locked after ten failures, an address refused after a hundred (decisions 2.2 and 2.3). */
const ACCOUNTS = 38
const GUESSES_EACH = 8
const PARALLEL = 200
const MEDIANS_WITHIN = 0.05
const HEALTH_P99_MS = 200
const VERIFIED_AT_MOST = 10

type Answer = { readonly status: number; readonly ms: number }
type Target = { readonly url: string; address(): string }

let addresses = 0
/** Each guess comes from an address of its own, so that only what belongs to the account counts. */
const nextAddress = (): string => {
  addresses += 1
  return `127.7.${addresses >> 8}.${addresses & 255}`
}

function ask(target: Target, path: string, body?: object): Promise<Answer> {
  const { hostname, port, origin } = new URL(target.url)
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        hostname,
        port,
        path,
        family: 4,
        localAddress: target.address(),
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: { origin, 'content-type': 'application/json' },
      },
      (answer) => {
        answer.resume()
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - began }))
        answer.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const guess = (target: Target, email: string): Promise<Answer> =>
  ask(target, '/api/auth/login', { email, password: WRONG })

/** Known and unknown accounts in turn, each as often, each first as often as the other. */
async function timing(target: Target, known: readonly string[]): Promise<boolean> {
  const unknown = known.map(() => `${crypto.randomUUID()}@example.test`)
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  const codes = new Set<number>()
  const one = async (kind: 'known' | 'unknown', email: string): Promise<void> => {
    const { status, ms } = await guess(target, email)
    codes.add(status)
    times[kind].push(ms)
  }
  for (let round = 0; round < GUESSES_EACH; round += 1)
    for (const [index, email] of known.entries()) {
      const pair = [() => one('known', email), () => one('unknown', unknown[index] ?? '')]
      for (const each of (round + index) % 2 === 0 ? pair : pair.toReversed()) await each()
    }
  const [a, b] = [quantile(times.known, 0.5), quantile(times.unknown, 0.5)]
  const apart = Math.abs(a - b) / Math.min(a, b)
  console.log(
    `${times.known.length} known, ${times.unknown.length} unknown: medians ${a.toFixed(1)} and ${b.toFixed(1)} ms, ` +
      `${(apart * 100).toFixed(1)} % apart; codes ${[...codes].join(' ')}`,
  )
  return apart <= MEDIANS_WITHIN && codes.size === 1 && codes.has(401)
}

/** Many guesses at once for one account: how many were answered by looking at the password? */
async function storm(target: Target, kind: string, email: string): Promise<boolean> {
  const answers = await Promise.all(Array.from({ length: PARALLEL }, () => guess(target, email)))
  const count = (status: number): number => answers.filter((each) => each.status === status).length
  const [verified, locked, limited] = [count(401), count(423), count(429)]
  console.log(
    `${PARALLEL} parallel guesses, ${kind}: ${verified} verified, ${locked} locked, ${limited} limited`,
  )
  return verified <= VERIFIED_AT_MOST && verified + locked + limited === PARALLEL
}

/** The probe's answers until `done` says so. */
async function probe(target: Target, done: (answers: number) => boolean): Promise<number> {
  const times: number[] = []
  while (!done(times.length)) {
    times.push((await ask(target, '/health/live')).ms)
    await sleep(5)
  }
  return quantile(times, 0.99)
}

/** The probe while nobody signs in, and while as many do as anyone may send. */
async function healthUnderLogins(target: Target): Promise<boolean> {
  const alone = await probe(target, (answers) => answers === 200)
  const logins = Promise.all(
    Array.from({ length: PARALLEL }, (_, n) => guess(target, `crowd-${n}@example.test`)),
  )
  let done = false
  void logins.then(() => (done = true))
  const p99 = await probe(target, () => done)
  const busy = (await logins).filter(({ status }) => status === 503).length
  console.log(
    `/health/live during ${PARALLEL} logins (${busy} refused as busy): p99 ${p99.toFixed(0)} ms; alone ${alone.toFixed(0)} ms`,
  )
  return p99 < HEALTH_P99_MS
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

async function makeUsers(connection: Connection, count: number): Promise<string[]> {
  const rest = await signIn(connection)
  const emails = Array.from({ length: count }, (_, n) => `drill-${n}@example.test`)
  for (const email of emails)
    await rest.call('POST', '/api/mssp/users', { email, display_name: 'Drill', role: 'analyst' })
  return emails
}

async function lockouts(connection: Connection): Promise<number> {
  const sql = postgres(connection.databases.mssp, { max: 1, fetch_types: false })
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from audit_log where action = 'auth.lockout.triggered'`
  await sql.end({ timeout: 5 })
  return row?.n ?? 0
}

async function drill(connection: Connection): Promise<boolean> {
  const target = { url: connection.mssp_url, address: nextAddress }
  const emails = await makeUsers(connection, ACCOUNTS + 1)
  const results = [
    await timing(target, emails.slice(1)),
    await storm(target, 'a known account', emails[0] ?? ''),
    await storm(target, 'an unknown one', 'nobody@example.test'),
    await healthUnderLogins(target),
  ]
  const locked = await lockouts(connection)
  console.log(`${locked} lockout in the audit log`)
  return results.every(Boolean) && locked === 1
}

async function main(): Promise<boolean> {
  const world = await startTemporarySystem('login')
  try {
    return await drill(world.system.connection())
  } finally {
    await world.end()
  }
}

const held = await main()
console.log(held ? 'all held' : 'something did not hold')
process.exit(held ? 0 : 1)
