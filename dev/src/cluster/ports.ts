import { readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'

export interface ClusterPorts {
  apiserver: number
  etcd: number
  etcdPeer: number
}

/**
 * The ports of a cluster: what was asked for, else what it had in its last life (so that its URL stays), else
 * free ones. Rejects when the API server's own port is taken; the others move.
 */
export async function choosePorts(file: string, wanted: Partial<ClusterPorts>): Promise<ClusterPorts> {
  const earlier = await readPorts(file)
  const taken = new Set<number>()
  const choose = async (name: keyof ClusterPorts): Promise<number> => {
    const fixed = wanted[name] ?? earlier[name]
    if (fixed !== undefined && (await isFree(fixed))) return fixed
    if (fixed !== undefined && name === 'apiserver') {
      throw new Error(`Port ${fixed} of 127.0.0.1, the cluster's API server's, is in use by another program.`)
    }
    for (;;) {
      const port = await freePort()
      if (!taken.has(port)) return port
    }
  }
  const ports: ClusterPorts = { apiserver: 0, etcd: 0, etcdPeer: 0 }
  for (const name of ['apiserver', 'etcd', 'etcdPeer'] as const) {
    ports[name] = await choose(name)
    taken.add(ports[name])
  }
  await writeFile(`${file}.new`, JSON.stringify(ports))
  await rename(`${file}.new`, file)
  return ports
}

async function readPorts(file: string): Promise<Partial<ClusterPorts>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Partial<ClusterPorts>
  } catch {
    return {}
  }
}

/** A port of 127.0.0.1 that nobody listens on at this moment. */
export function freePort(): Promise<number> {
  return listenOnce(0)
}

/** True when nobody listens on this port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  )
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
}
