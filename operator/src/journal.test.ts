import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { at } from '../test/passes.ts'
import { appendEntries, cutEvidence } from './journal.ts'

describe('the journal', () => {
  it('keeps the newest 64 and never uses a number twice', () => {
    let journal = appendEntries([], [], at(0))
    for (let round = 0; round < 50; round++) {
      journal = appendEntries(journal, [{ kind: 'step.started' }, { kind: 'step.done' }], at(round))
    }
    expect(journal).toHaveLength(64)
    expect(journal.at(-1)?.seq).toBe(100)
    expect(journal[0]?.seq).toBe(37)
  })

  it('cuts evidence to 4 KiB of whole characters and keeps its end', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 50 }),
        fc.integer({ min: 1, max: 400 }),
        (text, times) => {
          const long = text.repeat(times)
          const cut = cutEvidence(long)
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(4_096)
          expect(long.toWellFormed().endsWith(cut)).toBe(true)
          expect(cut).not.toContain('\u{FFFD}')
        },
      ),
    )
  })
})
