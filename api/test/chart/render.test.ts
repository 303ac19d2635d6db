import { readFileSync } from 'node:fs'
import { SystemValues } from '@service/crds'
import { INSTALL_SECRETS } from '@service/domain'
import { parseOperatorConfig } from '@service/operator'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { SETTINGS } from '../../../operator/src/config.ts'
import { parseMigrateConfig, parseSecretsConfig, parseServeConfig } from '../../src/config/index.ts'
import { VARIABLES } from '../../src/config/variables.ts'
import {
  allContainers,
  CHART,
  ciValues,
  type Container,
  environmentOf,
  type Manifest,
  manifests,
  type PodSpec,
  podOf,
  render,
  runHelm,
  secretFiles,
  type Values,
  valuesOf,
} from './chart.ts'

const NOT_OURS = ['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'HOME', 'HTTPS_PROXY']
/** What the init step alone may have (S "Secret placement" 2). */
const INIT_ONLY = /^(admin|superuser|bootstrap)\//

const podIn = (all: readonly Manifest[], kind: string, component: string): PodSpec => {
  const found = all.find(
    (each) => each.kind === kind && each.metadata.labels?.['app.kubernetes.io/component'] === component,
  )
  const pod = found === undefined ? undefined : podOf(found)
  if (pod === undefined) throw new Error(`no ${kind} of ${component}`)
  return pod
}
const containerIn = (pod: PodSpec, name: string): Container => {
  const found = allContainers(pod).find((each) => each.name === name)
  if (found === undefined) throw new Error(`no container ${name}`)
  return found
}
/** Reads only what is mounted; the value tells nothing but is long enough for every form that is asked. */
const mounted = (pod: PodSpec, container: Container) => {
  const files = secretFiles(pod, container)
  return (path: string): string => {
    if (!files.has(path)) throw new Error(`${path} is not mounted`)
    return path.endsWith('/email') ? 'a@b.example' : 'x%y/'.repeat(12)
  }
}

describe.each(ciValues)('the control-plane chart with %s', (file, values) => {
  const all = manifests(values)
  const pods = all.flatMap((each) => podOf(each) ?? [])

  it('is linted, fits the schema in code, and renders the same each time', () => {
    const lint = runHelm(['lint', '--strict', CHART, '--values', `${CHART}/ci/${file}`])
    expect(lint.status, lint.stdout + lint.stderr).toBe(0)
    expect(v.safeParse(SystemValues, values).issues).toBeUndefined()
    expect(render(values, { again: true })).toEqual(render(values))
  })

  it('makes labelled objects in its namespace, and no Secret', () => {
    for (const { kind, metadata } of all) {
      if (metadata.name.endsWith('-more')) continue
      expect(kind).not.toBe('Secret')
      expect(['service-system', 'default', undefined]).toContain(metadata.namespace)
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/instance': 'service-system',
        'app.kubernetes.io/part-of': 'service',
        'app.kubernetes.io/managed-by': 'Helm',
        'helm.sh/chart': 'service-system-0.1.0',
      })
    }
  })

  it('runs its pods restricted, with resources and no name twice in an environment', () => {
    expect(pods.length).toBeGreaterThanOrEqual(2)
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const container of allContainers(pod)) {
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        for (const amounts of [container.resources.requests, container.resources.limits])
          expect(Object.keys(amounts).toSorted()).toEqual(['cpu', 'memory'])
        const names = (container.env ?? []).map(({ name }) => name)
        expect(new Set(names).size).toBe(names.length)
      }
    }
  })

  it('sets what the processes read, and all that they need', () => {
    const known = [...Object.keys(VARIABLES), ...Object.keys(SETTINGS)]
    for (const pod of pods) {
      for (const container of allContainers(pod).filter(({ name }) => name !== 'postgres')) {
        for (const name of Object.keys(environmentOf(container)))
          expect([...NOT_OURS, ...known, ...known.map((each) => `${each}_FILE`)]).toContain(name)
      }
    }
    const api = podIn(all, 'Deployment', 'api')
    const serving = containerIn(api, 'api')
    const migrating = containerIn(api, 'migrate')
    const serve = parseServeConfig(environmentOf(serving), mounted(api, serving))
    expect(new URL(serve.database.appUrl).password).toBe('x%25y%2F'.repeat(12))
    expect(serve.cluster).toEqual({ kind: 'in-cluster' })
    expect(parseMigrateConfig(environmentOf(migrating), mounted(api, migrating)).admin).not.toBeNull()
    const separate = serve.operator === 'separate'
    const operator = separate ? containerIn(podIn(all, 'Deployment', 'operator'), 'operator') : serving
    expect(parseOperatorConfig(environmentOf(operator)).adapter.apiUrl).toBe(
      'http://service-system-api.service-system.svc:8080',
    )
    expect(api.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(35)
  })

  it('gives the running API nothing of what is the init step’s', () => {
    const api = podIn(all, 'Deployment', 'api')
    const files = [...secretFiles(api, containerIn(api, 'api')).keys()]
    const relative = files.map((path) => path.replace('/var/run/service/', ''))
    expect(relative.length).toBeGreaterThanOrEqual(6)
    expect(relative.filter((path) => INIT_ONLY.test(path))).toEqual([])
    expect([...secretFiles(api, containerIn(api, 'migrate')).keys()].some((path) => /admin/.test(path))).toBe(
      true,
    )
  })

  it('grants no wildcard, no escalation, and no watch of Secrets', () => {
    const rules = all.flatMap(({ kind, rules = [] }) => rules.map((rule) => ({ kind, ...rule })))
    expect(rules.length).toBeGreaterThan(10)
    for (const rule of rules) {
      for (const words of [rule.apiGroups, rule.resources, rule.verbs]) expect(words).not.toContain('*')
      for (const verb of ['escalate', 'impersonate', 'deletecollection'])
        expect(rule.verbs).not.toContain(verb)
      if (rule.verbs.includes('bind')) expect(rule.resourceNames).toHaveLength(1)
      if (rule.resources.includes('secrets')) expect(rule.verbs).not.toContain('watch')
    }
  })
})

