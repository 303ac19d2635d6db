/**
 * Milliseconds on the clock that only goes forward and that all processes of a machine share: an instant of it means the
 * same to a child. `Infinity` may stand for an instant that never comes.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000
