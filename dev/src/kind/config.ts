/** Address or file of the network's manifest, for a cluster whose configuration leaves kind's own out. */
export const networkManifest = (): string | undefined => process.env.E2E_CNI_MANIFEST || undefined
