import { createHash } from 'node:crypto'
import { EVENT } from '@service/domain'
import { AdapterEvent } from '@service/wire'
import * as v from 'valibot'
import { momentAt, textAt, textsAt, valueAt } from './document.ts'
import { entitiesOf, iocsOf } from './entities.ts'
import { REDACTION_VERSION } from './redact.ts'
import { fit, safeText } from './text.ts'

/** A document of the indexer, as it was read. */
export type Hit = { readonly id: string; readonly index: string; readonly source: unknown }
export type Mapped =
  | { readonly event: AdapterEvent }
  /** Why a document cannot be an event; never its content. */
  | { readonly dropped: string }

const MITRE_TEXT = 255
const GROUP_TEXT = 255

/** A Wazuh alert as an event (S "AdapterEvent", decisions 5.1 and 5.3). What it answers always fits the wire. */
export function mapAlert(hit: Hit, readAt: Date): Mapped {
  const { source } = hit
  const severity = severityOf(source)
  if (severity === undefined) return { dropped: 'it has no rule.level' }
  const entities = entitiesOf(source)
  const description = textAt(source, 'rule.description')
  const result = v.safeParse(AdapterEvent, {
    source_event_id: eventIdOf(hit),
    severity,
    asset_ids: textsAt(source, 'agent.id', 1).map((id) => fit(id, EVENT.assetId)),
    decoder: fitted(textAt(source, 'decoder.name'), EVENT.decoder),
    title: safe(description, EVENT.title),
    description: safe(description, EVENT.description),
    entities,
    full_log: safe(textAt(source, 'full_log'), EVENT.fullLog),
    initial_iocs: iocsOf(source, severity, entities),
    mitre: mitreOf(source),
    observed_at: readAt.toISOString(),
    ts: momentAt(source, 'timestamp') ?? momentAt(source, '@timestamp'),
    rule_groups: textsAt(source, 'rule.groups', EVENT.ruleGroups).map((group) => fit(group, GROUP_TEXT)),
    rule_id: fitted(textAt(source, 'rule.id'), EVENT.ruleId),
    redaction_version: REDACTION_VERSION,
  })
  if (result.success) return { event: result.output }
  return { dropped: `it does not fit the wire at ${v.getDotPath(result.issues[0]) ?? 'its root'}` }
}

/** An id that has to be changed to fit could meet another one: then its hash stands for it. */
export function eventIdOf({ id, source }: Hit): string {
  const own = textAt(source, 'id') ?? id
  const fitting = fit(own, EVENT.sourceEventId)
  return fitting === own && own !== '' ? own : `sha256:${createHash('sha256').update(own).digest('hex')}`
}

function severityOf(source: unknown): number | undefined {
  const level = valueAt(source, 'rule.level')
  const number = typeof level === 'string' && level.trim() !== '' ? Number(level) : level
  if (typeof number !== 'number' || Number.isNaN(number)) return undefined
  return Math.min(Math.max(Math.trunc(number), 0), EVENT.severityMax)
}

function mitreOf(source: unknown): AdapterEvent['mitre'] {
  const list = (path: string) => textsAt(source, path, EVENT.mitre).map((text) => fit(text, MITRE_TEXT))
  const mitre = {
    ids: list('rule.mitre.id'),
    tactics: list('rule.mitre.tactic'),
    techniques: list('rule.mitre.technique'),
  }
  return Object.values(mitre).every((texts) => texts.length === 0) ? null : mitre
}

const fitted = (text: string | undefined, max: number): string | null =>
  text === undefined ? null : fit(text, max)
const safe = (text: string | undefined, max: number): string | null =>
  text === undefined ? null : safeText(text, max)
