// The range of each limit as a zod rule, for the API and for files. Defines only the ranges: src/kernel/state/limits.ts defines the meaning
// of the limits. Tests: test/e2e/daemon/api.test.ts, test/tables/config/agents/agent-file.test.ts.
import { z } from 'zod'
import { parseBytes } from './bytes.ts'
import { parseDuration } from './duration.ts'
import type { LimitName, Limits } from '../kernel/model/words.ts'
import { LIMIT_ACTIONS, LIMIT_NAMES, REFUSING_LIMITS } from '../kernel/model/words.ts'

const MAX_LIMIT_MS = 366 * 86_400_000

const count = z.int().min(1).max(1_000_000_000_000)
const smallCount = z.int().min(0).max(1_000_000)
const ms = z.number().min(1).max(MAX_LIMIT_MS)

/** The rule of each limit, in the units of the API: ms, bytes, USD, tokens. */
const rulesByLimit = {
  maxSteps: z.int().min(1).max(1_000_000),
  maxTurns: z.int().min(1).max(1_000_000),
  maxMessages: smallCount,
  maxToolCalls: smallCount,
  maxChildren: smallCount,
  maxDepth: smallCount,
  maxInputTokens: count,
  maxOutputTokens: count,
  maxCacheReadTokens: count,
  maxCacheWriteTokens: count,
  budgetTokens: count,
  budgetUsd: z.number().positive().max(1_000_000),
  cpuTimeMs: ms,
  timeoutMs: ms,
  memoryBytes: count,
  outputBytes: count,
} satisfies Record<LimitName, z.ZodType<number>>

const actions = z.partialRecord(z.enum(LIMIT_NAMES), z.enum(LIMIT_ACTIONS)) as z.ZodType<NonNullable<Limits['actions']>>

/** Returns the given limits whose action cannot be chosen. */
const limitsWithoutAction = (given: unknown): string[] => REFUSING_LIMITS.filter((name) => Object.hasOwn(Object(given), name))

const limitPolicy = {
  unknownPrice: z.enum(['warn', 'refuse']),
  actions: actions.refine((given) => limitsWithoutAction(given).length === 0, {
    error: ({ input }) => `${limitsWithoutAction(input).join(', ')}: this limit always refuses, its action cannot be chosen`,
  }),
  warnAt: z.number().gt(0).lte(1),
}

type Optional<S extends Record<string, z.ZodType>> = { [K in keyof S]: z.ZodExactOptional<S[K]> }

function optional<const S extends Record<string, z.ZodType>>(rules: S): Optional<S> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, rule.exactOptional()])) as unknown as Optional<S>
}

export const limitsRule = z.strictObject({ ...optional(rulesByLimit), ...optional(limitPolicy) })

/** The rule for recorded limits: earlier versions accepted actions that have no effect. */
export const recordedLimitsRule = limitsRule.extend({ actions: actions.exactOptional() })

/** The rule for amounts that are added to existing limits. */
export const raiseRule = z.strictObject(optional(rulesByLimit))

function unitRule(parse: (text: string) => number | null, hint: string) {
  return z.string(`expected ${hint}`).transform((text, context) => {
    const value = parse(text)
    if (value === null || value <= 0) context.addIssue(`expected ${hint}`)
    return value ?? 0
  })
}

const { cpuTimeMs: _cpu, timeoutMs: _time, memoryBytes: _memory, outputBytes: _output, ...plainLimits } = rulesByLimit
const time = unitRule(parseDuration, 'a duration such as 90s, 10m or 1h30m')
const size = unitRule(parseBytes, 'a size such as 500MB or 2GiB')
const limitsWithUnits = { timeout: time, cpuTime: time, memory: size, output: size }
/** The limits with units: their names in files, and in the API. */
const API_NAMES = { timeout: 'timeoutMs', cpuTime: 'cpuTimeMs', memory: 'memoryBytes', output: 'outputBytes' } as const

const fileShape = z.strictObject({ ...optional(plainLimits), ...optional(limitsWithUnits), ...optional(limitPolicy) })

/** The keys of `limits` in files, for suggestions. */
export const FILE_LIMIT_KEYS: readonly string[] = Object.keys(fileShape.shape)

/** The rule for `limits` in files, where times and sizes have units. */
export const fileLimitsRule = fileShape.transform(({ timeout, cpuTime, memory, output, ...rest }): Limits => {
  const units = Object.entries({ timeout, cpuTime, memory, output }).flatMap(([key, value]) =>
    value === undefined ? [] : [[API_NAMES[key as keyof typeof API_NAMES], value]],
  )
  return { ...rest, ...Object.fromEntries(units) } as Limits
})
