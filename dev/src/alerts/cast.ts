import type { Random } from './random.ts'

export type Agent = {
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly os: 'linux' | 'windows'
}

/** The hosts of an invented customer. Addresses come from the ranges that are kept for documentation. */
export const AGENTS: readonly [Agent, ...Agent[]] = [
  { id: '001', name: 'web-01', ip: '192.0.2.11', os: 'linux' },
  { id: '002', name: 'web-02', ip: '192.0.2.12', os: 'linux' },
  { id: '003', name: 'db-01', ip: '192.0.2.21', os: 'linux' },
  { id: '004', name: 'build-01', ip: '192.0.2.31', os: 'linux' },
  { id: '005', name: 'mail-01', ip: '192.0.2.41', os: 'linux' },
  { id: '006', name: 'dc-01', ip: '192.0.2.51', os: 'windows' },
  { id: '007', name: 'ws-alice', ip: '192.0.2.101', os: 'windows' },
  { id: '008', name: 'ws-bruno', ip: '192.0.2.102', os: 'windows' },
]
const LINUX = AGENTS.filter(({ os }) => os === 'linux') as [Agent, ...Agent[]]
const WINDOWS = AGENTS.filter(({ os }) => os === 'windows') as [Agent, ...Agent[]]

export const agentWith = (random: Random, os: Agent['os']): Agent =>
  random.pick(os === 'linux' ? LINUX : WINDOWS)

const OUTSIDE = ['198.51.100.', '203.0.113.'] as const
export const outsider = (random: Random): string => `${random.pick(OUTSIDE)}${random.whole(1, 254)}`
export const user = (random: Random): string =>
  random.pick(['alice', 'bruno', 'chiara', 'dmitri', 'backup', 'deploy', 'svc-report'])
export const guessedUser = (random: Random): string =>
  random.pick(['root', 'admin', 'test', 'oracle', 'git', 'ubuntu', 'guest'])
