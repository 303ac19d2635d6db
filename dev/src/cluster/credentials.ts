import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'

/** Who gets a token, and as whom the API server knows it. */
const ACCOUNTS = {
  admin: { user: 'admin', groups: 'system:masters' },
  'controller-manager': { user: 'system:kube-controller-manager', groups: '' },
  scheduler: { user: 'system:kube-scheduler', groups: '' },
} as const

export type Account = keyof typeof ACCOUNTS
export type Tokens = Record<Account, string>

/** Files of a cluster's `pki` folder. Made once and kept, so that tokens survive a restart. */
export interface PkiFiles {
  directory: string
  serviceAccountKey: string
  serviceAccountPublicKey: string
  tokenFile: string
  tokens: Tokens
}

export async function ensurePki(directory: string): Promise<PkiFiles> {
  const files = {
    serviceAccountKey: join(directory, 'service-account.key'),
    serviceAccountPublicKey: join(directory, 'service-account.pub'),
    tokenFile: join(directory, 'tokens.csv'),
  }
  const existing = await readOrUndefined(files.tokenFile)
  if (existing === undefined) {
    const pair = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    await writePrivate(files.serviceAccountKey, pair.privateKey)
    await writePrivate(files.serviceAccountPublicKey, pair.publicKey)
    // Last, because its presence says that the others are there.
    await writePrivate(files.tokenFile, makeTokenFile())
  }
  await dropUnusableCertificate(directory)
  const tokens = parseTokens(existing ?? (await readFile(files.tokenFile, 'utf8')))
  return { directory, ...files, tokens }
}

function makeTokenFile(): string {
  const line = ([name, { user, groups }]: [string, { user: string; groups: string }]): string =>
    `${randomBytes(32).toString('base64url')},${user},${name}${groups === '' ? '' : `,"${groups}"`}`
  return `${Object.entries(ACCOUNTS).map(line).join('\n')}\n`
}

function parseTokens(file: string): Tokens {
  const rows = file.split('\n').map((line) => line.split(','))
  const token = (account: Account): string => {
    const found = rows.find((row) => row[2] === account)?.[0]
    if (found === undefined) throw new Error(`the cluster's token file has no ${account}`)
    return found
  }
  return {
    admin: token('admin'),
    'controller-manager': token('controller-manager'),
    scheduler: token('scheduler'),
  }
}

/**
 * The API server makes its certificate for a year; with less than a month left it shall make a new one.
 * It refuses to start with only one of the two files, as a kill between both writes leaves them.
 */
async function dropUnusableCertificate(directory: string): Promise<void> {
  const certificate = join(directory, 'apiserver.crt')
  const key = join(directory, 'apiserver.key')
  const pem = await readOrUndefined(certificate)
  if (pem !== undefined && (await readOrUndefined(key)) !== undefined && lastsAMonth(pem)) return
  await rm(certificate, { force: true })
  await rm(key, { force: true })
}

function lastsAMonth(pem: string): boolean {
  try {
    return new X509Certificate(pem).validToDate.getTime() > Date.now() + 30 * 24 * 3600 * 1000
  } catch {
    return false
  }
}

/**
 * Takes the issuer's certificate out of the chain that the API server has written for itself
 * (its own certificate first, then the certificate authority's).
 */
export async function writeCaFile(directory: string): Promise<string> {
  const chain = await readFile(join(directory, 'apiserver.crt'), 'utf8')
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  const ca = blocks.at(-1)
  if (ca === undefined || !new X509Certificate(ca).ca) {
    throw new Error('the API server has written no certificate authority into apiserver.crt')
  }
  const file = join(directory, 'ca.crt')
  await writePrivate(file, `${ca}\n`)
  return file
}

/** Writes a kubeconfig (mode 0600) that holds everything and verifies the server by the cluster's CA. */
export async function writeKubeconfig(
  path: string,
  cluster: { server: string; ca: string; user: string; token: string },
): Promise<void> {
  const name = 'service-dev'
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: cluster.user, namespace: 'default' } }],
    clusters: [
      {
        name,
        cluster: {
          server: cluster.server,
          'certificate-authority-data': Buffer.from(cluster.ca).toString('base64'),
        },
      },
    ],
    users: [{ name: cluster.user, user: { token: cluster.token } }],
  }
  await writePrivate(path, stringify(config))
}

async function writePrivate(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

async function readOrUndefined(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
