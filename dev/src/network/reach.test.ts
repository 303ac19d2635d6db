import { describe, expect, it } from 'vitest'
import { mayReach } from './reach.ts'
import type { Labels, Network, NetworkPolicy, Pod } from './reach.ts'

const pod = (namespace: string, app: string, ip: string, more: Labels = {}): Pod => ({
  namespace,
  labels: { app, ...more },
  ip,
  ports: [{ name: 'web', containerPort: 8_080 }],
})
const policy = (namespace: string, spec: NetworkPolicy['spec']): NetworkPolicy => ({
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace },
  spec,
})
const network = (...policies: NetworkPolicy[]): Network => ({
  policies,
  namespaces: { a: { team: 'red' }, b: { team: 'blue' } },
})
const app = (name: string) => ({ matchLabels: { app: name } })

const web = pod('a', 'web', '10.0.0.1')
const other = pod('a', 'other', '10.0.0.2')
const far = pod('b', 'other', '10.0.1.2')
const world = { ip: '203.0.113.9' }
const http = { number: 8_080 }

describe('who may reach whom', () => {
  it('everybody everything, where no policy selects either end', () => {
    for (const from of [other, far, world]) expect(mayReach(network(), from, web, http)).toBe(true)
    const elsewhere = policy('b', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    expect(mayReach(network(elsewhere), other, web, http)).toBe(true)
    const others = policy('a', { podSelector: app('db'), policyTypes: ['Ingress'] })
    expect(mayReach(network(others), far, web, http)).toBe(true)
  })

  it('nobody, once a policy selects an end and has no rule; each direction by itself', () => {
    const closed = (type: 'Ingress' | 'Egress') =>
      network(policy('a', { podSelector: app('web'), policyTypes: [type] }))
    expect(mayReach(closed('Ingress'), other, web, http)).toBe(false)
    expect(mayReach(closed('Ingress'), web, other, http)).toBe(true)
    expect(mayReach(closed('Egress'), web, world, http)).toBe(false)
    expect(mayReach(closed('Egress'), other, web, http)).toBe(true)
  })

  it('those that any policy lets in: they add up, and none takes anything away', () => {
    const deny = policy('a', { podSelector: {}, policyTypes: ['Ingress'] })
    const some = policy('a', {
      podSelector: app('web'),
      ingress: [{ from: [{ podSelector: app('other') }] }],
    })
    expect(mayReach(network(deny, some), other, web, http)).toBe(true)
    expect(mayReach(network(deny, some), web, web, http)).toBe(false)
  })

  it('both ends have to agree', () => {
    const out = policy('b', { podSelector: {}, policyTypes: ['Egress'] })
    const lets = policy('a', { podSelector: {}, ingress: [{}] })
    expect(mayReach(network(out, lets), far, web, http)).toBe(false)
    expect(mayReach(network(lets), far, web, http)).toBe(true)
  })

  it.each<
    [string, NonNullable<NetworkPolicy['spec']['ingress']>[number]['from'], Pod | { ip: string }, boolean]
  >([
    ['a pod selector means the own namespace', [{ podSelector: app('other') }], other, true],
    ['and no other one', [{ podSelector: app('other') }], far, false],
    [
      'a namespace selector means all its pods',
      [{ namespaceSelector: { matchLabels: { team: 'blue' } } }],
      far,
      true,
    ],
    ['and only those', [{ namespaceSelector: { matchLabels: { team: 'blue' } } }], other, false],
    [
      'the name of a namespace is a label of it',
      [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'b' } } }],
      far,
      true,
    ],
    [
      'both in one peer have to fit',
      [{ namespaceSelector: { matchLabels: { team: 'blue' } }, podSelector: app('web') }],
      far,
      false,
    ],
    [
      'in two peers either',
      [{ namespaceSelector: { matchLabels: { team: 'blue' } } }, { podSelector: app('web') }],
      far,
      true,
    ],
    ['an empty selector means all', [{ namespaceSelector: {} }], far, true],
    ['but nobody outside', [{ namespaceSelector: {} }], world, false],
    ['no peers at all mean everybody', [], world, true],
    ['a range means who has an address in it', [{ ipBlock: { cidr: '203.0.113.0/28' } }], world, true],
    [
      'less what is excepted',
      [{ ipBlock: { cidr: '203.0.113.0/28', except: ['203.0.113.9/32'] } }],
      world,
      false,
    ],
    ['pods, too', [{ ipBlock: { cidr: '10.0.1.0/24' } }], far, true],
    ['and never those of another family', [{ ipBlock: { cidr: '::/0' } }], world, false],
    ['an address of IPv6', [{ ipBlock: { cidr: '2001:db8::/32' } }], { ip: '2001:db8::7' }, true],
  ])('%s', (_, from, who, allowed) => {
    const spec = { podSelector: app('web'), ingress: [from === undefined ? {} : { from }] }
    expect(mayReach(network(policy('a', spec)), who, web, http)).toBe(allowed)
  })

  it.each<
    [
      string,
      { port?: number | string; endPort?: number; protocol?: 'UDP' }[],
      { number: number; protocol?: 'UDP' },
      boolean,
    ]
  >([
    ['by its number', [{ port: 8_080 }], http, true],
    ['no other', [{ port: 8_080 }], { number: 8_081 }, false],
    ['by its name at the destination', [{ port: 'web' }], http, true],
    ['a name that nobody has', [{ port: 'admin' }], http, false],
    ['within a range', [{ port: 8_000, endPort: 8_100 }], http, true],
    ['of its protocol alone', [{ port: 8_080 }], { number: 8_080, protocol: 'UDP' }, false],
    ['all of a protocol', [{ protocol: 'UDP' }], { number: 53, protocol: 'UDP' }, true],
    ['none named: all', [], { number: 1 }, true],
  ])('a port %s', (_, ports, asked, allowed) => {
    const rules = network(policy('a', { podSelector: app('web'), ingress: [{ ports }] }))
    expect(mayReach(rules, other, web, asked)).toBe(allowed)
  })

  it('knows the four operators', () => {
    const reaches = (matchExpressions: object, who: Pod) => {
      const from = [{ podSelector: { matchExpressions: [matchExpressions] } }]
      const spec = { podSelector: app('web'), ingress: [{ from }] } as NetworkPolicy['spec']
      return mayReach(network(policy('a', spec)), who, web, http)
    }
    const marked = pod('a', 'x', '10.0.0.3', { tier: 'one' })
    expect(reaches({ key: 'tier', operator: 'In', values: ['one'] }, marked)).toBe(true)
    expect(reaches({ key: 'tier', operator: 'In', values: ['one'] }, other)).toBe(false)
    expect(reaches({ key: 'tier', operator: 'NotIn', values: ['one'] }, marked)).toBe(false)
    expect(reaches({ key: 'tier', operator: 'NotIn', values: ['one'] }, other)).toBe(true)
    expect(reaches({ key: 'tier', operator: 'Exists' }, marked)).toBe(true)
    expect(reaches({ key: 'tier', operator: 'Exists' }, other)).toBe(false)
    expect(reaches({ key: 'tier', operator: 'DoesNotExist' }, other)).toBe(true)
  })

  it('without types a policy isolates ingress, and egress where it has rules for it', () => {
    expect(mayReach(network(policy('a', { podSelector: {} })), web, world, http)).toBe(true)
    expect(mayReach(network(policy('a', { podSelector: {}, egress: [] })), web, world, http)).toBe(false)
  })
})
