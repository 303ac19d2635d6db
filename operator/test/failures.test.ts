import { spawn } from 'node:child_process'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { namespaceOf } from '@service/domain'
import type { Failpoint } from '@service/domain'
import { createKubeClient, DEPLOYMENTS, NAMESPACES } from '@service/kube'
import type { KubeObject, ResourceType } from '@service/kube'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limitedAccount } from '../../dev/src/testing/limited-account.ts'
import { baseEnv, CHART, eventually, INSTALL, readTenant, startTestBed, writeMaterial } from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { conditionOf, story, tenantSpec } from './tenant.ts'

const QUICK = { SERVICE_OPERATOR_LEASE_SECONDS: '3' }
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const QUOTAS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
}
const REFUSED_OBJECT = `apiVersion: v1
kind: Service
metadata: { name: refused }
spec: { ports: [{ port: 99999 }] }
`
const TELLTALE = `{{- $secret := lookup "v1" "Secret" .Release.Namespace "wazuh-credentials" }}
{{- fail (printf "found %v" $secret.data) }}
`
const ends = (tenant: Tenant): string[] =>
  story(tenant).filter((line) => /^(step.failed|rolled_back)/.test(line))

describe('an installation that is refused', () => {
  let bed: TestBed
  let ahead = 0
  const tenant = (slug: string) => readTenant(bed.kube, slug)
  const namespace = (slug: string) => bed.kube.get(NAMESPACES, { name: namespaceOf(slug) })
  const patchSpec = (slug: string, spec: object) => bed.kube.patch(TENANTS, { name: slug }, { spec })
  const create = async (slug: string, change: Partial<Tenant['spec']> = {}): Promise<void> => {
    const wanted = tenantSpec(slug, change)
    await writeMaterial(bed.kube, wanted)
    await bed.kube.create(TENANTS, wanted)
  }
  const chartWith = async (name: string, template: string): Promise<{ ref: string; file: string }> => {
    const ref = join(bed.directory, name)
    await cp(CHART, ref, { recursive: true })
    const file = join(ref, 'templates', 'addition.yaml')
    await writeFile(file, template)
    return { ref, file }
  }
  const phaseIs = (slug: string, phase: string, ms = 20_000) =>
    eventually(`${slug} is ${phase}`, async () => (await tenant(slug)).status?.phase === phase, ms)
  const rolledBack = (slug: string) =>
    eventually(
      `${slug} is rolled back`,
      async () =>
        story(await tenant(slug))
          .at(-1)
          ?.startsWith('rolled_back') === true,
      40_000,
    )

  beforeAll(async () => {
    bed = await startTestBed()
  })
  afterAll(() => bed.end())

  it('because of an object is told with what the server said, and repaired by a retry', async () => {
    const operator = await bed.startOperator()
    const { ref, file } = await chartWith('refused', REFUSED_OBJECT)
    await create('refused', { chart: { ref, version: '0.1.0' } })
    await rolledBack('refused')
    const failed = await tenant('refused')
    expect(failed.status?.failure).toMatchObject({ step: 'release', reason: 'InstallFailed' })
    expect(failed.status?.failure?.message).toMatch(/99999|Invalid/)
    expect(await namespace('refused')).toBeNull()
    await writeFile(file, '')
    await patchSpec('refused', { revision: 2, retryToken: '1' })
    await phaseIs('refused', 'provisioning')
    expect(ends(await tenant('refused'))).toEqual(['step.failed release', 'rolled_back release'])
    await operator.stop()
  })

  it('tells no secret, whatever a chart reads and says', async () => {
    const operator = await bed.startOperator()
    const { ref } = await chartWith('telltale', TELLTALE)
    await create('telltale', { chart: { ref, version: '0.1.0' } })
    await rolledBack('telltale')
    const text = JSON.stringify((await tenant('telltale')).status)
    expect(text).toContain('[secret]')
    for (const value of ['indexer_password-1', 'api_password-1']) {
      expect(text).not.toContain(value)
      expect(text).not.toContain(Buffer.from(value).toString('base64'))
    }
    await operator.stop()
  })

  it('is rolled back once, wherever the operator is killed on the way', async () => {
    const points: readonly Failpoint[] = [
      'operator.finalizer.added',
      'operator.status.written',
      'operator.release.helm_started',
      'operator.rollback.uninstalled',
      'operator.rollback.namespace_deleted',
    ]
    for (const [index, name] of points.entries()) {
      const slug = `killed-${index}`
      const { ref, file } = await chartWith(slug, REFUSED_OBJECT)
      const env = { ...baseEnv(bed.kubeconfigPath, bed.tools.helm), ...QUICK }
      // The fourth write of a status is the one that tells of the failure.
      const nth = name === 'operator.status.written' ? ':4' : ''
      const child = spawn(process.execPath, [MAIN], {
        env: { ...env, SERVICE_FAILPOINT: `${name}${nth}` },
        stdio: 'ignore',
      })
      const ended = new Promise<NodeJS.Signals | null>((resolve) =>
        child.once('exit', (_code, signal) => resolve(signal)),
      )
      await create(slug, { chart: { ref, version: '0.1.0' } })
      expect(await Promise.race([ended, sleep(25_000, 'still alive')]), name).toBe('SIGKILL')
      const operator = await bed.startOperator(QUICK)
      await rolledBack(slug)
      await writeFile(file, '')
      expect(ends(await tenant(slug)), name).toEqual(['step.failed release', 'rolled_back release'])
      expect(await namespace(slug)).toBeNull()
      await patchSpec(slug, { revision: 2, retryToken: '1' })
      await phaseIs(slug, 'provisioning')
      await operator.stop()
    }
  }, 240_000)

  it('is not one when a quota lets no pod be made: that is slow, and says why', async () => {
    const operator = await bed.startOperator({}, { clock: () => new Date(Date.now() + ahead) })
    await create('small')
    await eventually('its namespace', async () => (await namespace('small')) !== null)
    await bed.kube.create(QUOTAS, {
      metadata: { name: 'none', namespace: namespaceOf('small') },
      spec: { hard: { pods: '0' } },
    } as KubeObject)
    await phaseIs('small', 'provisioning')
    await eventually('the quota is told', async () =>
      JSON.stringify((await tenant('small')).status?.conditions).includes('exceeded quota'),
    )
    expect((await tenant('small')).status?.failure).toBeUndefined()
    ahead = 16 * 60_000
    await patchSpec('small', { revision: 2 })
    await phaseIs('small', 'degraded')
    const late = await tenant('small')
    expect(late.status?.failure).toMatchObject({ reason: 'TimedOut' })
    expect(late.status?.failure?.message).toContain('exceeded quota')
    expect((await bed.kube.list(DEPLOYMENTS, { namespace: namespaceOf('small') })).items).not.toEqual([])
    await operator.stop()
    ahead = 0
  })

  it('for want of rights is told and rolled back, and repaired by a retry when the rights are there', async () => {
    const rights = await accountOf(bed)
    const kube = createKubeClient({ kubeconfigPath: rights.kubeconfig, userAgent: 'operator-test' })
    await rights.grantAllBut('create namespaces')
    const operator = await bed.startOperator({ SERVICE_KUBECONFIG: rights.kubeconfig }, { kube })
    await create('powerless')
    await eventually('the failure is told', async () => {
      return conditionOf(await tenant('powerless'), 'NamespaceReady') === 'False ApiError'
    })
    await rolledBack('powerless')
    const failed = await tenant('powerless')
    expect(failed.status?.failure).toMatchObject({ step: 'namespace', reason: 'ApiError' })
    expect(failed.status?.failure?.message).toContain('forbidden')
    expect(conditionOf(failed, 'Stalled')).toBe('True ApiError')
    await rights.grantAllBut()
    await sleep(1_500)
    expect((await tenant('powerless')).status?.phase).toBe('pending')
    await patchSpec('powerless', { revision: 2, retryToken: '1' })
    await phaseIs('powerless', 'provisioning')
    await operator.stop()
    await kube.close()
  })

  it('is told when the operator may not even look, rolls nothing back, and passes by itself', async () => {
    const rights = await accountOf(bed)
    const kube = createKubeClient({ kubeconfigPath: rights.kubeconfig, userAgent: 'operator-test' })
    await rights.grantAllBut('secrets')
    const operator = await bed.startOperator({ SERVICE_KUBECONFIG: rights.kubeconfig }, { kube })
    await create('blind')
    await eventually(
      'it is told',
      async () => conditionOf(await tenant('blind'), 'Stalled') === 'True Refused',
    )
    const { failure } = (await tenant('blind')).status ?? {}
    expect(failure).toMatchObject({ step: 'namespace', reason: 'Refused', retryToken: '0' })
    expect(failure?.message).toMatch(/secrets.*forbidden/)
    await rights.grantAllBut()
    await phaseIs('blind', 'provisioning', 30_000)
    expect(conditionOf(await tenant('blind'), 'Stalled')).toBeUndefined()
    expect((await tenant('blind')).status?.failure).toBeUndefined()
    expect(ends(await tenant('blind'))).toEqual([])
    await operator.stop()
    await kube.close()
  })

  it('is not one when there is no helm: that is told, and passes by itself', async () => {
    const path = join(bed.directory, 'helm-to-come')
    const operator = await bed.startOperator({ SERVICE_HELM: path })
    await create('helmless')
    await eventually('it is told', async () =>
      /helm cannot be started/.test(JSON.stringify((await tenant('helmless')).status?.conditions)),
    )
    const waiting = await tenant('helmless')
    expect(waiting.status?.failure).toBeUndefined()
    expect(waiting.status?.steps?.find(({ step }) => step === 'release')?.message).toContain('helm cannot')
    await writeFile(path, `#!/bin/sh\nexec ${bed.tools.helm} "$@"\n`, { mode: 0o755 })
    await phaseIs('helmless', 'provisioning', 30_000)
    expect(ends(await tenant('helmless'))).toEqual([])
    await operator.stop()
  })
})

const accountOf = ({ kube, kubeconfigPath, tools, directory }: TestBed) =>
  limitedAccount({ kube, kubeconfigPath, kubectl: tools.kubectl, namespace: INSTALL, directory })
