import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, isFree } from '../cluster/ports.ts'

const PREFERRED = {
  api: 8080,
  metrics: 9090,
  postgres: 5433,
  indexer: 9201,
  proxied: 8081,
  proxiedMetrics: 9091,
} as const
export type SystemPorts = { readonly [Name in keyof typeof PREFERRED]: number }

/** What one development system keeps for its whole life, so that a restart changes no URL and no password. */
export type Kept = {
  readonly ports: SystemPorts
  readonly admin: { readonly email: string; readonly password: string }
  readonly msspId: string
  readonly installId: string
  readonly jwtKey: string
  readonly adapterKey: string
}

/** Reads what was kept, makes what is missing, and moves a port that somebody else has taken. */
export async function keep(dataDir: string, anyPorts = false): Promise<Kept> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const file = join(dataDir, 'kept.json')
  const earlier = await readKept(file)
  const kept: Kept = {
    admin: { email: 'admin@mssp.example', password: randomBytes(15).toString('base64url') },
    msspId: randomUUID(),
    installId: randomUUID(),
    jwtKey: randomBytes(48).toString('base64'),
    adapterKey: randomBytes(48).toString('base64'),
    ...earlier,
    ports: await choosePorts(earlier.ports, anyPorts),
  }
  await writeFile(`${file}.new`, JSON.stringify(kept, null, 2), { mode: 0o600 })
  await rename(`${file}.new`, file)
  return kept
}

async function readKept(file: string): Promise<Partial<Kept>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Partial<Kept>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Error(`${file} cannot be read; remove it to begin anew`, { cause: error })
  }
}

async function choosePorts(earlier: SystemPorts | undefined, anyPorts: boolean): Promise<SystemPorts> {
  const taken = new Set<number>()
  const choose = async (wanted: number | undefined): Promise<number> => {
    let port = wanted !== undefined && (await isFree(wanted)) ? wanted : await freePort()
    while (taken.has(port)) port = await freePort()
    taken.add(port)
    return port
  }
  const names = Object.keys(PREFERRED) as (keyof SystemPorts)[]
  const ports: Record<string, number> = {}
  for (const name of names)
    ports[name] = await choose(earlier?.[name] ?? (anyPorts ? undefined : PREFERRED[name]))
  return ports as SystemPorts
}
