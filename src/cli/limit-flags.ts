// Limits from the command line: figures with their units, and on a resume what is added to a limit (`--budget-usd +5`).
// Owns how they are read. Test: test/tables/cli-limits.test.ts.
import { parseBytes } from '../config/bytes.ts'
import { parseDuration } from '../config/duration.ts'
import { UsageError } from './errors.ts'
import { LIMIT_FLAGS } from './limit-rows.ts'
import type { Args } from './args.ts'
import type { LimitAction, LimitName, Limits } from '../kernel/types.ts'

interface Reader {
  readonly limit: LimitName
  readonly read: (text: string) => number | null
  readonly hint: string
}

const count = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null)
const amount = (text: string): number | null => (/^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : null)
const whole = (limit: LimitName): Reader => ({ limit, read: count, hint: 'a whole number' })
const time = (limit: LimitName): Reader => ({ limit, read: parseDuration, hint: 'a duration such as 90s, 10m or 1h30m' })
const bytes = (limit: LimitName): Reader => ({ limit, read: parseBytes, hint: 'a size such as 500MB or 2GiB' })

const READERS: Readonly<Record<string, Reader>> = {
  'max-steps': whole('maxSteps'), 'max-turns': whole('maxTurns'), 'max-tool-calls': whole('maxToolCalls'), 'max-children': whole('maxChildren'), 'max-depth': whole('maxDepth'),
  timeout: time('timeoutMs'), 'cpu-time': time('cpuTimeMs'), memory: bytes('memoryBytes'), 'max-output': bytes('outputBytes'),
  'budget-usd': { limit: 'budgetUsd', read: amount, hint: 'an amount such as 5 or 0.50' }, 'budget-tokens': whole('budgetTokens'),
}

/** Those that an action can be chosen for: at the others whoever asks for more is refused. */
const WITH_ACTION: readonly LimitName[] = ['maxSteps', 'maxTurns', 'maxToolCalls', 'maxInputTokens', 'maxOutputTokens', 'maxCacheReadTokens', 'maxCacheWriteTokens', 'budgetTokens', 'budgetUsd', 'cpuTimeMs', 'timeoutMs', 'memoryBytes', 'outputBytes']

/** What gives a process more of a limit: `` `reeve resume --max-steps +N 5` ``. Some limits have no flag. */
export function moreOf(limit: LimitName, process: string): string {
  const flag = Object.keys(READERS).find((name) => READERS[name]?.limit === limit)
  const row = LIMIT_FLAGS[flag ?? '']
  return row?.kind === 'text' ? `\`reeve resume --${flag} +${row.value} ${process}\`` : `more of \`${limit}\` (docs/limits.md)`
}

/** Of `run`. Errors: usage. */
export function limitsOf(args: Args): Limits {
  const { limits, raise } = changesOf(args)
  if (raise) throw new UsageError('a limit that begins cannot be raised', 'Give the figure without a plus.')
  return limits ?? {}
}

/** Of `resume`. Errors: usage. */
export function changesOf(args: Args): { readonly limits?: Limits; readonly raise?: { [L in LimitName]?: number } } {
  const set: { [L in LimitName]?: number } = {}
  const raise: { [L in LimitName]?: number } = {}
  for (const [flag, { limit, read, hint }] of Object.entries(READERS)) {
    const text = args.text(flag)
    if (text === undefined) continue
    const isMore = text.startsWith('+')
    const value = read(isMore ? text.slice(1) : text)
    if (value === null) throw new UsageError(`--${flag}: "${text}" is not ${hint}`)
    ;(isMore ? raise : set)[limit] = value
  }
  const limits = { ...set, ...policyOf(args) }
  return { ...(Object.keys(limits).length === 0 ? {} : { limits }), ...(Object.keys(raise).length === 0 ? {} : { raise }) }
}

function policyOf(args: Args): Pick<Limits, 'actions' | 'unknownPrice'> {
  const action = choice<LimitAction>(args, 'on-limit', ['suspend', 'terminate'])
  const unknownPrice = choice<'warn' | 'refuse'>(args, 'unknown-price', ['warn', 'refuse'])
  return {
    ...(action === undefined ? {} : { actions: Object.fromEntries(WITH_ACTION.map((name) => [name, action])) }),
    ...(unknownPrice === undefined ? {} : { unknownPrice }),
  }
}

function choice<T extends string>(args: Args, flag: string, words: readonly T[]): T | undefined {
  const text = args.text(flag)
  const word = words.find((each) => each === text)
  if (text !== undefined && word === undefined) throw new UsageError(`--${flag} ${text}: there is ${words.join(' and ')}`)
  return word
}
