import { randomBytes, randomUUID } from 'node:crypto'
import { type MsspPrincipal, type MsspRole, noFailpoints } from '@service/domain'
import { createKubeClient, type KubeClient } from '@service/kube'
import { TenantCreate } from '@service/wire'
import * as v from 'valibot'
import { testCluster } from '../../../dev/src/cluster/testing.ts'
import { createMaterialStore } from '../../src/secrets/material.ts'
import { createServiceTokens, type ServiceTokens } from '../../src/tokens/tokens.ts'
import type { CreateTenantContext } from '../../src/verbs/tenant/create.ts'
import type { GetTenantContext } from '../../src/verbs/tenant/get.ts'
import { testDatabase, type TestDatabase } from './database.ts'

export type Fixture = TestDatabase & {
  readonly cluster: KubeClient
  readonly kubeconfigPath: string
  readonly tokens: ServiceTokens
  readonly tenants: CreateTenantContext & GetTenantContext
}

export const INSTALL = {
  msspId: '0197a000-0000-7000-8000-00000000000a',
  installId: '0197a000-0000-7000-8000-00000000000b',
} as const
export const PINS = {
  chart: { ref: '', version: '0.1.0' },
  images: { adapter: '', runsWorker: '', linuxEp: '' },
} as const

/** A database of its own and, unless told otherwise, the run's cluster, with an install namespace of its own. */
export async function startFixture(
  startCluster: () => Promise<{ kubeconfigPath: string; stop: () => Promise<void> }> = testCluster,
): Promise<Fixture> {
  const [database, kube] = await Promise.all([testDatabase(), startCluster()])
  const cluster = createKubeClient({ kubeconfigPath: kube.kubeconfigPath, userAgent: 'service-api-test' })
  const clock = () => new Date()
  const tokens = createServiceTokens({ adapter: [randomBytes(32)], worker: [randomBytes(32)] }, clock)
  const installNamespace = `install-${randomUUID().slice(0, 8)}`
  return {
    ...database,
    cluster,
    kubeconfigPath: kube.kubeconfigPath,
    tokens,
    tenants: {
      db: database.db,
      clock,
      tokens,
      material: createMaterialStore(cluster, installNamespace),
      installNamespace,
      provisioning: {
        llm: { provider: 'openai-compatible', baseUrl: 'https://llm.example.com/v1', model: 'small' },
        ...PINS,
        reservedSlugs: new Set(['www', 'console']),
      },
      authMode: 'internal',
      // The hasher has tests of its own, and takes its time.
      hashPassword: async () => '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$aGFzaA',
      wake: () => undefined,
      hit: noFailpoints,
      customerUrl: (slug) => `http://${slug}.localhost:8080`,
      fingerprintKey: randomBytes(32),
    },
    async stop() {
      await cluster.close()
      await database.stop()
      await kube.stop()
    },
  }
}

export const msspUser = (role: MsspRole = 'mssp_admin'): MsspPrincipal => ({
  kind: 'user',
  audience: 'mssp',
  userId: randomUUID(),
  role,
  tenantId: null,
  currentTenant: null,
  sessionId: null,
})

/** A slug that no other test has. */
export const freshSlug = (prefix = 't'): string => `${prefix}-${randomBytes(5).toString('hex')}`

export const tenantInput = (input: Record<string, unknown> = {}): TenantCreate =>
  v.parse(TenantCreate, { slug: freshSlug(), display_name: 'Acme Corporation', ...input })
