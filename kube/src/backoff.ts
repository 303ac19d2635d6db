export type BackoffOptions = {
  readonly firstMs: number
  readonly maxMs: number
  /** Returns [0, 1). */
  readonly random?: () => number
}

/** Doubling delay with up to 40 % on top, so that many clients of one fault do not come back together. */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const random = options.random ?? Math.random
  const base = Math.min(options.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30), options.maxMs)
  return base * (1 + 0.4 * random())
}
