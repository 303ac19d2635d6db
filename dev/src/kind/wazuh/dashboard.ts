import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { needed } from './config.ts'

const CONFIG = '/usr/share/wazuh-dashboard/config'
const PORT = 5_601

export async function startDashboard(): Promise<void> {
  for (const name of ['DASHBOARD_USERNAME', 'DASHBOARD_PASSWORD', 'API_USERNAME', 'API_PASSWORD'])
    needed(name)
  await readFile(`${CONFIG}/opensearch_dashboards.yml`)
  const file = (name: string) => readFile(`${CONFIG}/certs/${name}`)
  const tls = { key: await file('tls.key'), cert: await file('tls.crt') }
  const server = createServer(tls, ({ url }, response) => {
    response.writeHead(url === '/app/login' ? 200 : 404).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(PORT, resolve)
  })
  console.log('the dashboard is up')
}
