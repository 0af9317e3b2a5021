// What is wrong with a value, in words for who wrote it: a file, a flag, a request. The library's own words name its types.
// Must never repeat the value: it may be a secret. Test: test/tables/issues.test.ts.
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

const LIBRARY_WORDS = /^(Invalid (input|option|string|number|key in record)|Too (small|big)|Unrecognized keys?)(: |$)/

/** Of a rule that brings no words along. */
const NOT_SO_WRITTEN = 'is not written as it must be'

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list', boolean: 'true or false', int: 'a whole number', number: 'a number', object: 'an object with keys and values', record: 'an object with keys and values', string: 'a text',
}

/** `must be a list`, `must be at least 1`; words that a rule of ours brought along stay as they are. */
export function issueWords(issue: Issue): string {
  if (!LIBRARY_WORDS.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type': return issue.message.endsWith('received undefined') ? 'is missing' : `must be ${KINDS[issue.expected] ?? issue.expected}`
    case 'invalid_value': return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_small': return limit(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least') ?? issue.message
    case 'too_big': return limit(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most') ?? issue.message
    case 'invalid_key': return ['is no name that can stand here', ...issue.issues.slice(0, 1).map(issueWords).filter((why) => why !== NOT_SO_WRITTEN)].join(': ')
    case 'invalid_format': return NOT_SO_WRITTEN
    case 'invalid_union': return 'is of no kind that can stand here'
    case 'not_multiple_of': return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys': return `has an unknown key ${issue.keys.map((key) => `\`${key}\``).join(', ')}`
    default: return issue.message
  }
}

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = { string: ['character', 'characters'], array: ['entry', 'entries'], set: ['entry', 'entries'] }

function limit(origin: string, bound: number, word: string): string | null {
  if (origin === 'number' || origin === 'int' || origin === 'bigint') return `must be ${word} ${bound}`
  const unit = UNITS[origin]
  if (unit === undefined) return null
  return word === 'at least' && bound === 1 ? 'must not be empty' : `must have ${word} ${bound} ${unit[bound === 1 ? 0 : 1]}`
}
