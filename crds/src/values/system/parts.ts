import * as v from 'valibot'
import { imageDigest, imageRepository, imageTag } from '../../image.ts'
import { matching, text } from '../../kubernetes.ts'
import { labels, optionalSecretName, secretKey, secretName } from '../parts.ts'

const REGISTRY = /^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(\/[a-z0-9._-]+)*)?$/
const OPTIONAL_REPOSITORY = /^([a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*)?$/
const PINNED_TAG = /^([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$/
const CIDR = /^[0-9a-fA-F.:]{2,39}\/[0-9]{1,3}$/
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const OPTIONAL_DNS_LABEL = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/

export const registry = (description: string) => matching(REGISTRY, 255, description)
/** A digest may stand behind the tag, or alone: `1.2.3`, `1.2.3@sha256:…`, `@sha256:…`, or empty. */
export const pinnedTag = (description: string) => matching(PINNED_TAG, 200, description)
export const optionalRepository = (description: string) => matching(OPTIONAL_REPOSITORY, 500, description)
export const dnsLabel = (description: string) => matching(DNS_LABEL, 63, description)
export const optionalDnsLabel = (description: string) => matching(OPTIONAL_DNS_LABEL, 63, description)

/** An object of named keys, each with a default of its own. */
export const group = <const Entries extends v.ObjectEntries>(entries: Entries, description: string) =>
  v.pipe(v.strictObject(entries), v.description(description))

export const choice = <const Options extends readonly string[]>(options: Options, description: string) =>
  v.pipe(v.picklist(options), v.description(description))

export const list = <Item extends v.GenericSchema>(item: Item, max: number, description: string) =>
  v.optional(v.pipe(v.array(item), v.maxLength(max), v.description(description)), [])

export const cidrs = (description: string) => list(matching(CIDR, 43, 'An address range.'), 64, description)
export const namespaces = (description: string) => list(dnsLabel('A namespace.'), 64, description)

/** A piece of a Kubernetes object that goes into a template as it is; the API server judges it. */
const freeObject = (description: string) =>
  v.pipe(v.record(v.string(), v.unknown()), v.description(description))
export const freeMap = (description: string) => v.optional(freeObject(description), {})
export const freeList = (description: string) =>
  list(freeObject('As the API server takes it.'), 100, description)

export const textMap = (description: string) =>
  v.optional(v.pipe(v.record(v.string(), text(4096, 'A value.')), v.description(description)), {})

export const pullPolicy = (description: string) =>
  v.optional(choice(['Always', 'IfNotPresent', 'Never'], description), 'IfNotPresent')

export const image = (repository: string, tag: string, description: string) => ({
  registry: v.optional(registry('Registry; empty for that of the image itself.'), ''),
  repository: v.optional(imageRepository('Repository.'), repository),
  tag: v.optional(imageTag(description), tag),
  digest: v.optional(imageDigest('Digest, sha256:…; it wins over the tag.'), ''),
  pullPolicy: pullPolicy('When the image is pulled.'),
})

/** A Secret of the release's namespace; with `existingSecret` empty it is the chart's own, made when it is absent. */
export const installSecret = (keys: Readonly<Record<string, string>>, description: string) => {
  const named = Object.entries(keys).map(
    ([name, key]) => [name, v.optional(secretKey('Key in the Secret.'), key)] as const,
  )
  return v.optional(
    group(
      {
        existingSecret: v.optional(
          optionalSecretName('Secret of yours; empty for the one that is made.'),
          '',
        ),
        ...Object.fromEntries(named),
      },
      description,
    ),
    {},
  )
}

/** Where pods run, and what stands on them; the same for all workloads of the chart. */
export const placement = {
  nodeSelector: v.optional(labels('Labels of the nodes that the pods run on.'), {}),
  tolerations: freeList('Taints that the pods bear.'),
  affinity: freeMap('Affinity of the pods.'),
  topologySpreadConstraints: freeList('How the pods are spread.'),
  priorityClassName: v.optional(text(253, 'Priority class of the pods; empty for the default.'), ''),
  podAnnotations: textMap('Annotations of the pods.'),
  podLabels: v.optional(labels('Further labels of the pods.'), {}),
}

/** Ways to add what the chart has no key for. Secrets come by reference only. */
export const extras = {
  extraEnv: list(
    group(
      {
        name: matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 128, 'Name of the variable.'),
        value: text(4096, 'Its value; never a secret.'),
      },
      'A variable.',
    ),
    100,
    'Further variables, for example HTTPS_PROXY. Those that the chart sets are refused.',
  ),
  extraEnvFrom: freeList('Sources of further variables, as in envFrom.'),
  extraVolumes: freeList('Further volumes.'),
  extraVolumeMounts: freeList('Where they are mounted in the main container.'),
}

export const pullSecrets = list(
  group({ name: secretName('Name of the Secret.') }, 'A reference to a Secret.'),
  8,
  'Secrets that the images are pulled with.',
)
