import { type HitFailpoint, noFailpoints } from '@service/domain'
import type { ArmedFailpoint } from './config/index.ts'

/** Kills this process, as `kill -9` does, when the armed moment comes for the nth time; without one does nothing. */
export function createFailpoint(
  armed: ArmedFailpoint | null,
  kill: () => void = () => process.kill(process.pid, 'SIGKILL'),
): HitFailpoint {
  if (armed === null) return noFailpoints
  let hits = 0
  return (name) => {
    if (name !== armed.name) return
    hits += 1
    if (hits === armed.hit) kill()
  }
}
