import * as v from 'valibot'
import { imageDigest, imageRepository, imageTag } from '../image.ts'
import { matching } from '../kubernetes.ts'

const SECRET_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const OPTIONAL_SECRET_NAME = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/
const SECRET_KEY = /^[A-Za-z0-9._-]{1,253}$/
const QUANTITY = /^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/

export const quantity = (description: string) => matching(QUANTITY, 32, description)
export const secretKey = (description: string) => matching(SECRET_KEY, 253, description)
export const secretName = (description: string) => matching(SECRET_NAME, 253, description)
/** Empty stands for no Secret. */
export const optionalSecretName = (description: string) => matching(OPTIONAL_SECRET_NAME, 253, description)

type Amounts = { readonly cpu: string; readonly memory: string }

/** Processor time and memory. */
export const amounts = (fallback: Amounts, description: string) =>
  v.optional(
    v.pipe(
      v.strictObject({
        cpu: v.optional(quantity('Processor time.'), fallback.cpu),
        memory: v.optional(quantity('Memory.'), fallback.memory),
      }),
      v.description(description),
    ),
    {},
  )

/** Requests and limits, with the numbers that hold when none are given. */
export const resources = (fallback: { readonly requests: Amounts; readonly limits: Amounts }) =>
  v.optional(
    v.pipe(
      v.strictObject({
        requests: amounts(fallback.requests, 'What the scheduler reserves.'),
        limits: amounts(fallback.limits, 'What may be used at most.'),
      }),
      v.description('Requests and limits of the container.'),
    ),
    {},
  )

/** A Secret of the tenant's namespace and one of its keys. Secrets reach the chart in no other way. */
export const secretKeyRef = (name: string, key: string, description: string) =>
  v.optional(
    v.pipe(
      v.strictObject({
        name: v.optional(secretName('Name of the Secret.'), name),
        key: v.optional(secretKey('Key in the Secret.'), key),
      }),
      v.description(description),
    ),
    {},
  )

/** The same for what need not be there. */
export const optionalSecretKeyRef = (
  fallback: { readonly name: string; readonly key: string },
  description: string,
) =>
  v.optional(
    v.pipe(
      v.strictObject({
        name: v.optional(optionalSecretName('Name of the Secret; empty for none.'), fallback.name),
        key: v.optional(secretKey('Key in the Secret.'), fallback.key),
      }),
      v.description(description),
    ),
    {},
  )

export const image = (repository: string, tag: string, description: string) =>
  v.optional(
    v.pipe(
      v.strictObject({
        repository: v.optional(imageRepository('Repository, with its registry if it needs one.'), repository),
        tag: v.optional(imageTag('Tag; may be empty when a digest is given.'), tag),
        digest: v.optional(imageDigest('Digest, sha256:…; it wins over the tag.'), ''),
        pullPolicy: v.optional(
          v.pipe(v.picklist(['Always', 'IfNotPresent', 'Never']), v.description('When the image is pulled.')),
          'IfNotPresent',
        ),
      }),
      v.description(description),
    ),
    {},
  )

export const persistence = (size: string) =>
  v.optional(
    v.pipe(
      v.strictObject({ size: v.optional(quantity('Size of the volume.'), size) }),
      v.description('The volume.'),
    ),
    {},
  )

/** Label keys and values. */
export const labels = (description: string) =>
  v.pipe(v.record(v.string(), matching(LABEL_VALUE, 63, 'Value of the label.')), v.description(description))
