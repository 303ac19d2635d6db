import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import { pickScene } from './kinds.ts'

export type Alert = Readonly<Record<string, unknown>>

export type GenerateOptions = {
  readonly count: number
  readonly seed: number
  /** The newest alert is not later than this. */
  readonly until: Date
  /** How far back the oldest may be. */
  readonly minutes: number
}

/** A moment as Wazuh writes it. */
export const wazuhTime = (at: Date): string => at.toISOString().replace('Z', '+0000')

/**
 * Makes alerts in the shape of Wazuh's, oldest first. The same options give the same alerts, ids included.
 * Throws a RangeError for a count or a time that cannot be.
 */
export function generateAlerts({ count, seed, until, minutes }: GenerateOptions): Alert[] {
  if (!Number.isInteger(count) || count < 0)
    throw new RangeError('count must be a whole number, not negative')
  if (!(minutes > 0) || Number.isNaN(until.getTime()))
    throw new RangeError('minutes and until must be a time')
  const random = createRandom(seed)
  const moments = Array.from({ length: count }, () =>
    Math.round(until.getTime() - random.next() * minutes * 60_000),
  ).toSorted((left, right) => left - right)
  const fired = new Map<string, number>()
  let offset = random.whole(1_000, 900_000)
  return moments.map((moment) => {
    const { alert, length } = makeAlert(random, new Date(moment), offset, fired)
    offset += length
    return alert
  })
}

function makeAlert(random: Random, at: Date, offset: number, fired: Map<string, number>) {
  const { kind, scene } = pickScene(random, at)
  const finding = kind.find(scene)
  const firedtimes = (fired.get(kind.rule.id) ?? 0) + 1
  fired.set(kind.rule.id, firedtimes)
  const { id, name, ip } = scene.agent
  const alert: Alert = {
    timestamp: wazuhTime(at),
    rule: { ...kind.rule, firedtimes, mail: kind.rule.level >= 12 },
    agent: { id, name, ip },
    manager: { name: 'wazuh-manager' },
    // Wazuh numbers alerts by second and by their place in the manager's log.
    id: `${Math.floor(at.getTime() / 1_000)}.${offset}`,
    decoder: { name: kind.decoder },
    ...finding,
    location: kind.location,
  }
  return { alert, length: JSON.stringify(alert).length }
}
