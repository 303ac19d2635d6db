import { type Principal, ServiceError } from '@service/domain'
import type { User, UserList, UserListQuery } from '@service/wire'
import { and, count, desc, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import type * as v from 'valibot'
import { users } from '../../db/schema/index.ts'
import { asReader, forTenant, type Tx } from '../../db/scope.ts'
import { decodeCursor, pageOf } from '../cursor.ts'
import { before, contains, microseconds } from '../newest-first.ts'
import { guardUsers, type UserContext } from './context.ts'
import { userView } from './rows.ts'

const COLUMNS = {
  id: users.id,
  tenantId: users.tenantId,
  email: users.email,
  displayName: users.displayName,
  role: users.role,
  active: users.active,
  mustChange: sql<boolean>`public.user_must_change(${users.tenantId}, ${users.id})`,
  lastLoginAt: users.lastLoginAt,
  createdAt: users.createdAt,
  at: microseconds(users.createdAt),
}

/** The caller's side's users, newest first. */
export async function listUsers(
  ctx: Pick<UserContext, 'db'>,
  input: { readonly principal: Principal; readonly query: UserListQuery },
): Promise<v.InferOutput<typeof UserList>> {
  const { tenantId } = guardUsers(input.principal, 'user.read')
  const { query } = input
  const after = decodeCursor(query.cursor)
  const filter = and(
    ofScope(tenantId),
    query.role === undefined ? undefined : inArray(users.role, query.role),
    query.active === undefined ? undefined : eq(users.active, query.active),
    query.q === undefined
      ? undefined
      : or(contains(users.email, query.q), contains(users.displayName, query.q)),
  )
  return reading(ctx, tenantId, async ({ q }) => {
    const found = await q
      .select(COLUMNS)
      .from(users)
      .where(and(filter, before(users.createdAt, users.id, after)))
      .orderBy(desc(users.createdAt), desc(users.id))
      .limit(query.limit + 1)
    const page = pageOf(found, query.limit, ({ at, id }) => ({ at, id }))
    const [total] = query.total ? await q.select({ total: count() }).from(users).where(filter) : []
    return {
      items: page.rows.map(userView),
      next_cursor: page.nextCursor,
      ...(total === undefined ? {} : total),
    }
  })
}

export async function getUser(
  ctx: Pick<UserContext, 'db'>,
  input: { readonly principal: Principal; readonly id: string },
): Promise<User> {
  const { tenantId } = guardUsers(input.principal, 'user.read')
  const [row] = await reading(ctx, tenantId, ({ q }) =>
    q
      .select(COLUMNS)
      .from(users)
      .where(and(ofScope(tenantId), eq(users.id, input.id))),
  )
  if (row === undefined) throw new ServiceError('not_found')
  return userView(row)
}

const ofScope = (tenantId: string | null): SQL =>
  tenantId === null ? isNull(users.tenantId) : eq(users.tenantId, tenantId)

/** MSSP users are seen by the bypass role alone (decision 8b). */
const reading = <T>(
  { db }: Pick<UserContext, 'db'>,
  tenantId: string | null,
  fn: (tx: Tx) => Promise<T>,
): Promise<T> => (tenantId === null ? asReader(db, fn) : forTenant(db, tenantId, fn))
