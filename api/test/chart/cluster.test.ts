import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectApi, readKubeconfig, testCluster } from '@service/dev'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeKubeconfig } from '../../../dev/src/cluster/credentials.ts'
import { ensureInstallSecrets } from '../../src/secrets/install.ts'
import {
  allContainers,
  CHART,
  ciValues,
  type Manifest,
  manifests,
  podOf,
  runHelm,
  valuesOf,
} from './chart.ts'

const TENANT_CHART = `${CHART}/../service-tenant`
const unique = crypto.randomUUID().slice(0, 8)
const release = `r${unique}`
const fullname = `${release}-service-system`
const namespace = `system-${unique}`
const tenant = `tenant-t${unique}`

const PLURALS: Readonly<Record<string, string>> = {
  Ingress: 'ingresses',
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
}
const pathOf = ({ apiVersion, kind, metadata }: Manifest, named = true): string => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return `${root}${scope}/${plural}${named ? `/${metadata.name}` : ''}`
}

let cluster: Awaited<ReturnType<typeof testCluster>>
let admin: ReturnType<typeof connectApi>
let directory: string
const clients: ReturnType<typeof connectApi>[] = []

const helm = (...args: string[]): void => {
  const { status, stderr } = runHelm([...args, '--kubeconfig', cluster.kubeconfigPath])
  expect(status, stderr).toBe(0)
}
const install = (...more: string[]): void => {
  const base = ['upgrade', '--install', release, CHART, '--namespace', namespace, '--no-hooks']
  helm(...base, '--values', `${CHART}/ci/minimal-values.yaml`, '--set', 'crds.install=false', ...more)
}

