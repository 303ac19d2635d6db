import { createHash } from 'node:crypto'
import { TENANT_SECRETS } from '@service/domain'

const { wazuhAuthd, wazuhCa, wazuhCredentials, indexerTls, managerTls, dashboardTls } = TENANT_SECRETS

/** What each part of the stack reads when it starts and never again. Ours read their files anew and are not among them. */
const READ_AT_START = {
  manager: [managerTls, wazuhAuthd, wazuhCredentials],
  indexer: [indexerTls],
  dashboard: [dashboardTls, wazuhCredentials],
  linuxep: [wazuhAuthd, wazuhCa],
} as const
export type SecretChecksums = { readonly [Part in keyof typeof READ_AT_START]: string }

/**
 * Equal as long as a part would read the same. A digest tells nothing about what is in it: each covers a random secret of at
 * least 32 characters, or a certificate that anybody may see. `data` is by the name of the Secret, as Kubernetes has it.
 */
export function checksumsOf(data: ReadonlyMap<string, Readonly<Record<string, string>>>): SecretChecksums {
  const parts = Object.entries(READ_AT_START).map(([part, secrets]) => {
    const read = secrets.map(({ name, keys }) => [name, keys.map((key) => data.get(name)?.[key] ?? '')])
    return [part, createHash('sha256').update(JSON.stringify(read)).digest('hex')] as const
  })
  return Object.fromEntries(parts) as SecretChecksums
}
