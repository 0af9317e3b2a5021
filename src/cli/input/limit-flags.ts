// Parses limits from the command line: values with units, and increments for a resume (`--budget-usd +5`). Names their flags, too. Test:
// test/tables/cli/input/limit-flags.test.ts.
import { parseBytes } from '../../config/bytes.ts'
import { parseDuration } from '../../config/duration.ts'
import { UsageError } from '../errors.ts'
import { LIMIT_FLAGS } from '../table/limits.ts'
import type { Args } from './args.ts'
import type { LimitAction, LimitName, Limits } from '../../kernel/model/words.ts'
import { ACTION_LIMITS, LIMIT_ACTIONS } from '../../kernel/model/words.ts'

/** How the value of a flag is parsed. */
interface Parser {
  readonly limit: LimitName
  /** returns null for an invalid text */
  readonly parse: (text: string) => number | null
  /** the expected value, for the error message */
  readonly hint: string
}

const count = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null)
const amount = (text: string): number | null => (/^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : null)
const whole = (limit: LimitName): Parser => ({ limit, parse: count, hint: 'a whole number' })
const time = (limit: LimitName): Parser => ({ limit, parse: parseDuration, hint: 'a duration such as 90s, 10m or 1h30m' })
const bytes = (limit: LimitName): Parser => ({ limit, parse: parseBytes, hint: 'a size such as 500MB or 2GiB' })

const PARSERS: Readonly<Record<string, Parser>> = {
  'max-steps': whole('maxSteps'),
  'max-turns': whole('maxTurns'),
  'max-tool-calls': whole('maxToolCalls'),
  'max-children': whole('maxChildren'),
  'max-depth': whole('maxDepth'),
  timeout: time('timeoutMs'),
  'cpu-time': time('cpuTimeMs'),
  memory: bytes('memoryBytes'),
  'max-output': bytes('outputBytes'),
  'budget-usd': { limit: 'budgetUsd', parse: amount, hint: 'an amount such as 5 or 0.50' },
  'budget-tokens': whole('budgetTokens'),
}

/**
 * Returns the command that raises a limit of a process: `` `reeve resume --max-steps +N 5` ``. For a limit without a flag, returns its name
 * and its page.
 */
export function raiseLimitCommand(limit: LimitName, process: string): string {
  const flag = Object.keys(PARSERS).find((name) => PARSERS[name]?.limit === limit)
  const definition = LIMIT_FLAGS[flag ?? '']
  return definition?.kind === 'text'
    ? `\`reeve resume --${flag} +${definition.value} ${process}\``
    : `more of \`${limit}\` (docs/reference/limits.md)`
}

/** A change of one limit. */
interface ChangedLimit {
  readonly limits?: Limits
  readonly raise?: { readonly [L in LimitName]?: number }
}

/** The names of the flags: `max-steps`, `timeout` and others. */
export const LIMIT_FLAG_NAMES: readonly string[] = Object.keys(PARSERS)

/** Parses `max-steps 60` or `timeout +10m`; null if it is not a change of a limit. */
export function parseLimitChange(text: string): (ChangedLimit & { readonly flag: string; readonly value: string }) | null {
  const [, flag = '', plus = '', amountOf = ''] = /^\s*(?:--)?([a-z-]+)[\s=]+(\+?)(\S+)\s*$/.exec(text) ?? []
  const parser = Object.hasOwn(PARSERS, flag) ? PARSERS[flag] : undefined
  const value = parser?.parse(amountOf) ?? null
  if (!parser || value === null) return null
  const change = { [parser.limit]: value }
  return { flag, value: plus + amountOf, ...(plus === '' ? { limits: change } : { raise: change }) }
}

/** Parses the limits of a new process. Errors: usage. */
export function parseNewLimits(args: Args): Limits {
  const { limits, raise } = parseLimitChanges(args)
  if (raise) throw new UsageError('a new limit cannot be raised', 'Give the value without a plus.')
  return limits ?? {}
}

/** Parses the new limits (`limits`) and the increments (`raise`) of `resume`. Errors: usage. */
export function parseLimitChanges(args: Args): { readonly limits?: Limits; readonly raise?: { [L in LimitName]?: number } } {
  const set: { [L in LimitName]?: number } = {}
  const raise: { [L in LimitName]?: number } = {}
  for (const [flag, { limit, parse, hint }] of Object.entries(PARSERS)) {
    const text = args.text(flag)
    if (text === undefined) continue
    const isIncrement = text.startsWith('+')
    const value = parse(isIncrement ? text.slice(1) : text)
    if (value === null) throw new UsageError(`--${flag}: "${text}" is not ${hint}`)
    ;(isIncrement ? raise : set)[limit] = value
  }
  const limits = { ...set, ...parsePolicy(args) }
  return { ...(Object.keys(limits).length === 0 ? {} : { limits }), ...(Object.keys(raise).length === 0 ? {} : { raise }) }
}

function parsePolicy(args: Args): Pick<Limits, 'actions' | 'unknownPrice'> {
  const action = parseChoice<LimitAction>(args, 'on-limit', LIMIT_ACTIONS)
  const unknownPrice = parseChoice<'warn' | 'refuse'>(args, 'unknown-price', ['warn', 'refuse'])
  return {
    ...(action === undefined ? {} : { actions: Object.fromEntries(ACTION_LIMITS.map((name) => [name, action])) }),
    ...(unknownPrice === undefined ? {} : { unknownPrice }),
  }
}

function parseChoice<T extends string>(args: Args, flag: string, words: readonly T[]): T | undefined {
  const text = args.text(flag)
  const word = words.find((each) => each === text)
  if (text !== undefined && word === undefined) throw new UsageError(`--${flag} ${text}: choose from ${words.join(' and ')}`)
  return word
}
