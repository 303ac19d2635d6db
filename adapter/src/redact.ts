/** Stands in every event; it changes when what is redacted changes. */
export const REDACTION_VERSION = '1'

export type SecretKind = 'private_key' | 'jwt' | 'cloud_key' | 'credentials' | 'secret' | 'card'
const mark = (kind: SecretKind): string => `<REDACTED:${kind}>`

/**
 * Replaces secrets in a text by `<REDACTED:kind>` (decision 5.4). Every expression here has bounded repetition or
 * consumes what it has looked at, so that no text takes more than linear time.
 */
export function redact(text: string): string {
  return redactCards(redactPairs(redactUrls(redactCloudKeys(redactTokens(redactPrivateKeys(text))))))
}

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const KEY_END = '-----END'
const END_LINE = 80

/** A key whose end was cut off is a secret up to the end of the text. */
function redactPrivateKeys(text: string): string {
  let result = ''
  let from = 0
  for (const { index } of text.matchAll(KEY_BEGIN)) {
    if (index < from) continue
    result += text.slice(from, index) + mark('private_key')
    const end = text.indexOf(KEY_END, index)
    if (end === -1) return result
    const close = text.slice(end + KEY_END.length, end + END_LINE).indexOf('-----')
    from = end + KEY_END.length + (close === -1 ? 0 : close + '-----'.length)
  }
  return result + text.slice(from)
}

const TOKEN_RUN = /[\w.-]{20,}/g
const MIN_HEADER = 12
const MIN_PAYLOAD = 4

const redactTokens = (text: string): string =>
  text.replace(TOKEN_RUN, (run) => (run.includes('eyJ') ? redactTokensIn(run) : run))

/** A JWT's header begins with `eyJ`; its parts are joined by dots, three when signed and five when encrypted. */
function redactTokensIn(run: string): string {
  const parts = run.split('.')
  const kept: string[] = []
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? ''
    const begin = part.indexOf('eyJ')
    const payload = parts[at + 1] ?? ''
    if (begin === -1 || part.length - begin < MIN_HEADER || payload.length < MIN_PAYLOAD) {
      kept.push(part)
      continue
    }
    kept.push(part.slice(0, begin) + mark('jwt'))
    at += payload.startsWith('eyJ') ? 2 : 4
  }
  return kept.join('.')
}

const CLOUD_KEY = new RegExp(
  [
    String.raw`(?<![A-Za-z0-9])(?:`,
    [
      '(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])',
      String.raw`AIza[\w-]{35}`,
      'gh[pousr]_[A-Za-z0-9]{36,255}',
      String.raw`github_pat_\w{22,255}`,
      String.raw`glpat-[\w-]{20,255}`,
      'xox[abeoprs]-[A-Za-z0-9-]{10,255}',
      '(?:sk|rk)_live_[A-Za-z0-9]{16,255}',
      String.raw`sk-[A-Za-z][\w-]{19,255}`,
      String.raw`npm_[A-Za-z0-9]{36}`,
      String.raw`ya29\.[\w-]{20,1024}`,
    ].join('|'),
    ')',
  ].join(''),
  'g',
)
const redactCloudKeys = (text: string): string => text.replace(CLOUD_KEY, mark('cloud_key'))

const URL_CREDENTIALS = /:\/\/[^\s/?#@:"'<>]{0,256}:[^\s/?#@"'<>]{1,512}@/g
const redactUrls = (text: string): string => text.replace(URL_CREDENTIALS, `://${mark('credentials')}@`)

const SECRET_NAME = [
  'passwords?',
  'passwd',
  'passphrase',
  // The working directory that sudo logs has the same name and is a path.
  String.raw`pwd(?![ \t]{0,4}[=:][ \t]{0,4}\/)`,
  'pgpassword',
  'secret(?:[_-]?(?:access)?[_-]?key)?',
  '(?:access|refresh|auth|id|session|csrf|bearer)?[_-]?token',
  'api[_-]?key',
  'access[_-]?key',
  'account[_-]?key',
  'private[_-]?key',
  'shared[_-]?access[_-]?signature',
].join('|')
const QUOTE = String.raw`(?:\\{0,3}["'])?`
const GAP = String.raw`[ \t]{0,4}`
const VALUE = String.raw`(?:(?<=")[^"\\<][^"\\]{0,1023}|(?<=')[^'\\<][^'\\]{0,1023}|[^\s"'\\,;&<>]{1,1024})`
const PAIR = new RegExp(`((?:${SECRET_NAME})${QUOTE}${GAP}[=:]${GAP}${QUOTE})${VALUE}`, 'gi')
const OPTION = new RegExp(
  String.raw`(--?(?:password|passwd|passphrase|token|secret|api-key)[ \t]{1,4}${QUOTE})${VALUE}`,
  'gi',
)
const AUTHORIZATION = new RegExp(
  String.raw`((?:authorization${QUOTE}${GAP}[=:]${GAP}${QUOTE}(?:(?:bearer|basic|digest|token)[ \t]{1,4})?)|\bbearer[ \t]{1,4}(?=[\w.~+/=-]{16}))[^\s"'\\,;<>]{1,4096}`,
  'gi',
)

const redactPairs = (text: string): string =>
  text
    .replace(AUTHORIZATION, `$1${mark('secret')}`)
    .replace(PAIR, `$1${mark('secret')}`)
    .replace(OPTION, `$1${mark('secret')}`)

const CARD = /(?<![\w.-])(?:[2-6]\d{3})(?:[ -]?\d){9,15}(?![\w-])/g
/** First digits and lengths of the cards in use; milliseconds since 1970 begin with 1 and are none. */
const ISSUER =
  /^(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0|6|8)\d{12}|35\d{14}|6\d{15,18})$/

const redactCards = (text: string): string =>
  text.replace(CARD, (found) => {
    const digits = found.replaceAll(/[ -]/g, '')
    return ISSUER.test(digits) && hasLuhnSum(digits) ? mark('card') : found
  })

function hasLuhnSum(digits: string): boolean {
  let sum = 0
  for (let fromRight = 0; fromRight < digits.length; fromRight += 1) {
    const digit = Number(digits[digits.length - 1 - fromRight])
    const doubled = fromRight % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
