import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { connectApi, readKubeconfig } from '../cluster/client.ts'
import { ROOT } from './paths.ts'

const CRD_FILE = join(ROOT, 'crds/tenants.service.dev.yaml')
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

type Crd = {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

/** Installs the Tenant definition and waits until the API server serves it. */
export async function installCrds(kubeconfig: string): Promise<void> {
  const crd = parse(await readFile(CRD_FILE, 'utf8')) as Crd
  const api = connectApi(await readKubeconfig(kubeconfig))
  try {
    const path = `${CRDS}/${crd.metadata.name}`
    await api.call('PATCH', `${path}?fieldManager=service-dev&force=true`, { body: crd, patch: 'apply' })
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const seen = await api.call<Crd>('GET', path)
      if (seen.status?.conditions?.some((each) => each.type === 'Established' && each.status === 'True'))
        return
      await sleep(100)
    }
    throw new Error(`the API server does not serve ${crd.metadata.name}`)
  } finally {
    api.close()
  }
}
