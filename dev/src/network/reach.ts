import { BlockList, isIPv6 } from 'node:net'

/**
 * Answers from NetworkPolicies alone who may open a connection to whom, as networking.k8s.io/v1 defines it. Where that
 * leaves room, the worse is taken: a range of addresses also means the pods that have one in it.
 */
export type Labels = Readonly<Record<string, string>>
type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type Pod = {
  readonly namespace: string
  readonly labels: Labels
  readonly ip: string
  /** What policies may mean by a name; of other ports only the number counts. */
  readonly ports: readonly { readonly name?: string; readonly containerPort: number }[]
}
/** Whoever is no pod: the world outside, a node, the API server. */
export type Outside = { readonly ip: string }
export type Port = { readonly number: number; readonly protocol?: Protocol }

type Selector = {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}
type PolicyPeer = {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}
type PolicyPort = {
  readonly protocol?: Protocol
  readonly port?: number | string
  readonly endPort?: number
}
type Rule = { readonly ports?: readonly PolicyPort[] | null }
type IngressRule = Rule & { readonly from?: readonly PolicyPeer[] | null }
type EgressRule = Rule & { readonly to?: readonly PolicyPeer[] | null }
export type NetworkPolicy = {
  readonly kind: 'NetworkPolicy'
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: {
    readonly podSelector?: Selector
    readonly policyTypes?: readonly ('Ingress' | 'Egress')[]
    readonly ingress?: readonly IngressRule[] | null
    readonly egress?: readonly EgressRule[] | null
  }
}

export type Network = {
  readonly policies: readonly NetworkPolicy[]
  /** Labels by name of the namespace; the one that every namespace has need not be among them. */
  readonly namespaces: Readonly<Record<string, Labels>>
}

/** Both ends have to agree: the source to let it out, the destination to let it in. */
export const mayReach = (network: Network, from: Pod | Outside, to: Pod | Outside, port: Port): boolean =>
  letsOut(network, from, to, port) && letsIn(network, from, to, port)

function letsOut(network: Network, from: Pod | Outside, to: Pod | Outside, port: Port): boolean {
  const policies = policiesOf(network, from, 'Egress')
  return (
    policies.length === 0 ||
    policies.some((policy) =>
      (policy.spec.egress ?? []).some(
        (rule) => anyPeer(network, policy, rule.to, to) && anyPort(rule.ports, to, port),
      ),
    )
  )
}

function letsIn(network: Network, from: Pod | Outside, to: Pod | Outside, port: Port): boolean {
  const policies = policiesOf(network, to, 'Ingress')
  return (
    policies.length === 0 ||
    policies.some((policy) =>
      (policy.spec.ingress ?? []).some(
        (rule) => anyPeer(network, policy, rule.from, from) && anyPort(rule.ports, to, port),
      ),
    )
  )
}

const isPod = (one: Pod | Outside): one is Pod => 'namespace' in one

/** Those that isolate it in this direction; whoever has none is free, and what is no pod has none. */
function policiesOf({ policies }: Network, one: Pod | Outside, type: 'Ingress' | 'Egress'): NetworkPolicy[] {
  if (!isPod(one)) return []
  return policies.filter(
    ({ metadata, spec }) =>
      (metadata.namespace ?? 'default') === one.namespace &&
      selects(spec.podSelector ?? {}, one.labels) &&
      typesOf(spec).includes(type),
  )
}

const typesOf = ({ policyTypes, egress }: NetworkPolicy['spec']): readonly string[] =>
  policyTypes ?? (egress === undefined || egress === null ? ['Ingress'] : ['Ingress', 'Egress'])

/** Without peers a rule means everybody. */
function anyPeer(
  network: Network,
  policy: NetworkPolicy,
  peers: readonly PolicyPeer[] | null | undefined,
  one: Pod | Outside,
): boolean {
  if (peers === undefined || peers === null || peers.length === 0) return true
  return peers.some((peer) => isPeer(network, policy, peer, one))
}

function isPeer(
  { namespaces }: Network,
  { metadata }: NetworkPolicy,
  { ipBlock, podSelector, namespaceSelector }: PolicyPeer,
  one: Pod | Outside,
): boolean {
  if (ipBlock !== undefined) {
    return within(ipBlock.cidr, one.ip) && !(ipBlock.except ?? []).some((cidr) => within(cidr, one.ip))
  }
  if (!isPod(one)) return false
  const own = { 'kubernetes.io/metadata.name': one.namespace, ...namespaces[one.namespace] }
  const placed =
    namespaceSelector === undefined
      ? one.namespace === (metadata.namespace ?? 'default')
      : selects(namespaceSelector, own)
  return placed && selects(podSelector ?? {}, one.labels)
}

/** Without ports a rule means all of them; a name is looked up at the destination, which alone has names. */
function anyPort(
  ports: readonly PolicyPort[] | null | undefined,
  to: Pod | Outside,
  { number, protocol = 'TCP' }: Port,
): boolean {
  if (ports === undefined || ports === null || ports.length === 0) return true
  return ports.some((rule) => {
    if ((rule.protocol ?? 'TCP') !== protocol) return false
    if (rule.port === undefined) return true
    if (typeof rule.port === 'number') return number >= rule.port && number <= (rule.endPort ?? rule.port)
    return (
      isPod(to) && to.ports.some(({ name, containerPort }) => name === rule.port && containerPort === number)
    )
  })
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value)
  return (
    equal &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        default:
          return value === undefined
      }
    })
  )
}

function within(cidr: string, ip: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/')
  if (isIPv6(network) !== isIPv6(ip)) return false
  const family = isIPv6(network) ? 'ipv6' : 'ipv4'
  const list = new BlockList()
  list.addSubnet(network, Number(prefix), family)
  return list.check(ip, family)
}
