import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { connectApi, readKubeconfig } from '../../dev/src/cluster/client.ts'
import type { ApiClient } from '../../dev/src/cluster/client.ts'
import { testCluster } from '../../dev/src/cluster/testing.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const FILE = new URL('../tenants.service.dev.yaml', import.meta.url)

export type CrdFile = {
  metadata: { name: string }
  spec: { group: string; versions: [{ name: string }] }
}
type Stored = {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number }
  readonly spec: Record<string, unknown>
  readonly status?: Record<string, unknown>
}
type Change = Readonly<Record<string, unknown>>

export const readCrdFile = async (): Promise<CrdFile> => parse(await readFile(FILE, 'utf8')) as CrdFile

/**
 * The definition on a real API server, in a group of its own: whoever watches Tenants in the same cluster must not see
 * the ones of these tests. Only the group differs from the file.
 */
export async function serveCrd() {
  const cluster = await testCluster()
  const api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
  const crd = await readCrdFile()
  const group = `t${crypto.randomUUID().slice(0, 8)}.service.dev`
  const name = `tenants.${group}`
  const apiVersion = `${group}/${crd.spec.versions[0].name}`
  const path = `/apis/${apiVersion}/tenants`
  const end = async (): Promise<void> => {
    try {
      await api.call('DELETE', `${CRDS}/${name}`)
    } finally {
      api.close()
      await cluster.stop()
    }
  }
  try {
    await api.call('POST', CRDS, { body: { ...crd, metadata: { name }, spec: { ...crd.spec, group } } })
    await untilServed(api, path)
  } catch (error) {
    await end().catch(() => undefined)
    throw error
  }

  let made = 0
  const create = (spec: unknown, options: { name?: string; query?: string } = {}): Promise<Stored> => {
    made += 1
    const metadata = { name: options.name ?? `case-${made}` }
    return api.call('POST', `${path}${options.query ?? ''}`, {
      body: { apiVersion, kind: 'Tenant', metadata, spec },
    })
  }
  return {
    api,
    apiVersion,
    path,
    cluster,
    create,
    /** `null` removes a key, as a merge patch does. */
    change: (name: string, spec: Change) => api.call<Stored>('PATCH', `${path}/${name}`, { body: { spec } }),
    report: (name: string, status: Change) =>
      api.call<Stored>('PATCH', `${path}/${name}/status`, { body: { status } }),
    end,
  }
}

/** A new resource is first unknown (404) and then initializing (429). */
async function untilServed(api: ApiClient, path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return void (await api.call('GET', path))
    } catch (error) {
      if (attempt === 200) throw error
      await sleep(50)
    }
  }
}

export type ServedCrd = Awaited<ReturnType<typeof serveCrd>>
