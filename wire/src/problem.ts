import { ERRORS, type ErrorCode, type FieldError } from '@service/domain'
import * as v from 'valibot'

const CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]

/** RFC 9457 problem details, `application/problem+json` (decision 1.3). */
export const Problem = v.object({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
  instance: v.string(),
  code: v.picklist(CODES),
  request_id: v.string(),
  errors: v.optional(v.array(v.object({ pointer: v.string(), code: v.string(), message: v.string() }))),
  current_state: v.optional(v.string()),
  locked_until: v.optional(v.string()),
})
export type Problem = v.InferOutput<typeof Problem>

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'
export const problemType = (code: ErrorCode): string => `urn:service:problem:${code}`

const CODE_OF_ISSUE: Readonly<Record<string, string>> = {
  strict_object: 'unknown_or_missing_key',
  check: 'invalid_value',
  regex: 'invalid_format',
  iso_timestamp: 'invalid_format',
  picklist: 'invalid_choice',
  literal: 'invalid_choice',
  union: 'invalid_type',
  variant: 'invalid_choice',
}
const TYPES = new Set(['string', 'number', 'boolean', 'object', 'array', 'record'])

/** RFC 6901 pointer of the keys on a path. */
export const jsonPointer = (keys: readonly PropertyKey[]): string =>
  keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** What valibot found, as field errors that never echo the submitted value (decision 1.3). */
export function fieldErrors(issues: readonly v.BaseIssue<unknown>[]): FieldError[] {
  return issues.map((issue) => {
    const pointer = jsonPointer((issue.path ?? []).map((item) => item.key as PropertyKey))
    return { pointer, ...explain(issue) }
  })
}

function explain(issue: v.BaseIssue<unknown>): { code: string; message: string } {
  if (issue.type === 'strict_object' && issue.expected === 'never')
    return { code: 'unknown_key', message: 'is not a known key' }
  if (issue.received === 'undefined') return { code: 'required', message: 'is required' }
  if (TYPES.has(issue.type) || issue.type === 'strict_object')
    return { code: 'invalid_type', message: `must be ${issue.expected ?? 'another type'}` }
  if (issue.type === 'picklist') return { code: 'invalid_choice', message: `must be ${issue.expected}` }
  const ours = issue.message.startsWith('must ') || issue.message.startsWith('is ')
  return {
    code: CODE_OF_ISSUE[issue.type] ?? issue.type,
    message: ours ? issue.message : `is not valid (${issue.type})`,
  }
}
