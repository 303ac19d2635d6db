// oxlint-disable-next-line import/no-unassigned-import -- the library's container of algorithms asks for it
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** PEM; the key is PKCS #8, as the indexer wants it. */
export type KeyPair = { readonly certificate: string; readonly key: string }

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
const CA_DAYS = 3_650
const LEAF_DAYS = 730
/** Clocks differ. */
const SKEW_MS = 300_000
/** So long before its end a leaf is made anew; time enough for a restart of the workloads. */
const RENEW_BEFORE_MS = 60 * DAY_MS

/** The certificate authority of one tenant, which signs nothing but the leaves of its own stack. */
export async function createAuthority(tenantId: string, now: Date): Promise<KeyPair> {
  const keys = await generateKeys()
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=service-ca,OU=${tenantId}`,
      ...validity(now, CA_DAYS),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  )
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) }
}

/** A certificate for both ends of a connection: the indexer is server and, to itself, client. */
export async function issueLeaf(
  authority: KeyPair,
  commonName: string,
  hosts: readonly string[],
  now: Date,
): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.certificate)
  const keys = await generateKeys()
  const certificate = await X509CertificateGenerator.create(
    {
      // One part only: there is no order of parts that the indexer could see otherwise.
      subject: `CN=${commonName}`,
      issuer: issuer.subjectName,
      ...validity(now, LEAF_DAYS),
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: await signingKeyOf(authority),
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
        await AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, webcrypto),
        ...(hosts.length === 0
          ? []
          : [new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns' as const, value })))]),
      ],
    },
    webcrypto,
  )
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) }
}

/** Whether a leaf is one of this authority and stays so for a while. Text that is no certificate is none. */
export async function isLastingLeaf(certificate: string, authority: string, now: Date): Promise<boolean> {
  try {
    const leaf = new X509Certificate(certificate)
    const issuer = new X509Certificate(authority)
    const signed = await leaf.verify({ publicKey: issuer.publicKey, signatureOnly: true }, webcrypto)
    return signed && leaf.notAfter.getTime() - now.getTime() > RENEW_BEFORE_MS
  } catch {
    return false
  }
}

const generateKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])

const validity = (now: Date, days: number) => ({
  notBefore: new Date(now.getTime() - SKEW_MS),
  notAfter: new Date(now.getTime() + days * DAY_MS),
})

const pemOf = async (key: webcrypto.CryptoKey): Promise<string> =>
  PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')

const signingKeyOf = ({ key }: KeyPair) =>
  webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(key), ALGORITHM, false, ['sign'])
