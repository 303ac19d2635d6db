/** Whether all of it, failed or not, has ended before the time is up; nothing is cancelled. */
export async function settledWithin(ms: number, work: readonly unknown[]): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(() => late.resolve(false), ms)
  const done = Promise.allSettled(work).then(() => true)
  const inTime = await Promise.race([done, late.promise])
  clearTimeout(timer)
  return inTime
}