describe('the control-plane chart', () => {
  const minimal = valuesOf('minimal')
  const withValues = (part: Values): Values => ({ ...minimal, ...part })

  it('makes the Secrets under the names of the contract, and those only that are not given', () => {
    const named = (values: Values, release?: string) => {
      const job = podIn(manifests(values, release === undefined ? {} : { release }), 'Job', 'secrets')
      return parseSecretsConfig(environmentOf(containerIn(job, 'secrets'))).secrets
    }
    const expected = Object.entries(INSTALL_SECRETS).map(([kind, { name }]) => ({
      kind,
      name: `service-system-${name}`,
    }))
    expect(new Set(named(minimal))).toEqual(new Set(expected))
    expect(named(minimal, 'x').find(({ kind }) => kind === 'llmApiKey')?.name).toBe(
      'x-service-system-llm-api-key',
    )
    const external = named(valuesOf('external-db')).map(({ kind }) => kind)
    expect(external).toEqual(['adapterSigningKey', 'bootstrapAdmin', 'jwtSigningKey', 'llmApiKey'])
    expect(manifests(valuesOf('full')).some(({ kind }) => kind === 'Job')).toBe(false)
  })

  it('pins the tenant chart that lies beside it', () => {
    const chart = parse(readFileSync(`${CHART}/../service-tenant/Chart.yaml`, 'utf8')) as { version: string }
    expect(v.parse(SystemValues, minimal).tenantProvisioning.tenantChartVersion).toBe(chart.version)
  })

  it('tells the API whom to believe in proxy mode', () => {
    const served = (values: Values) => {
      const api = podIn(manifests(values), 'Deployment', 'api')
      const serving = containerIn(api, 'api')
      const { authMode, identityProxy } = parseServeConfig(environmentOf(serving), mounted(api, serving))
      return { authMode, identityProxy }
    }
    const proxy = valuesOf('proxy-auth')
    expect(served(proxy)).toEqual({
      authMode: 'proxy',
      identityProxy: {
        headers: { user: 'x-forwarded-user', email: 'x-auth-email', groups: 'x-forwarded-groups' },
        trusted: [
          { address: '10.0.0.0', prefix: 8, family: 'ipv4' },
          { address: 'fd00:10::', prefix: 64, family: 'ipv6' },
        ],
      },
    })
    expect(served({ ...proxy, oidc: {} })).toMatchObject({ identityProxy: { trusted: [] } })
    expect(served(minimal)).toMatchObject({ authMode: 'internal', identityProxy: { trusted: [] } })
  })

  it('keeps the definition of Tenants unless it is told otherwise', () => {
    const crdOf = (crds: Values) =>
      manifests(withValues({ crds })).find(({ kind }) => kind === 'CustomResourceDefinition')
    const file = parse(readFileSync(`${CHART}/../../crds/tenants.service.dev.yaml`, 'utf8')) as Manifest
    expect(crdOf({})?.spec).toEqual(file.spec)
    expect(crdOf({})?.metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
    expect(crdOf({ keep: false })?.metadata.annotations).toBeUndefined()
    expect(crdOf({ install: false })).toBeUndefined()
  })

  it('renders a disruption budget for several pods only, and no policies when they are not wanted', () => {
    const kinds = (values: Values) => manifests(values).map(({ kind }) => kind)
    expect(kinds(minimal)).not.toContain('PodDisruptionBudget')
    expect(kinds(valuesOf('ha'))).toContain('PodDisruptionBudget')
    expect(kinds(minimal)).toContain('ValidatingAdmissionPolicy')
    expect(kinds(withValues({ admission: { engine: 'none' } }))).not.toContain('ValidatingAdmissionPolicy')
    expect(kinds(withValues({ networkPolicies: { enabled: false } }))).not.toContain('NetworkPolicy')
  })

  it.each<[string, Values, RegExp]>([
    ['a secret in values', { postgres: { password: 'x' } }, /password/],
    ['an unknown key', { whatever: 1 }, /whatever/],
    ['no ids', { install: {} }, /msspId|installId/],
    ['no host', { ingress: {} }, /ingress.hostnames.mssp or auth.publicOriginOverride/],
    ['an external database without a host', { postgres: { enabled: false } }, /postgres.external/],
    ['a Secret that nobody makes', { secrets: { generate: false } }, /existingSecret/],
    [
      'a variable of the chart’s',
      { api: { extraEnv: [{ name: 'SERVICE_LISTEN', value: '' }] } },
      /SERVICE_LISTEN/,
    ],
    [
      'a variable of the chart’s for a separate operator',
      { orchestrator: { separate: true, extraEnv: [{ name: 'SERVICE_OPERATOR_PORT', value: '1' }] } },
      /orchestrator.extraEnv: the chart sets SERVICE_OPERATOR_PORT/,
    ],
    ['licensing', { licensing: { enabled: true } }, /licensing/],
    [
      'TLS with an insecure cookie',
      {
        auth: { cookieSecure: false },
        ingress: { enabled: true, hostnames: { mssp: 'a.example', customer: '*.b.example' } },
      },
      /must agree/,
    ],
  ])('refuses %s', (_what, part, message) => {
    expect(render(withValues(part)).error).toMatch(message)
  })
})
