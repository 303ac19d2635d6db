import { matching } from './kubernetes.ts'

const PART = '[a-z0-9]+([._-]+[a-z0-9]+)*'
const REPOSITORY = `${PART}(:[0-9]+/${PART})?(/${PART})*`
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}'
const DIGEST = 'sha256:[0-9a-f]{64}'
const REFERENCE = new RegExp(`^(${REPOSITORY})?(:${TAG})?(@${DIGEST})?$`)

/** What an image reference says; a part that it does not name is empty. */
export type ImageParts = { readonly repository: string; readonly tag: string; readonly digest: string }

/** `[repository][:tag][@digest]`: every part may be missing and then stands for the chart's default. */
export const imageReference = (description: string) => matching(REFERENCE, 500, description)

export const imageRepository = (description: string) =>
  matching(new RegExp(`^${REPOSITORY}$`), 500, description)
export const imageTag = (description: string) => matching(new RegExp(`^(${TAG})?$`), 128, description)
export const imageDigest = (description: string) => matching(new RegExp(`^(${DIGEST})?$`), 71, description)

/** The parts of a reference, `undefined` when it is none. */
export function parseImage(reference: string): ImageParts | undefined {
  if (!REFERENCE.test(reference)) return undefined
  const [name = '', digest = ''] = reference.split('@')
  // A colon before a slash belongs to the port of a registry.
  const colon = name.lastIndexOf(':')
  if (colon <= name.lastIndexOf('/') && colon !== 0) return { repository: name, tag: '', digest }
  return { repository: name.slice(0, colon), tag: name.slice(colon + 1), digest }
}
