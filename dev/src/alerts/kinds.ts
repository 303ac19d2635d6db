import { agentWith } from './cast.ts'
import type { Random } from './random.ts'
import { HOST_KINDS } from './host.ts'
import { LOGIN_KINDS } from './login.ts'
import type { Kind, Scene } from './scene.ts'
import { WEB_KINDS } from './web.ts'
import { WINDOWS_KINDS } from './windows.ts'

export const KINDS: readonly Kind[] = [...LOGIN_KINDS, ...HOST_KINDS, ...WEB_KINDS, ...WINDOWS_KINDS]
const TOTAL = KINDS.reduce((sum, kind) => sum + kind.weight, 0)

export function pickScene(random: Random, at: Date): { kind: Kind; scene: Scene } {
  let left = random.next() * TOTAL
  const kind = KINDS.find((candidate) => (left -= candidate.weight) < 0) ?? KINDS[0]
  if (kind === undefined) throw new Error('there are no kinds of alerts')
  return { kind, scene: { random, agent: agentWith(random, kind.os), at } }
}
