/** File with a system that runs already (dev/src/kind/world.ts), which the scenarios then use instead of their own. */
export const WORLD_FILE = 'SERVICE_E2E_WORLD'

export const worldFile = (): string | undefined => process.env[WORLD_FILE] || undefined
