import { lintIsolation, withConnection } from '@service/api/database'
import { startTestPostgres } from './test-server.ts'

/** `make verify`: migrates an empty database and reads its catalogue; exit code 1 and one line for each finding. */
const server = await startTestPostgres()
try {
  const findings = await withConnection(server.urls.admin, 'service-lint', lintIsolation)
  for (const { rule, object, message } of findings) console.error(`${object} ${message} (${rule})`)
  console.log(`tenant isolation: ${findings.length} findings`)
  process.exitCode = findings.length === 0 ? 0 : 1
} finally {
  await server.stop()
}
