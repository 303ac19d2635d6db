import type { Connection } from './connection.ts'

const proxiedLine = ({ proxy_mssp_url: url, proxy_trusted_ip: from }: Connection): readonly string[] =>
  url === null ? [] : [`  By proxy   ${url} (trusts ${from ?? 'nobody'}: curl --interface ${from ?? ''})`]

/** What a person needs to look around, on one screen. */
export function describeSystem(connection: Connection): string {
  const kubectl = `kubectl --kubeconfig ${connection.kubeconfig}`
  return [
    '',
    `  API        ${connection.mssp_url}`,
    ...proxiedLine(connection),
    `  Customers  ${connection.customer_url_template}`,
    `  Metrics    ${connection.metrics_url}`,
    `  Indexer    ${connection.indexer_url}/<slug>/`,
    `  Sign in    ${connection.admin.email}  ${connection.admin.password}`,
    '',
    `  ${kubectl} get tenants`,
    `  ${kubectl} describe tenants.service.dev/acme`,
    `  ${kubectl} wait --for=condition=Ready tenants.service.dev/acme`,
    '',
  ].join('\n')
}
