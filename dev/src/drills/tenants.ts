import { parseArgs } from 'node:util'
import { drillTenants } from './tenants/run.ts'
import type { Nodes, TenantsFigures } from './tenants/run.ts'

/**
 * The scale drill: many tenants created at once by REST become active. Tells how long it takes and what the process of
 * API and operator, with its helm children, uses.
 */
const { values } = parseArgs({
  options: { tenants: { type: 'string', default: '10' }, nodes: { type: 'string', default: 'local' } },
})
const count = Number(values.tenants)
if (!Number.isInteger(count) || count < 1) throw new Error('--tenants wants a whole number from 1')
if (values.nodes !== 'local' && values.nodes !== 'simulated')
  throw new Error('--nodes wants local or simulated')

const figures = await drillTenants(count, values.nodes)
for (const line of report(figures, count, values.nodes)) console.log(line)
process.exitCode = figures.activeAfter.length === count ? 0 : 1

function report(figures: TenantsFigures, wanted: number, nodes: Nodes): string[] {
  const { activeAfter, inactive, acceptedAfter, usage, requests, heartbeats } = figures
  const median = activeAfter[Math.floor(activeAfter.length / 2)] ?? Number.NaN
  const last = activeAfter.at(-1) ?? Number.NaN
  const perTenant = (seconds: number) => `${seconds.toFixed(1)} s (${(seconds / wanted).toFixed(2)} a tenant)`
  return [
    `${wanted} tenants at once, pods on ${nodes} nodes: ${activeAfter.length} active`,
    ...inactive.map((each) => `  ${each}`),
    `accepted by REST after ${acceptedAfter.toFixed(1)} s, active after: median ${median.toFixed(1)} s, max ${last.toFixed(1)} s`,
    `API with operator: ${perTenant(usage.ownCpuSeconds)} CPU, at most ${usage.ownPeakMiB.toFixed(0)} MiB`,
    `its helm children: ${perTenant(usage.childCpuSeconds)} CPU, at most ${usage.childPeakMiB.toFixed(0)} MiB, ${usage.helmAtOnce} at once`,
    ...(heartbeats === null ? [] : [`heartbeats: ${heartbeats.taken} taken, ${heartbeats.refused} refused`]),
    'requests to the Kubernetes API:',
    ...[...requests]
      .map(([program, verbs]) => ({ program, verbs: [...verbs], total: total(verbs) }))
      .toSorted((a, b) => b.total - a.total)
      .map(
        ({ program, verbs, total: all }) =>
          `  ${program}: ${all} (${verbs.map(([verb, n]) => `${verb} ${n}`).join(', ')})`,
      ),
  ]
}

function total(verbs: ReadonlyMap<string, number>): number {
  return [...verbs.values()].reduce((sum, each) => sum + each, 0)
}
