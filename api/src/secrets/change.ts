import { SECRETS_REVISION_ANNOTATION } from '@service/crds'
import type { AuditAction, LifecycleKind } from '@service/domain'
import type { KubeObject } from '@service/kube'
import * as v from 'valibot'
import type { Material } from './wazuh.ts'

export type MaterialSecret = KubeObject & { readonly data?: Readonly<Record<string, string>> }

type Told = { readonly kind: LifecycleKind; readonly action: AuditAction; readonly reason: string }

/** What can happen to the material of a tenant that exists, and how it is told. */
export const CHANGES = {
  completed: { kind: 'key.rotated', action: 'tenant.secrets.completed', reason: 'complete-material' },
  tokens_refreshed: { kind: 'token.refreshed', action: 'tenant.tokens_refreshed', reason: 'token-refresh' },
  /** Somebody with `kubectl`: another revision that none of us has written (decision 7). */
  by_hand: { kind: 'key.rotated', action: 'tenant.secrets.changed', reason: 'kubectl' },
} as const satisfies Readonly<Record<string, Told>>

/** The change that brought the material to a revision; `keys` are those of the Secret, without their values. */
const Change = v.object({
  revision: v.number(),
  kind: v.picklist(Object.keys(CHANGES) as (keyof typeof CHANGES)[]),
  keys: v.array(v.string()),
})
export type Change = v.InferOutput<typeof Change>
const WrittenChange = v.pipe(v.string(), v.parseJson(), Change)

/** Beside the revision, so that whoever finds the Secret ahead of the row knows what there is to tell. */
const CHANGE_ANNOTATION = 'service.dev/secrets-change'

/** 0 for what is no revision. */
export function revisionOf({ metadata }: MaterialSecret): number {
  const revision = Number(metadata.annotations?.[SECRETS_REVISION_ANNOTATION] ?? 0)
  return Number.isSafeInteger(revision) ? revision : 0
}

/** The last change of a Secret. */
export function changeOf(secret: MaterialSecret): Change {
  const revision = revisionOf(secret)
  const written = v.safeParse(WrittenChange, secret.metadata.annotations?.[CHANGE_ANNOTATION])
  if (written.success && written.output.revision === revision) return written.output
  return { revision, kind: 'by_hand', keys: [] }
}

export const textsOf = ({ data = {} }: MaterialSecret): Material => recode(data, 'base64', 'utf8')

/** What makes the change, if the Secret is still the one that was read. */
export const patchOf = (secret: MaterialSecret, change: Change, texts: Material) => ({
  metadata: {
    resourceVersion: secret.metadata.resourceVersion,
    annotations: {
      [SECRETS_REVISION_ANNOTATION]: String(change.revision),
      [CHANGE_ANNOTATION]: JSON.stringify(change),
    },
  },
  data: recode(texts, 'utf8', 'base64'),
})

const recode = (texts: Material, from: BufferEncoding, to: BufferEncoding): Material =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, from).toString(to)]))
