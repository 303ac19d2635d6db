import { join } from 'node:path'
import { startProcess } from '../process.ts'
import type { RunningProcess } from '../process.ts'
import { readSystemConfig } from '../system/config.ts'
import { ROOT } from '../system/paths.ts'
import type { System } from '../system/system.ts'

/** An operator of a running system as a process that nobody supervises: when it is killed, it is not started again. */
export function startOperatorProcess(
  system: System,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  return startProcess('operator', process.execPath, [join(ROOT, 'operator/src/main.ts')], {
    logFile: join(directory, 'operators.log'),
    env: { ...readSystemConfig().childEnv, ...system.operatorEnvironment(), ...env },
  })
}
