import type { Clock } from '@service/domain'

/** The only reader of the system's time in this room; everything else takes a Clock. */
export const systemClock: Clock = () => new Date()
