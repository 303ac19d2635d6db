import type { JournalEntry } from '@service/crds'
import { EVIDENCE_BYTES, JOURNAL_ENTRIES, timestamp } from '@service/domain'
import type { TenantState } from '@service/domain'

/** What is to be recorded; number and time are given when it is appended. */
export type NewEntry = Omit<JournalEntry, 'seq' | 'at'>

/** The journal with the new entries; numbers grow by one and never come again, the oldest entries go. */
export function appendEntries(
  journal: readonly JournalEntry[],
  entries: readonly NewEntry[],
  now: Date,
): JournalEntry[] {
  const last = journal.at(-1)?.seq ?? 0
  const added = entries.map(({ evidence, ...entry }, index) => ({
    seq: last + index + 1,
    ...entry,
    at: timestamp(now),
    ...(evidence === undefined || evidence === '' ? {} : { evidence: cutEvidence(evidence) }),
  }))
  return [...journal, ...added].slice(-JOURNAL_ENTRIES)
}

/** At most 4 KiB of UTF-8. The end stays: that is where programs say what went wrong. */
export function cutEvidence(text: string): string {
  const bytes = Buffer.from(text.toWellFormed())
  if (bytes.length <= EVIDENCE_BYTES) return bytes.toString()
  let from = bytes.length - EVIDENCE_BYTES
  // Not into the middle of a character.
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
  return bytes.subarray(from).toString()
}

/** The last change of phase into `state`. */
export const lastChangeTo = (
  journal: readonly JournalEntry[],
  state: TenantState,
): JournalEntry | undefined =>
  journal.findLast((entry) => entry.kind === 'state.changed' && entry.to === state)
