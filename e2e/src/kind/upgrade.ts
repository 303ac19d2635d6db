import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { docker, guideSection, loadKindImages, NAMESPACE, RELEASE, runGuide } from '@service/dev'
import type { KindWorld } from '@service/dev'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, until, type World } from '../harness.ts'
import { readWorld, secretsOf, tenantPods } from './live.ts'

const CHARTS = resolve(import.meta.dirname, '../../../charts')
const NEXT = '0.2.0'
/** In which an operator that wants to change tenants has begun. */
const SETTLED_MS = 10_000

/** The next version as its checkout would have it, with an image of its own; nothing but the version differs. */
async function publishNext({ cluster, guide }: KindWorld): Promise<void> {
  const charts = join(guide.directory, 'charts')
  await rm(charts, { recursive: true })
  await cp(CHARTS, charts, { recursive: true })
  const file = join(charts, 'service-system/Chart.yaml')
  const chart = await readFile(file, 'utf8')
  const next = chart
    .replace(/^version: .*$/m, `version: ${NEXT}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${NEXT}"`)
  await writeFile(file, next)
  const image = `service/api:${NEXT}`
  await docker('tag', `service/api:${/^appVersion: "(.*)"$/m.exec(chart)?.[1]}`, image)
  await loadKindImages(cluster, [image])
  await docker('rmi', image)
}

export function upgrading(): void {
  describe('an upgrade to the next version of the chart', () => {
    let world: World
    let kind: KindWorld
    beforeAll(async () => {
      kind = await readWorld()
      world = await startWorld({ separateOperator: false })
    })
    afterAll(() => world?.end())

    const leader = () =>
      world.kubectl(
        'get',
        'lease',
        'service-operator',
        '-n',
        NAMESPACE,
        '-o',
        'jsonpath={.spec.holderIdentity}',
      )
    const releases = () => {
      const each =
        '{.metadata.name} {.status.phase} {.status.release.revision} {.status.release.chartVersion}{"\\n"}'
      return world.kubectl('get', 'tenants.service.dev', '-o', `jsonpath={range .items[*]}${each}{end}`)
    }

    it('replaces the API and its operator, and touches neither pods of tenants nor Secrets', async () => {
      const pods = await tenantPods(world)
      const secrets = await secretsOf(world)
      const before = await releases()
      const [led, replaced] = [await leader(), `${RELEASE}-api`]
      await publishNext(kind)
      await runGuide(kind.guide, await guideSection('Upgrade'), console.log)
      const columns = 'jsonpath={.metadata.labels.helm\\.sh/chart} {.spec.template.spec.containers[0].image}'
      const deployed = await world.kubectl('get', 'deployment', replaced, '-n', NAMESPACE, '-o', columns)
      expect(deployed).toBe(`service-system-${NEXT} service/api:${NEXT}`)
      await until('an operator of the next version to lead', async () => (await leader()) !== led)
      await new Promise((resolve_) => setTimeout(resolve_, SETTLED_MS))
      expect(pods.length).toBeGreaterThan(1)
      expect(await tenantPods(world)).toEqual(pods)
      expect(Object.keys(secrets).length).toBeGreaterThan(10)
      expect(await secretsOf(world)).toEqual(secrets)
      expect(await releases()).toEqual(before)
    })
  })
}
