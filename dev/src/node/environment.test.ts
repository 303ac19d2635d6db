import { describe, expect, it } from 'vitest'
import { expand, resolveEnvironment, rewritePath } from './environment.ts'
import { StartProblem } from './types.ts'
import type { Container, Pod } from './types.ts'

const pod: Pod = {
  metadata: { name: 'app-1', namespace: 'team', uid: 'u', labels: { tier: 'web' } },
  spec: { nodeName: 'local-0', containers: [] },
}
const facts = { pod, podIp: '127.42.0.7', hostIp: '127.0.0.1' }
const lookup = (_kind: string, name: string) =>
  Promise.resolve(name === 'keys' ? { a: Buffer.from('1'), b: Buffer.from('2') } : null)
const resolve = (container: Partial<Container>) =>
  resolveEnvironment({ name: 'main', image: 'x', ...container }, facts, lookup)

describe('the environment of a container', () => {
  it('lets env win over envFrom and refer to what came before', async () => {
    const envFrom = [{ prefix: 'K_', secretRef: { name: 'keys' } }]
    const env = [
      { name: 'K_a', value: 'own' },
      { name: 'SUM', value: '$(K_a)+$(K_b)' },
    ]
    await expect(resolve({ envFrom, env })).resolves.toEqual({ K_a: 'own', K_b: '2', SUM: 'own+2' })
  })

  it('does not expand what comes from elsewhere', async () => {
    const field = { name: 'L', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } }
    await expect(resolve({ env: [field] })).resolves.toEqual({ L: 'web' })
  })

  it('leaves out what is optional and missing, and refuses what is missing', async () => {
    const ref = (name: string, key: string, optional?: boolean) => ({
      name: 'X',
      valueFrom: { secretKeyRef: { name, key, ...(optional === undefined ? {} : { optional }) } },
    })
    await expect(resolve({ env: [ref('none', 'a', true), ref('keys', 'c', true)] })).resolves.toEqual({})
    await expect(resolve({ env: [ref('none', 'a')] })).rejects.toThrow(StartProblem)
    await expect(resolve({ env: [ref('keys', 'toString')] })).rejects.toThrow(/no key "toString"/)
  })
})

describe('expand', () => {
  it.each([
    ['$(A)', 'x'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$x'],
    ['$(B)$(A', '$(B)$(A'],
    ['$A ${A}', '$A ${A}'],
    ['$(constructor)', '$(constructor)'],
  ])('%s is %s', (text, expected) => expect(expand(text, { A: 'x' })).toBe(expected))
})

describe('rewritePath', () => {
  const mounts = [
    { mountPath: '/etc', folder: '/pod/etc' },
    { mountPath: '/etc/keys', folder: '/pod/keys' },
  ]
  it.each([
    ['/etc/keys/a', '/pod/keys/a'],
    ['/etc/keys', '/pod/keys'],
    ['/etc/keysmith', '/pod/etc/keysmith'],
    ['/etcetera', '/etcetera'],
    ['file:///etc/keys', 'file:///etc/keys'],
  ])('%s is %s', (value, expected) => expect(rewritePath(value, mounts)).toBe(expected))
})
