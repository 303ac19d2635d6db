import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

type AuditLine = { readonly verb: string; readonly userAgent?: string }

/** Requests that the API server has answered, counted by client program and verb, from its audit log. */
export async function countRequests(auditLog: string): Promise<Map<string, Map<string, number>>> {
  const counts = new Map<string, Map<string, number>>()
  for await (const line of createInterface(createReadStream(auditLog))) {
    const { verb, userAgent = '' } = JSON.parse(line) as AuditLine
    const program = userAgent.split('/')[0] || 'without a name'
    const verbs = counts.get(program) ?? new Map<string, number>()
    counts.set(program, verbs.set(verb, (verbs.get(verb) ?? 0) + 1))
  }
  return counts
}
