/** The time, as an argument: nothing in the rooms reads the system clock by itself. */
export type Clock = () => Date

/** RFC 3339, UTC, milliseconds and `Z` (decision 1.1). */
export const timestamp = (at: Date): string => at.toISOString()
