import { spawn } from 'node:child_process'
import { ensureTools } from '../cluster/tools.ts'

const TIMEOUT_MS = 360_000

export type Run = (args: readonly string[], input?: string) => Promise<string>
export type ClusterTools = { readonly kubectl: Run; readonly helm: Run }

/** kubectl and helm for one cluster, and for no other whatever the environment says. */
export async function clusterTools(kubeconfig: string): Promise<ClusterTools> {
  const { kubectl, helm } = await ensureTools()
  const of =
    (program: string): Run =>
    (args, input) =>
      run(program, ['--kubeconfig', kubeconfig, ...args], input)
  return { kubectl: of(kubectl), helm: of(helm) }
}

function run(program: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(program, [...args], { timeout: TIMEOUT_MS })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) return resolve(stdout)
      const command = args.slice(2, 5).join(' ')
      reject(new Error(`${program.split('/').at(-1)} ${command} ended with ${code}: ${stderr.slice(-4_000)}`))
    })
  })
}
