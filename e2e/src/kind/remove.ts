import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { guideSection, NAMESPACE, runGuide, signIn } from '@service/dev'
import type { KindWorld } from '@service/dev'
import type { Tenant } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allObjects, type KubeObject } from '../everywhere.ts'
import { startWorld, until, type World } from '../harness.ts'
import { readWorld, secretsOf, tenantPods } from './live.ts'

const GUIDE = resolve(import.meta.dirname, '../../../docs/install.md')
/** In the form in which the guide writes it. */
const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** Not the release's: what Kubernetes puts into every namespace, what expires by itself, and the scenarios' own doors. */
const FOREIGN_KINDS = ['Event', 'PodMetrics']
const FOREIGN = /^(kube-root-ca\.crt|default|dev-.*)$/

/** What the guide says that an uninstall leaves. */
async function namedByGuide(): Promise<string[]> {
  const text = await readFile(GUIDE, 'utf8')
  const list = /This leaves, on purpose[^]*?(?=\n\n(?!-))/.exec(text)?.[0] ?? ''
  const inList = [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  const inTable = [...text.matchAll(/^\| `(service-system-[a-z-]+)` \|/gm)].map(([, name = '']) => name)
  return [...new Set([...inList, ...inTable])].toSorted()
}

/** What is there of the install, by the names that the guide uses; a tenant's namespace stands for all that is in it. */
async function present(world: World): Promise<string[]> {
  const objects = await allObjects(world)
  return [...new Set(objects.filter(belongs).map(nameOf))].toSorted()
}

function belongs({ kind, metadata, spec }: KubeObject): boolean {
  const { name, namespace, labels } = metadata
  if (FOREIGN_KINDS.includes(kind) || FOREIGN.test(name)) return false
  return (
    namespace === NAMESPACE ||
    labels?.['app.kubernetes.io/instance'] === NAMESPACE ||
    (namespace === undefined && name.startsWith(NAMESPACE)) ||
    (kind === 'Namespace' && name.startsWith('tenant-')) ||
    (kind === 'CustomResourceDefinition' && name.endsWith('.service.dev')) ||
    kind === 'Tenant' ||
    (kind === 'PersistentVolume' && claimOf(spec).namespace === NAMESPACE)
  )
}

const claimOf = (spec: unknown): { namespace?: string; name?: string } =>
  (spec as { claimRef?: { namespace: string; name: string } }).claimRef ?? {}

function nameOf({ kind, metadata, spec }: KubeObject): string {
  if (kind === 'Tenant') return 'tenants.service.dev'
  if (kind === 'Namespace' && metadata.name.startsWith('tenant-')) return 'tenant-*'
  if (kind === 'PersistentVolume') return claimOf(spec).name ?? metadata.name
  return metadata.name.replaceAll(ID, '<id>')
}

/** Minutes pass, in which a node that is short of time restarts a container: the pod stays. */
const podNames = async (world: World): Promise<string[]> => (await tenantPods(world)).map(({ pod }) => pod)

export function removing(): void {
  describe('a removal and an installation after it', () => {
    let world: World
    let kind: KindWorld
    let pods: string[]
    let secrets: Readonly<Record<string, string>>
    beforeAll(async () => {
      kind = await readWorld()
      world = await startWorld({ separateOperator: false })
      pods = await podNames(world)
      secrets = await secretsOf(world)
    })
    afterAll(() => world?.end())

    it('leaves exactly what the guide names, and the pods of tenants', async () => {
      await runGuide(kind.guide, await guideSection('Remove it'), console.log)
      const named = await namedByGuide()
      expect(named.length).toBeGreaterThan(10)
      // What belonged to something that is gone goes a moment later.
      await until('the rest to go', async () => (await present(world)).length <= named.length, 60_000).catch(
        () => undefined,
      )
      expect(await present(world)).toEqual(named)
      expect(await podNames(world)).toEqual(pods)
    })

    it('takes all of it over again', async () => {
      await runGuide(kind.guide, await guideSection('Upgrade'), console.log)
      const rest = await until('the administrator to be let in', () => signIn(world.connection))
      const { items } = await rest.call<{ items: Tenant[] }>('GET', '/api/mssp/tenants?limit=200')
      expect(items.length).toBeGreaterThan(0)
      expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['active']))
      expect(await secretsOf(world)).toEqual(secrets)
      expect(await podNames(world)).toEqual(pods)
    })
  })
}
