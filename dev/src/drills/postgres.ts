import { parseArgs } from 'node:util'
import { kills, partitions, pipeline, refusals, resets, restarts, strays } from './postgres/cases.ts'
import type { Figures } from './postgres/bench.ts'
import { startDrillServer } from './postgres/server.ts'
import type { DrillServer } from './postgres/server.ts'

/**
 * The driver drill: does the patched database driver, as the service uses it, survive a server that is restarted,
 * backends that are killed, connections that are reset or fall silent? Each case ends with figures, all of which but the
 * acknowledged, the failed and the recovery time have to be 0.
 */
export type DrillFigures = Figures & { readonly uncaught: number }
type Case = (server: DrillServer) => Promise<Figures>

const FULL: readonly Case[] = [
  ...Array.from({ length: 3 }, (): Case => (server) => restarts(server, 10)),
  ...Array.from({ length: 3 }, (): Case => (server) => kills(server, 200)),
  (server) => resets(server, 200),
  (server) => refusals(server, 10_000),
  (server) => partitions(server, 10),
  (server) => pipeline(server, 60),
  (server) => strays(server, 30),
]
const SHORT: readonly Case[] = [
  (server) => restarts(server, 2),
  (server) => kills(server, 30),
  (server) => resets(server, 30),
  (server) => refusals(server, 1_000),
  (server) => partitions(server, 1),
  (server) => pipeline(server, 10),
  (server) => strays(server, 3),
]

/** Runs the cases one after the other on a server of their own. `report` hears of each when it is done. */
export async function drillPostgres(
  options: { short?: boolean; report?: (figures: DrillFigures) => void } = {},
): Promise<DrillFigures[]> {
  let uncaught = 0
  const onUncaught = (): void => void (uncaught += 1)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
  const server = await startDrillServer()
  const all: DrillFigures[] = []
  try {
    for (const each of options.short === true ? SHORT : FULL) {
      uncaught = 0
      const figures = await each(server)
      const done = { ...figures, uncaught }
      all.push(done)
      options.report?.(done)
    }
    return all
  } finally {
    await server.stop()
    process.off('uncaughtException', onUncaught)
    process.off('unhandledRejection', onUncaught)
  }
}

/** What must not happen, added up. */
export const faultsOf = (each: DrillFigures): number =>
  each.uncaught + each.unsettled + each.lost + each.torn + each.mixed + each.lostSlots

/** One line for people. */
export function lineOf(each: DrillFigures): string {
  const ms = each.recoveryMs.map(Math.round).toSorted((a, b) => a - b)
  const recovery = ms.length === 0 ? '-' : `${ms[0]}/${ms[ms.length >> 1]}/${ms.at(-1)} ms`
  return [
    `${each.name}: ${each.faults}`,
    `${each.acknowledged} acknowledged`,
    `${each.failed} failed`,
    `${each.uncaught} uncaught`,
    `${each.unsettled} unsettled`,
    `${each.lost} lost`,
    `${each.torn} torn`,
    `${each.mixed} mixed`,
    `${each.lostSlots} slots lost`,
    `recovery ${recovery}`,
  ].join(', ')
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false } } })
  const all = await drillPostgres({ short: values.short, report: (each) => console.log(lineOf(each)) })
  const failed = all.filter((each) => faultsOf(each) > 0).length
  console.log(failed === 0 ? `${all.length} cases held` : `${failed} of ${all.length} cases did not hold`)
  // What a failed case has left hanging must not keep the process alive.
  process.exit(failed === 0 ? 0 : 1)
}
