import { randomPassword, TEMPORARY_PASSWORD_LENGTH } from '../../secrets/random.ts'
import type { UserContext } from './context.ts'

/** A new user's temporary password, stored nowhere but as its hash; null in proxy mode, which has no passwords. */
export async function firstPassword(
  ctx: Pick<UserContext, 'authMode' | 'hashPassword'>,
): Promise<{ readonly password: string; readonly hash: string } | null> {
  if (ctx.authMode === 'proxy') return null
  const password = randomPassword(TEMPORARY_PASSWORD_LENGTH)
  return { password, hash: await ctx.hashPassword(password) }
}