/** A kubeconfig of a service account of the release, and a client that is it. */
async function actAs(account: string) {
  const { ca = '', server } = await readKubeconfig(cluster.kubeconfigPath)
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${fullname}-${account}/token`
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  }
  const { status } = await admin.call<{ status: { token: string } }>('POST', path, { body })
  const kubeconfig = join(directory, `${account}.kubeconfig`)
  await writeKubeconfig(kubeconfig, { server, ca, user: account, token: status.token })
  const client = connectApi(await readKubeconfig(kubeconfig))
  clients.push(client)
  return { kubeconfig, client }
}
const named = (kind: string, name: string, within?: string, rest: object = {}) => ({
  apiVersion: kind === 'Lease' ? 'coordination.k8s.io/v1' : 'v1',
  kind,
  metadata: { name, ...(within === undefined ? {} : { namespace: within }), ...rest },
})
const createAs = (client: ReturnType<typeof connectApi>, object: Manifest) =>
  client.call('POST', pathOf(object, false), { body: object })

beforeAll(async () => {
  cluster = await testCluster()
  admin = connectApi(await readKubeconfig(cluster.kubeconfigPath))
  directory = await mkdtemp(join(tmpdir(), 'service-chart-'))
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createAs(admin, named('Namespace', namespace, undefined, { labels }))
  install()
})
afterAll(async () => {
  runHelm([
    'uninstall',
    release,
    '--namespace',
    namespace,
    '--ignore-not-found',
    '--kubeconfig',
    cluster.kubeconfigPath,
  ])
  for (const name of [namespace, tenant, `${tenant}-not-ours`])
    await admin.call('DELETE', `/api/v1/namespaces/${name}`).catch(() => undefined)
  for (const client of [...clients, admin]) client.close()
  await rm(directory, { recursive: true, force: true })
  await cluster.stop()
})

it.each(ciValues)(
  'takes every object of %s, and its pods under Pod Security restricted',
  async (_file, values) => {
    const all = manifests(values, { release: `dry-${unique}`, namespace })
    for (const object of all) {
      const query = '?dryRun=All&fieldManager=check&force=true&fieldValidation=Strict'
      const kind = `${object.kind} ${object.metadata.name}`
      await expect(
        admin.call('PATCH', pathOf(object) + query, { body: object, patch: 'apply' }),
        kind,
      ).resolves.toBeTruthy()
      const spec = podOf(object)
      if (spec === undefined) continue
      expect(allContainers(spec).length).toBeGreaterThan(0)
      const pod = {
        ...named('Pod', `check-${unique}`, namespace),
        spec: { ...spec, serviceAccountName: `${fullname}-api`, priorityClassName: '' },
      }
      const restart = object.kind === 'Job' ? {} : { restartPolicy: 'Always' }
      const body = {
        ...pod,
        spec: { ...pod.spec, ...restart, volumes: [...(spec.volumes ?? []), { name: 'data', emptyDir: {} }] },
      }
      await expect(
        admin.call('POST', `${pathOf(pod, false)}?dryRun=All`, { body }),
        kind,
      ).resolves.toBeTruthy()
    }
  },
)

describe('the account of the API with its operator', () => {
  type Ask = { verb: string; resource: string; group?: string; in?: string; name?: string; sub?: string }
  const review = async (ask: Ask): Promise<boolean> => {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${namespace}:${fullname}-api`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
        resourceAttributes: {
          verb: ask.verb,
          resource: ask.resource,
          subresource: ask.sub ?? '',
          group: ask.group ?? '',
          namespace: ask.in ?? '',
          name: ask.name ?? '',
        },
      },
    }
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { status } = await admin.call<{ status: { allowed: boolean } }>('POST', path, { body })
    return status.allowed
  }
  const each = (verbs: string, resource: string, group = '', rest: Partial<Ask> = {}): Ask[] =>
    verbs.split(' ').map((verb) => ({ verb, resource, group, ...rest }))
  const LEASES = 'coordination.k8s.io'

  const RBAC = 'rbac.authorization.k8s.io'
  type Binding = { name?: string; role?: string; kind?: string; account?: string; from?: string }
  const binding = (within: string, { name, role, kind, account, from }: Binding = {}) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: name ?? 'service-operator', namespace: within },
    roleRef: { apiGroup: RBAC, kind: kind ?? 'ClusterRole', name: role ?? `${fullname}-tenant` },
    subjects: [{ kind: 'ServiceAccount', name: account ?? `${fullname}-api`, namespace: from ?? namespace }],
  })

  it('lets itself into namespaces of tenants, as itself and with one role, and nowhere else', async () => {
    const { client } = await actAs('api')
    // A new policy takes a moment to be known.
    await expect
      .poll(
        () =>
          createAs(client, named('Namespace', `probe-${unique}`)).then(
            () => '',
            (error: Error) => error.message,
          ),
        { timeout: 20_000, interval: 100 },
      )
      .toContain('namespaces tenant-*')
    const labels = { 'managed-by': 'service', 'tenant-id': unique, tenant: 'true' }
    await createAs(client, named('Namespace', tenant, undefined, { labels }))
    await createAs(admin, named('Namespace', `${tenant}-not-ours`))
    const refused: [string, ReturnType<typeof binding>, number, string][] = [
      [
        'another role',
        binding(tenant, { role: 'cluster-admin' }),
        403,
        'attempting to grant RBAC permissions',
      ],
      ['a role of the namespace', binding(tenant, { kind: 'Role' }), 404, 'not found'],
      ['another account', binding(tenant, { account: 'default' }), 422, "the operator's account only"],
      ['a foreign account', binding(tenant, { from: 'default' }), 422, "the operator's account only"],
      ['another name', binding(tenant, { name: 'mine' }), 422, "the operator's account only"],
      ['a namespace without labels', binding(`${tenant}-not-ours`), 422, 'labels of a tenant'],
      ['the install namespace', binding(namespace), 422, 'labels of a tenant'],
      ['kube-system', binding('kube-system'), 422, 'tenant-* and in its own'],
      ['default', binding('default'), 422, 'tenant-* and in its own'],
    ]
    for (const [what, object, status, message] of refused)
      await expect(createAs(client, object), what).rejects.toMatchObject({
        status,
        message: expect.stringContaining(message),
      })
    const secrets = each('get list create patch update delete', 'secrets', '', { in: tenant })
    for (const ask of secrets) expect(await review(ask), ask.verb).toBe(false)
    await createAs(client, binding(tenant))
    await expect.poll(() => review({ verb: 'list', resource: 'secrets', in: tenant })).toBe(true)
    const again = {
      ...binding(tenant),
      subjects: [...binding(tenant).subjects, ...binding(tenant, { account: 'x' }).subjects],
    }
    const path = `${pathOf(binding(tenant))}?fieldManager=check&force=true`
    await expect(client.call('PATCH', path, { body: again, patch: 'apply' })).rejects.toMatchObject({
      status: 422,
    })
    await client.call('PATCH', path, { body: binding(tenant), patch: 'apply' })
  })

  it('may make every request that the code makes', async () => {
    const asks: Ask[] = [
      ...each('get list watch create patch', 'tenants', 'service.dev'),
      ...each('patch', 'tenants', 'service.dev', { sub: 'status' }),
      ...each('get list watch create patch delete', 'namespaces'),
      ...each('get list watch', 'deployments', 'apps'),
      ...each('get list watch', 'statefulsets', 'apps'),
      ...each('list watch', 'leases', LEASES, { name: 'adapter' }),
      ...each('create', 'leases', LEASES, { in: tenant }),
      ...each('patch', 'leases', LEASES, { in: tenant, name: 'adapter' }),
      ...each('create', 'leases', LEASES, { in: namespace }),
      ...each('get update', 'leases', LEASES, { in: namespace, name: 'service-operator' }),
      ...each('get list create patch delete', 'secrets', '', { in: namespace }),
      ...each('get list create patch update delete', 'secrets', '', { in: tenant }),
      ...each('list', 'pods', '', { in: tenant }),
      ...each('list', 'events', 'events.k8s.io', { in: tenant }),
      ...each('create', 'events', 'events.k8s.io', { in: 'default' }),
      ...each('create', 'rolebindings', RBAC, { in: tenant }),
      ...each('get patch delete', 'rolebindings', RBAC, { in: tenant, name: 'service-operator' }),
      ...each('bind', 'clusterroles', RBAC, { name: `${fullname}-tenant` }),
    ]
    const denied: Ask[] = []
    for (const ask of asks) if (!(await review(ask))) denied.push(ask)
    expect(denied).toEqual([])
  })

  it('may do nothing else', async () => {
    const asks: Ask[] = [
      ...each('watch deletecollection', 'secrets'),
      ...each('list watch update', 'leases', LEASES),
      ...each('get update', 'leases', LEASES, { in: 'kube-system', name: 'kube-scheduler' }),
      ...each('delete update deletecollection', 'tenants', 'service.dev'),
      ...each('update', 'namespaces'),
      ...each('create get delete', 'pods', '', { in: tenant }),
      ...each('create', 'pods', '', { in: tenant, sub: 'exec' }),
      ...each('create', 'serviceaccounts', '', { in: namespace, sub: 'token' }),
      ...each('create patch delete', 'deployments', 'apps', { in: '' }).map((ask) => ({
        ...ask,
        resource: 'daemonsets',
      })),
      ...each('create get list', 'nodes'),
      ...each('create update patch bind escalate', 'clusterroles', RBAC),
      ...each('bind', 'clusterroles', RBAC, { name: 'cluster-admin' }),
      ...each('list watch', 'rolebindings', RBAC, { in: tenant }),
      ...each('get patch delete', 'rolebindings', RBAC, { in: tenant, name: 'somebody-elses' }),
      ...['', 'kube-system', 'default', `${tenant}-not-ours`].flatMap((within) => [
        ...each('get list watch create patch update delete deletecollection', 'secrets', '', { in: within }),
        ...each('list', 'pods', '', { in: within }),
        ...each('get create', 'configmaps', '', { in: within }),
        ...each('create patch', 'deployments', 'apps', { in: within }),
      ]),
      ...each('impersonate', 'users'),
      ...each('create patch delete', 'validatingadmissionpolicies', 'admissionregistration.k8s.io'),
      ...each('create patch', 'customresourcedefinitions', 'apiextensions.k8s.io'),
    ]
    const allowed: Ask[] = []
    for (const ask of asks) if (await review(ask)) allowed.push(ask)
    expect(allowed).toEqual([])
  })

  it('writes in tenants’ namespaces and its own only, whatever RBAC grants', async () => {
    const { client } = await actAs('api')
    const denied = (object: Manifest, message: string) =>
      expect(createAs(client, object), object.metadata.name).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining(message),
      })
    await denied(named('Namespace', `probe-${unique}`), 'namespaces tenant-*')
    await denied(named('Lease', `l-${unique}`, 'default'), 'tenant-* and in its own')
    await createAs(client, named('Secret', `s-${unique}`, tenant))
    await createAs(client, named('Lease', 'adapter', tenant))
    await createAs(client, named('Secret', `tenant-${unique}`, namespace))
    const path = `/api/v1/namespaces/${tenant}-not-ours`
    const refused = { status: 422, message: expect.stringContaining('managed-by=service') }
    await expect(client.call('DELETE', path)).rejects.toMatchObject(refused)
    await expect(
      client.call('PATCH', path, { body: { metadata: { labels: { tenant: 'true' } } } }),
    ).rejects.toMatchObject(refused)
  })

  it('installs, upgrades and removes the stack of a tenant by helm', async () => {
    const { kubeconfig } = await actAs('api')
    const run = (...args: string[]): void => {
      const { status, stderr } = runHelm([...args, '--namespace', tenant, '--kubeconfig', kubeconfig])
      expect(status, stderr).toBe(0)
    }
    const upgrade = [
      'upgrade',
      'service-tenant',
      TENANT_CHART,
      '--install',
      '--no-hooks',
      '--history-max',
      '1',
    ]
    const values = ['--values', `${TENANT_CHART}/ci/minimal-values.yaml`]
    for (const poll of ['5', '6', '7']) run(...upgrade, ...values, '--set', `adapter.pollSeconds=${poll}`)
    run('uninstall', 'service-tenant')
  })
})

