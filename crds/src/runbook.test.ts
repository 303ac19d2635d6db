import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { CONDITION_REASONS } from './index.ts'

const RUNBOOK = readFileSync(resolve(import.meta.dirname, '../../docs/runbook.md'), 'utf8')

it.each(CONDITION_REASONS)('the runbook says what to do about %s', (reason) => {
  expect(RUNBOOK).toContain(`\`${reason}\``)
})
