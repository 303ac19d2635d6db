import manifest from '../package.json' with { type: 'json' }

/** Version of the control plane. */
export const VERSION: string = manifest.version