it('makes Secrets once, by an account that may neither read nor change them', async () => {
  const hooks = manifests(valuesOf('minimal'), { release, namespace }).filter(
    ({ kind, metadata }) =>
      metadata.annotations?.['helm.sh/hook']?.startsWith('pre-') === true && kind !== 'Job',
  )
  expect(hooks.map(({ kind }) => kind)).toEqual(['ServiceAccount', 'Role', 'RoleBinding'])
  for (const body of hooks)
    await admin.call('PATCH', `${pathOf(body)}?fieldManager=check`, { body, patch: 'apply' })
  const { kubeconfig, client } = await actAs('secrets')
  const log = pino({ level: 'silent' })
  const make = (adminEmail: string) =>
    ensureInstallSecrets(
      {
        cluster: { kind: 'kubeconfig', path: kubeconfig },
        installNamespace: namespace,
        secrets: [
          { kind: 'bootstrapAdmin', name: 'first' },
          { kind: 'jwtSigningKey', name: 'jwt' },
        ],
        adminEmail,
        logLevel: 'silent',
      },
      log,
    )
  const read = async (name: string) =>
    (
      await admin.call<{ data: Record<string, string> }>(
        'GET',
        `/api/v1/namespaces/${namespace}/secrets/${name}`,
      )
    ).data
  await make('a@b.example')
  const before = [await read('first'), await read('jwt')]
  expect(Buffer.from(before[0]?.['email'] ?? '', 'base64').toString()).toBe('a@b.example')
  expect(Buffer.from(before[1]?.['key'] ?? '', 'base64').length).toBe(64)
  await make('c@d.example')
  expect([await read('first'), await read('jwt')]).toEqual(before)
  const path = `/api/v1/namespaces/${namespace}/secrets/first`
  await expect(client.call('GET', path)).rejects.toMatchObject({ status: 403 })
  await expect(client.call('PATCH', path, { body: { data: {} } })).rejects.toMatchObject({ status: 403 })
})

it('is upgraded in place, and an uninstall leaves the Secrets', async () => {
  install('--set', 'api.replicas=2')
  const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/${fullname}-api`
  expect(await admin.call('GET', deployment)).toMatchObject({ spec: { replicas: 2 } })
  helm('uninstall', release, '--namespace', namespace)
  expect(await admin.find(deployment)).toBeNull()
  expect(await admin.find(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${fullname}-operator`)).toBeNull()
  expect(await admin.find(`/api/v1/namespaces/${namespace}/secrets/tenant-${unique}`)).not.toBeNull()
})
