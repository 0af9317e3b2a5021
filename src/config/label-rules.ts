// The rules of labels: in requests, agent files and imports. Test: test/tables/config/label-rules.test.ts.
import * as z from 'zod'
import { MAX_LABELS } from '../kernel/model/spec-parts.ts'

const MAX_VALUE_CHARS = 256
const key = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/,
    'a key of a label has 1 to 63 of [a-z0-9._/-], and begins and ends with a letter or digit',
  )
const value = z
  .string()
  .max(MAX_VALUE_CHARS, `the value of a label has at most ${MAX_VALUE_CHARS} characters`)
  .regex(/^[^\p{Cc}]*$/u, 'the value of a label has no control characters')

const hasRoom = (labels: object): boolean => Object.keys(labels).length <= MAX_LABELS
const tooMany = `a process has at most ${MAX_LABELS} labels`

export const labelsRule = z.record(key, value).refine(hasRoom, tooMany)
export const labelChangeRule = z.record(key, value.nullable()).refine(hasRoom, tooMany)
