import { spawnSync } from 'node:child_process'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TenantSpec } from '../src/index.ts'
import { readCrdFile, serveCrd } from './crd-server.ts'
import type { ServedCrd } from './crd-server.ts'
import { OTHER_ID, TENANT_ID, anySpec, minimalSpec } from './samples.ts'

const config = (part: object) => ({ config: { ...minimalSpec.config, ...part } })
const teardown = { tenantId: TENANT_ID, uid: 'some-uid', force: false }
const decommission = { desired: 'Decommission', revision: 2 }

describe('the definition of the Tenant resource', () => {
  let served: ServedCrd
  beforeAll(async () => {
    served = await serveCrd()
  })
  afterAll(() => served.end())

  it('is accepted under its own name', async () => {
    const crd = await readCrdFile()
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await expect(
      served.api.call('PATCH', `${path}/${crd.metadata.name}?dryRun=All&fieldManager=crd-test&force=true`, {
        body: crd,
        patch: 'apply',
      }),
    ).resolves.toMatchObject({ metadata: { name: 'tenants.service.dev' } })
  })

  it('gives the defaults that the schema in code gives', async () => {
    const { spec } = await served.create(minimalSpec)
    expect(spec).toEqual(v.parse(TenantSpec, minimalSpec))
  })

  it('admits every spec that the schema describes', async () => {
    await fc.assert(
      fc.asyncProperty(anySpec, async (spec) => {
        await served.create(spec, { query: '?dryRun=All' })
      }),
      { numRuns: 60 },
    )
  })

  describe('takes a new Tenant', () => {
    it.each<[string, object, string?]>([
      ['with what is required', {}],
      ['with a slug of one letter', {}, 'a'],
      ['with a slug of 40 characters', {}, `a${'-b'.repeat(19)}c`],
      ['with a name of 255 characters outside the first plane', { displayName: '🛡'.repeat(255) }],
      ['with an order of teardown', { ...decommission, teardown }],
      ['with an image that only names a tag', { images: { adapter: ':1.2.3' } }],
      ['with an image of a registry with a port', { images: { adapter: 'localhost:5000/a/b:1' } }],
    ])('%s', async (_, part, name) => {
      await expect(
        served.create({ ...minimalSpec, ...part }, { query: '?dryRun=All', ...(name ? { name } : {}) }),
      ).resolves.toHaveProperty('metadata.uid')
    })
  })

  describe('refuses a new Tenant', () => {
    it.each<[string, object, RegExp, string?]>([
      ['whose name is no slug: too long', {}, /metadata.name is the slug/, 'a'.repeat(41)],
      ['whose name is no slug: a digit first', {}, /metadata.name is the slug/, '1a'],
      ['whose name is no slug: a dot', {}, /metadata.name is the slug/, 'a.b'],
      ['without tenantId', { tenantId: undefined }, /spec.tenantId: Required/],
      [
        'with a tenantId in upper case',
        { tenantId: TENANT_ID.replace('b', 'B') },
        /spec.tenantId.*should match/,
      ],
      ['with revision 0', { revision: 0 }, /spec.revision.*greater than or equal to 1/],
      ['with half a revision', { revision: 1.5 }, /spec.revision.*integer/],
      ['with a revision that no double holds', { revision: 2 ** 53 }, /spec.revision.*less than or equal/],
      ['with an unknown wish', { desired: 'Delete' }, /spec.desired: Unsupported value/],
      ['with an unknown profile', { profile: 'huge' }, /spec.profile: Unsupported value/],
      ['with an unknown placement', { placement: 'moon' }, /spec.placement: Unsupported value/],
      ['with a name of 256 characters', { displayName: 'x'.repeat(256) }, /spec.displayName: Too long/],
      ['without config', { config: undefined }, /spec.config: Required/],
      ['without the id of the MSSP', config({ msspId: undefined }), /spec.config.msspId: Required/],
      [
        'with 33 investigations at once',
        config({ runsWorker: { concurrency: 33 } }),
        /concurrency.*less than/,
      ],
      [
        'with 33 hosts',
        config({ network: { allowedLlmHosts: Array.from({ length: 33 }, (_, n) => `h${n}`) } }),
        /allowedLlmHosts: Too many/,
      ],
      [
        'with credentials in an address',
        config({ llm: { baseUrl: 'https://user:pass@llm.example' } }),
        /spec.config.llm.baseUrl.*should match/,
      ],
      ['with an image that is none', { images: { adapter: 'Not An Image' } }, /images.adapter.*should match/],
      [
        'with an unknown way of agents',
        config({ wazuhIngress: { mode: 'pigeon' } }),
        /mode: Unsupported value/,
      ],
      ['with teardown and the wish to run', { teardown }, /teardown needs desired to be Decommission/],
      [
        "with another tenant's id in teardown",
        { ...decommission, teardown: { ...teardown, tenantId: OTHER_ID } },
        /teardown.tenantId must equal tenantId/,
      ],
    ])('%s', async (_, part, rule, name) => {
      const attempt = served.create(
        { ...minimalSpec, ...part },
        { query: '?dryRun=All', ...(name ? { name } : {}) },
      )
      await expect(attempt).rejects.toMatchObject({ status: 422, message: expect.stringMatching(rule) })
    })

    it('with an unknown key, when asked to be strict; else drops the key', async () => {
      const spec = { ...minimalSpec, apiKey: 'x' }
      await expect(served.create(spec, { query: '?dryRun=All&fieldValidation=Strict' })).rejects.toThrow(
        /unknown field "spec.apiKey"/,
      )
      await expect(served.create(spec)).resolves.not.toHaveProperty('spec.apiKey')
    })
  })

  describe('takes a change', () => {
    it.each<[string, object, object]>([
      ['of the wish with a higher revision', {}, { desired: 'Suspend', revision: 2 }],
      ['that cancels a decommission', decommission, { desired: 'Run', revision: 3 }],
      ['that orders the teardown', decommission, { teardown }],
      ['of the uid in an order', { ...decommission, teardown }, { teardown: { uid: 'the-right-uid' } }],
      ['that forces an order', { ...decommission, teardown }, { teardown: { force: true } }],
      ['of the secrets', {}, { secretsRevision: 2 }],
      ['of the configuration', {}, { revision: 2, config: { triage: { autoClose: true } } }],
    ])('%s', async (_, before, after) => {
      const { metadata } = await served.create({ ...minimalSpec, ...before })
      await expect(served.change(metadata.name, { ...after })).resolves.toMatchObject({ spec: after })
    })
  })

  describe('refuses a change', () => {
    it.each<[string, object, object, RegExp]>([
      ['of tenantId', {}, { tenantId: OTHER_ID }, /tenantId is immutable/],
      ['to a lower revision', { revision: 5 }, { revision: 4 }, /revision may not fall/],
      [
        'to a lower secretsRevision',
        { secretsRevision: 5 },
        { secretsRevision: 4 },
        /secretsRevision may not fall/,
      ],
      ['of placement', {}, { placement: 'remote' }, /placement is immutable/],
      [
        'of placement by leaving it out',
        { placement: 'remote' },
        { placement: null },
        /placement is immutable/,
      ],
      [
        'of the wish without a new revision',
        {},
        { desired: 'Suspend' },
        /change of desired needs a higher revision/,
      ],
      [
        'that takes an order of teardown back',
        { ...decommission, teardown },
        { desired: 'Run', revision: 3, teardown: null },
        /teardown cannot be withdrawn/,
      ],
      [
        'back to running with the order in place',
        { ...decommission, teardown },
        { desired: 'Run', revision: 3 },
        /teardown needs desired to be Decommission/,
      ],
      [
        'that points an order at another tenant',
        { ...decommission, teardown },
        { teardown: { tenantId: OTHER_ID } },
        /teardown.tenantId must equal tenantId/,
      ],
    ])('%s', async (_, before, after, rule) => {
      const { metadata } = await served.create({ ...minimalSpec, ...before })
      await expect(served.change(metadata.name, { ...after })).rejects.toMatchObject({
        status: 422,
        message: expect.stringMatching(rule),
      })
    })

    it('of the status beside the spec, and of the spec beside the status: both stay as they are', async () => {
      const { metadata } = await served.create(minimalSpec)
      const path = `${served.path}/${metadata.name}`
      const body = { spec: { displayName: 'New' }, status: { phase: 'pending' } }
      const spec = await served.api.call<object>('PATCH', path, { body })
      expect(spec).toMatchObject({ spec: { displayName: 'New' } })
      expect(spec).not.toHaveProperty('status')
      const status = await served.api.call('PATCH', `${path}/status`, {
        body: { spec: { displayName: 'Newer' }, status: { phase: 'pending' } },
      })
      expect(status).toMatchObject({ spec: { displayName: 'New' }, status: { phase: 'pending' } })
    })
  })

  it('can be selected and shown', async () => {
    const tenantId = '0198b5a0-0000-7000-8000-0000000000ff'
    const { metadata } = await served.create({ ...minimalSpec, tenantId })
    await served.report(metadata.name, {
      phase: 'active',
      namespace: `tenant-${metadata.name}`,
      release: {
        name: 'service-tenant',
        revision: 1,
        chartVersion: '0.1.0',
        valuesDigest: '',
        manifestDigest: '',
        status: 'deployed',
      },
      conditions: [
        condition('Ready', 'True', 'Succeeded', 'All is well.'),
        condition('AdapterConnected', 'False', 'HeartbeatMissing', 'None came.'),
      ],
    })
    for (const selector of [`spec.tenantId=${tenantId}`, `status.phase=active,spec.tenantId=${tenantId}`]) {
      const list = await served.api.call<{ items: object[] }>(
        'GET',
        `${served.path}?fieldSelector=${encodeURIComponent(selector)}`,
      )
      expect(list.items).toMatchObject([{ metadata: { name: metadata.name } }])
    }
    const [header = '', row = ''] = kubectl('get', resource(), metadata.name, '-o', 'wide').split('\n')
    expect(header.split(/\s+/)).toEqual(
      'NAME PHASE READY CHART ADAPTER AGE NAMESPACE REASON MESSAGE'.split(' '),
    )
    expect(row).toMatch(
      new RegExp(
        `^${metadata.name} +active +True +0.1.0 +False +\\S+ +tenant-${metadata.name} +Succeeded +All is well.$`,
      ),
    )
  })

  it('explains itself', () => {
    const explain = (field: string): string =>
      kubectl('explain', `tenants${field}`, '--api-version', served.apiVersion)
    expect(explain('.spec')).toContain('revision\t<integer> -required-')
    expect(explain('.status.conditions')).toContain('One sentence for people')
    expect(explain('.spec.config.llm')).toContain('Its key is in a Secret')
  })

  const resource = () => `tenants.${served.apiVersion.split('/')[0]}`
  const kubectl = (...args: string[]): string => {
    const { kubeconfigPath, tools } = served.cluster
    const { status, stdout, stderr } = spawnSync(tools.kubectl, ['--kubeconfig', kubeconfigPath, ...args], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
    return stdout.trim()
  }
})

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00.000Z',
})
