// The filter language of lists: words that must occur in a row, and conditions such as `status:waiting`, `cost:>5` and `under:fix`.
// A comma separates alternatives, `-` in front negates, and a row must meet all parts. Pure. Test: test/tables/faces/filter.test.ts.
import type { RowView } from '../api/views/rows.ts'
import { elapsedAt } from './format.ts'
import { subtreeOf } from './tree.ts'

type Rows = ReadonlyMap<string, RowView>
type Test = (row: RowView, now: number) => boolean

/** One word or condition of a filter. */
export interface FilterPart {
  /** as the user typed it */
  readonly text: string
  /** why the part is not correct, with a hint; absent: it is correct */
  readonly error?: string
  /** `now`: the time of the daemon in milliseconds */
  readonly isMatch: Test
}

/** Splits a filter at spaces, except inside of double quotes, and reads each part. `rows`: for conditions about the tree. */
export function parseFilter(text: string, rows: Rows = new Map()): FilterPart[] {
  return [...text.matchAll(/(?:"[^"]*"?|[^\s"])+/g)].map(([part]) => parsePart(part, rows))
}

/** Whether a row meets all correct parts. A part with an error is left out, so that a half-typed filter does not empty the list. */
export function meetsFilter(parts: readonly FilterPart[], row: RowView, now: number): boolean {
  return parts.every((part) => part.error !== undefined || part.isMatch(row, now))
}

function parsePart(text: string, rows: Rows): FilterPart {
  const isNegated = text.startsWith('-') && text.length > 1
  const body = isNegated ? text.slice(1) : text
  const [, key, value] = /^([a-z]+):(.*)$/s.exec(body) ?? []
  const test = key === undefined || value === undefined ? wordTest(unquote(body)) : conditionTest(key, unquote(value), rows)
  if (typeof test === 'string') return { text, error: test, isMatch: () => true }
  return { text, isMatch: isNegated ? (row, now) => !test(row, now) : test }
}

function unquote(text: string): string {
  return text.replaceAll('"', '')
}

function wordTest(word: string): Test {
  const wanted = word.toLowerCase()
  return (row) =>
    [row.name, row.agent, row.about, row.model, row.task, row.why?.text, row.note, String(row.pid)].some((text) =>
      text?.toLowerCase().includes(wanted),
    )
}

/** Conditions on a text: the value must be contained in it. */
const TEXTS: Readonly<Record<string, (row: RowView) => string | null>> = {
  status: ({ status }) => status,
  kind: ({ kind }) => kind,
  agent: ({ agent }) => agent,
  driver: ({ driver }) => driver,
  model: ({ model }) => model,
  name: ({ name }) => name,
  host: ({ host }) => host,
  role: ({ role }) => role,
  task: ({ task }) => task,
  branch: ({ branch }) => branch,
  why: ({ why }) => why?.text ?? null,
}

const MINUTE_MS = 60_000
const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS }

/** Conditions on a number. `null`: the number is not known, which meets no condition. */
const NUMBERS: Readonly<Record<string, (row: RowView, now: number) => number | null>> = {
  cost: ({ sub }) => sub.usd,
  step: ({ step }) => step,
  queue: ({ queue }) => queue,
  ctx: ({ ctx }) => (ctx ? (100 * ctx.used) / ctx.window : null),
  budget: ({ budget }) => (budget && budget.of > 0 ? (100 * budget.used) / budget.of : null),
  age: (row, now) => now - Date.parse(row.createdAt),
  elapsed: elapsedAt,
}

const FLAGS: Readonly<Record<string, (row: RowView) => boolean>> = {
  asking: ({ asks }) => asks > 0,
  held: ({ status }) => status === 'suspended',
  live: ({ endedAt }) => endedAt === null,
  ended: ({ endedAt }) => endedAt !== null,
  failed: ({ status }) => status === 'failed' || status === 'interrupted',
  working: ({ status }) => status === 'working',
  silent: ({ liveness }) => liveness === 'silent' || liveness === 'stalled',
  unseen: ({ unseen }) => unseen,
  urgent: ({ attention }) => attention > 0,
  pinned: ({ pinned }) => pinned,
  fork: ({ origin }) => origin !== null,
}

