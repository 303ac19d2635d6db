/** A small repeatable source of numbers (mulberry32): the same seed gives the same alerts everywhere. */
export type Random = {
  /** From 0 up to but not including 1. */
  next: () => number
  /** A whole number, both ends included. */
  whole: (min: number, max: number) => number
  pick: <T>(choices: readonly [T, ...T[]]) => T
  hex: (digits: number) => string
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const whole = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    whole,
    pick: (choices) => choices[whole(0, choices.length - 1)] ?? choices[0],
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(''),
  }
}
