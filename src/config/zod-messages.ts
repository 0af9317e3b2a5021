// Messages about invalid values in files, flags and requests. They replace those of zod, which name its internal types. A message must
// never quote the value, because it may be a secret. Test: test/tables/config/zod-messages.test.ts.
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** Matches the messages of zod itself. A rule of reeve has its own text, which does not begin like this. */
const LIBRARY_MESSAGE = /^(Invalid (input|option|string|number|key in record)|Too (small|big)|Unrecognized keys?)(: |$)/

/** the message of a format rule that has no message of its own */
const WRONG_FORMAT = 'has the wrong format'

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object with keys and values',
  record: 'an object with keys and values',
  string: 'a text',
}

/** Returns the message of an issue, such as `must be a list` or `must be at least 1`. Messages of reeve's own rules stay unchanged. */
export function issueText(issue: Issue): string {
  if (!LIBRARY_MESSAGE.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is missing' : `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_small':
      return boundText(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least') ?? issue.message
    case 'too_big':
      return boundText(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most') ?? issue.message
    case 'invalid_key':
      return [
        'is not a valid name',
        ...issue.issues
          .slice(0, 1)
          .map(issueText)
          .filter((why) => why !== WRONG_FORMAT),
      ].join(': ')
    case 'invalid_format':
      return WRONG_FORMAT
    case 'invalid_union':
      return 'has none of the allowed forms'
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `has ${issue.keys.length === 1 ? 'an unknown key' : 'unknown keys'} ${issue.keys.map((key) => `\`${key}\``).join(', ')}`
    default:
      return issue.message
  }
}

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
}

function boundText(origin: string, bound: number, word: string): string | null {
  if (origin === 'number' || origin === 'int' || origin === 'bigint') return `must be ${word} ${bound}`
  const unit = UNITS[origin]
  if (unit === undefined) return null
  return word === 'at least' && bound === 1 ? 'must not be empty' : `must have ${word} ${bound} ${unit[bound === 1 ? 0 : 1]}`
}