/** The keys of all conditions, for help and completion. */
export const FILTER_KEYS: readonly string[] = [...Object.keys(TEXTS), ...Object.keys(NUMBERS), 'is', 'label', 'pid', 'under']

/** Returns the test of a condition, or the text of an error. */
function conditionTest(key: string, value: string, rows: Rows): Test | string {
  if (value === '') return `"${key}:" needs a value`
  const alternatives = value.split(',').filter((one) => one !== '')
  // Names that every object has, such as `constructor`, are not conditions.
  const textOf = Object.hasOwn(TEXTS, key) ? TEXTS[key] : undefined
  if (textOf) {
    const wanted = alternatives.map((one) => one.toLowerCase())
    return (row) => {
      const text = textOf(row)?.toLowerCase()
      return text !== undefined && wanted.some((one) => text.includes(one))
    }
  }
  const numberOf = Object.hasOwn(NUMBERS, key) ? NUMBERS[key] : undefined
  if (numberOf) return numberTest(key, value, numberOf)
  switch (key) {
    case 'is':
      return flagTest(alternatives)
    case 'label':
      return (row) => alternatives.some((one) => hasLabel(row, one))
    case 'pid':
      return (row) => alternatives.includes(String(row.pid))
    case 'under':
      return underTest(alternatives, rows)
    default:
      return `"${key}" is not a condition; conditions: ${FILTER_KEYS.join(', ')}`
  }
}

function numberTest(key: string, value: string, numberOf: (row: RowView, now: number) => number | null): Test | string {
  const [, sign, digits = '', unit] = /^(<=|>=|<|>|=)?\$?(\d+(?:\.\d+)?)([smhd%])?$/.exec(value) ?? []
  const isTime = key === 'age' || key === 'elapsed'
  const factor = unit === undefined || unit === '%' ? 1 : UNITS_MS[unit]
  const fits = isTime ? unit !== undefined && unit !== '%' : unit === undefined || unit === '%'
  if (digits === '' || factor === undefined || !fits)
    return isTime ? `write a duration, such as ${key}:>10m` : `write a number, such as ${key}:>5`
  const limit = Number(digits) * factor
  return (row, now) => {
    const number = numberOf(row, now)
    if (number === null) return false
    switch (sign) {
      case '<':
        return number < limit
      case '<=':
        return number <= limit
      case '>':
        return number > limit
      case '>=':
        return number >= limit
      default:
        return number === limit
    }
  }
}

function flagTest(names: readonly string[]): Test | string {
  const unknown = names.find((name) => !Object.hasOwn(FLAGS, name))
  if (unknown !== undefined) return `"${unknown}" is unknown; \`is:\` takes ${Object.keys(FLAGS).join(', ')}`
  return (row) => names.some((name) => FLAGS[name]?.(row))
}

function hasLabel(row: RowView, wanted: string): boolean {
  const [key = '', ...value] = wanted.split('=')
  return Object.hasOwn(row.labels, key) && (value.length === 0 || row.labels[key] === value.join('='))
}

function underTest(references: readonly string[], rows: Rows): Test | string {
  const roots = references.map((one) => findRow(rows, one))
  const missing = references.find((_, index) => roots[index] === undefined)
  if (missing !== undefined) return `no process "${missing}" is in the list`
  const below = roots.map((root) => subtreeOf(rows, root?.uuid ?? ''))
  return (row) => below.some((uuids) => uuids.has(row.uuid))
}

/** Finds a row by name, PID or UUID; of several with a name, the newest. */
function findRow(rows: Rows, reference: string): RowView | undefined {
  const found = [...rows.values()].filter(({ name, pid, uuid }) => name === reference || String(pid) === reference || uuid === reference)
  return found.reduce<RowView | undefined>((newest, row) => (newest && newest.uuid > row.uuid ? newest : row), undefined)
}
