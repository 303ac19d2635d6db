/** File with a system that runs already (e2e/src/kind/world.ts), which the scenarios then use instead of their own. */
export const WORLD_FILE = 'SERVICE_E2E_WORLD'

export const worldFile = (): string | undefined => process.env[WORLD_FILE] || undefined

/** Address or file of the network's manifest, for a cluster whose configuration leaves kind's own out. */
export const networkManifest = (): string | undefined => process.env.E2E_CNI_MANIFEST || undefined
