import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, parseOperatorConfig, withoutForeignKubeconfig } from './config.ts'

describe('the configuration', () => {
  it('has a default for everything', () => {
    const config = parseOperatorConfig({})
    expect(config).toMatchObject({
      kubeconfigPath: null,
      installNamespace: 'service-system',
      concurrency: 10,
      lease: { durationMs: 15_000, trustMs: 10_000, retryMs: 2_000 },
      adapter: { heartbeatSeconds: 30, pollSeconds: 5 },
      nodeSelector: {},
    })
    expect(config.helm.chart.endsWith('charts/service-tenant')).toBe(true)
  })

  it('reads what is given', () => {
    const config = parseOperatorConfig({
      SERVICE_TENANT_NODE_SELECTOR: 'kubernetes.io/os=linux, pool=tenants',
      SERVICE_OPERATOR_LEASE_SECONDS: '3',
      SERVICE_ADAPTER_INDEXER_URL: 'http://127.0.0.1:1/{slug}/{namespace}',
      SERVICE_INSTALL_NAMESPACE: 'elsewhere',
      PATH: '/bin',
      KUBECONFIG: '/somebody/elses',
      https_proxy: 'http://proxy',
    })
    expect(config.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux', pool: 'tenants' })
    expect(config.lease.trustMs).toBe(2_000)
    expect(config.adapter.apiUrl).toBe('http://service-system-api.elsewhere.svc:8080')
    expect(config.helm.env).toEqual({ PATH: '/bin', HTTPS_PROXY: 'http://proxy' })
  })

  it('reads what an install says about the network of its tenants', () => {
    const read = (env: Record<string, string>) => parseOperatorConfig(env).network
    expect(read({ SERVICE_INSTALL_NAMESPACE: 'elsewhere' })).toEqual({
      apiNamespace: 'elsewhere',
      dnsNamespace: 'kube-system',
      llmCidrs: [],
      indexerCidrs: [],
    })
    expect(
      read({ SERVICE_TENANT_DNS_NAMESPACE: 'none', SERVICE_TENANT_LLM_CIDRS: '192.0.2.0/28, 2001:db8::/64' }),
    ).toMatchObject({ dnsNamespace: '', llmCidrs: ['192.0.2.0/28', '2001:db8::/64'] })
    for (const wrong of ['192.0.2.0', '192.0.2.0/33', 'llm.example/32', '1.2.3.4/1/1', '1.2.3.4/x'])
      expect(() => read({ SERVICE_TENANT_INDEXER_CIDRS: wrong }), wrong).toThrow(ConfigError)
  })

  it('lets itself into namespaces when it is told how, and as whom', () => {
    const read = (env: Record<string, string>) => parseOperatorConfig(env).access
    expect(read({ SERVICE_OPERATOR_ACCOUNT: 'api' })).toBeNull()
    expect(
      read({ SERVICE_TENANT_ROLE: 'r', SERVICE_OPERATOR_ACCOUNT: 'api', SERVICE_INSTALL_NAMESPACE: 'here' }),
    ).toEqual({ role: 'r', account: { name: 'api', namespace: 'here' } })
    expect(() => read({ SERVICE_TENANT_ROLE: 'r' })).toThrow(/SERVICE_OPERATOR_ACCOUNT/)
  })

  it('names all that is wrong, and never a value', () => {
    const parse = (): unknown =>
      parseOperatorConfig({
        SERVICE_OPERATOR_CONCURRENCY: '1e9',
        SERVICE_ADAPTER_API_URL: 'ftp://secret',
        SERVICE_TENANT_NODE_SELECTOR: 'a',
      })
    expect(parse).toThrow(ConfigError)
    expect(parse).toThrow(/API_URL[^]*NODE_SELECTOR[^]*CONCURRENCY/)
    expect(parse).not.toThrow(/secret/)
  })

  it('hides a foreign kubeconfig while the shell is built, also when that fails', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'service-config-')), 'kubeconfig')
    writeFileSync(path, '{broken')
    const before = process.env['KUBECONFIG']
    process.env['KUBECONFIG'] = path
    try {
      expect(withoutForeignKubeconfig(() => process.env['KUBECONFIG'])).toBeUndefined()
      expect(() =>
        withoutForeignKubeconfig(() => {
          throw new Error('x')
        }),
      ).toThrow('x')
      expect(process.env['KUBECONFIG']).toBe(path)
    } finally {
      if (before === undefined) delete process.env['KUBECONFIG']
      else process.env['KUBECONFIG'] = before
    }
  })

  it('shortens the readiness time-outs for development only', () => {
    const read = (text: string, env = {}) =>
      parseOperatorConfig({ SERVICE_OPERATOR_READINESS_SECONDS: text, ...env }).readinessTimeoutMs
    expect(read('')).toBeUndefined()
    expect(read('10')).toBe(10_000)
    expect(() => read('9')).toThrow(ConfigError)
    expect(() => read('60', { NODE_ENV: 'production' })).toThrow(ConfigError)
  })

  it('arms a failpoint that exists, and none in production', () => {
    const armed = (text: string, env = {}) =>
      parseOperatorConfig({ SERVICE_FAILPOINT: text, ...env }).failpoint
    expect(armed('')).toBeNull()
    expect(armed('operator.status.written:3')).toEqual({ name: 'operator.status.written', hit: 3 })
    for (const wrong of ['operator.nowhere', 'operator.status.written:0']) {
      expect(() => armed(wrong)).toThrow(ConfigError)
    }
    expect(() => armed('operator.status.written', { NODE_ENV: 'production' })).toThrow(ConfigError)
  })
})
