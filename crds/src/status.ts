import { JOURNAL_ENTRIES, JOURNAL_KINDS, STEPS, STEP_STATUSES, TENANT_STATES } from '@service/domain'
import * as v from 'valibot'
import { CONDITION_REASONS, Condition } from './conditions.ts'
import { atomicList, integer, listMap, rules, text, time } from './kubernetes.ts'
import { phaseRule } from './phase-rule.ts'

const count = (description: string) => integer(0, Number.MAX_SAFE_INTEGER, description)

const StepRecord = v.pipe(
  v.object({
    step: v.pipe(v.picklist(STEPS), v.description('Name of the step.')),
    status: v.pipe(v.picklist(STEP_STATUSES), v.description('How far the step is.')),
    startedAt: v.optional(time('When the step began.')),
    finishedAt: v.optional(time('When the step was done or failed.')),
    message: v.optional(text(1024, 'What the step waits for, or why it failed.')),
  }),
  v.description('One provisioning step.'),
)

const Failure = v.pipe(
  v.object({
    step: v.pipe(v.picklist(STEPS), v.description('The step that failed.')),
    reason: v.pipe(v.picklist(CONDITION_REASONS), v.description('Reason, as in the conditions.')),
    message: text(4096, 'What failed, for people.'),
    at: time('When it failed.'),
    retryToken: text(64, 'spec.retryToken under which it failed; another one starts the step again.'),
  }),
  v.description('The failure that waits for a retry; null when there is none.'),
)

const Release = v.pipe(
  v.object({
    name: text(63, 'Name of the Helm release.'),
    revision: count('Revision of the Helm release.'),
    chartVersion: text(64, 'Version of the installed chart.'),
    valuesDigest: text(80, 'sha256 of the values that were rendered.'),
    manifestDigest: text(80, 'sha256 of the manifest that was rendered.'),
    status: text(32, 'Status of the Helm release.'),
  }),
  v.description('The Helm release as it was last seen.'),
)

const phase = (description: string) => v.pipe(v.picklist(TENANT_STATES), v.description(description))

/** One entry of the journal: what the operator did, written before a destructive act (decision 8.3). */
export const JournalEntry = v.pipe(
  v.object({
    seq: integer(1, Number.MAX_SAFE_INTEGER, 'Grows by one with each entry of this resource.'),
    kind: v.pipe(v.picklist(JOURNAL_KINDS), v.description('What happened.')),
    step: v.optional(v.pipe(v.picklist(STEPS), v.description('The step that it happened in.'))),
    from: v.optional(phase('Phase before a change of state.')),
    to: v.optional(phase('Phase after a change of state.')),
    at: time('When it happened.'),
    evidence: v.optional(text(4096, 'What was seen: events, pod states, output. Never a secret.')),
  }),
  v.description('One entry of the journal.'),
)

const Journal = v.pipe(
  v.array(JournalEntry),
  v.maxLength(JOURNAL_ENTRIES),
  atomicList(),
  rules(
    {
      rule: 'self.map(entry, entry.seq).isSorted() && self.all(entry, self.exists_one(other, other.seq == entry.seq))',
      message: 'journal entries are in the order of seq, each seq once',
    },
    {
      rule: 'size(oldSelf) == 0 || (size(self) > 0 && self[size(self) - 1].seq >= oldSelf[size(oldSelf) - 1].seq)',
      message: 'the journal may lose its oldest entries, never its newest',
    },
  ),
  v.description('The last things that the operator did, oldest first.'),
)

/** `status`, written by the operator alone (decision 8.3). */
export const TenantStatus = v.pipe(
  v.object({
    phase: v.optional(v.pipe(phase('State of the tenant.'), rules(phaseRule()))),
    namespace: v.optional(text(63, 'Namespace of the tenant.')),
    observedRevision: v.optional(
      v.pipe(
        count('spec.revision that this status speaks of. Never falls.'),
        rules({ rule: 'self >= oldSelf', message: 'observedRevision may not fall' }),
      ),
    ),
    observedGeneration: v.optional(
      v.pipe(
        count('metadata.generation that this status speaks of. Never falls.'),
        rules({ rule: 'self >= oldSelf', message: 'observedGeneration may not fall' }),
      ),
    ),
    conditions: v.optional(
      v.pipe(
        v.array(Condition),
        v.maxLength(16),
        listMap('type'),
        v.description('What is true of the tenant now. Ready, Reconciling and Stalled sum up the others.'),
      ),
    ),
    steps: v.optional(
      v.pipe(
        v.array(StepRecord),
        v.maxLength(8),
        listMap('step'),
        v.description('The provisioning steps, in order.'),
      ),
    ),
    failure: v.optional(v.nullable(Failure)),
    release: v.optional(Release),
    journal: v.optional(Journal),
  }),
  v.description('What the operator has seen and done. Written by the operator alone.'),
)

export type TenantStatus = v.InferOutput<typeof TenantStatus>
export type TenantStepRecord = v.InferOutput<typeof StepRecord>
export type TenantFailure = v.InferOutput<typeof Failure>
export type TenantRelease = v.InferOutput<typeof Release>
export type JournalEntry = v.InferOutput<typeof JournalEntry>
