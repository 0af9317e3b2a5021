// What a limit may be set to: one zod rule for each, used by the API and by the files of people, so that the two agree.
// Owns the ranges; what a limit means stands in src/kernel/limits.ts. Tests: test/e2e/api.test.ts, test/tables/config-agents.test.ts.
import { z } from 'zod'
import { LIMIT_NAMES } from '../kernel/limits.ts'
import { parseBytes } from './bytes.ts'
import { parseDuration } from './duration.ts'
import type { LimitName, Limits } from '../kernel/types.ts'

const MAX_MS = 366 * 86_400_000

const count = z.int().min(1).max(1_000_000_000_000)
const few = z.int().min(0).max(1_000_000)
const ms = z.number().min(1).max(MAX_MS)

/** Of each limit, in the units of the API: ms, bytes, USD, tokens. */
const limitRules = {
  maxSteps: z.int().min(1).max(1_000_000), maxTurns: z.int().min(1).max(1_000_000), maxMessages: few, maxToolCalls: few, maxChildren: few, maxDepth: few,
  maxInputTokens: count, maxOutputTokens: count, maxCacheReadTokens: count, maxCacheWriteTokens: count, budgetTokens: count,
  budgetUsd: z.number().positive().max(1_000_000),
  cpuTimeMs: ms, timeoutMs: ms, memoryBytes: count, outputBytes: count,
} satisfies Record<LimitName, z.ZodType<number>>

const limitPolicy = {
  unknownPrice: z.enum(['warn', 'refuse']),
  actions: z.partialRecord(z.enum(LIMIT_NAMES), z.enum(['suspend', 'terminate'])) as z.ZodType<NonNullable<Limits['actions']>>,
  warnAt: z.number().gt(0).lte(1),
}

type Optional<S extends Record<string, z.ZodType>> = { [K in keyof S]: z.ZodExactOptional<S[K]> }

function optional<const S extends Record<string, z.ZodType>>(rules: S): Optional<S> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, rule.exactOptional()])) as unknown as Optional<S>
}

export const limitsRule = z.strictObject({ ...optional(limitRules), ...optional(limitPolicy) })

/** What is added to limits that are there. */
export const raiseRule = z.strictObject(optional(limitRules))

function read(parse: (text: string) => number | null, hint: string) {
  return z.string().transform((text, context) => {
    const value = parse(text)
    if (value === null || value <= 0) context.addIssue(`expected ${hint}`)
    return value ?? 0
  })
}

const { cpuTimeMs: _cpu, timeoutMs: _time, memoryBytes: _memory, outputBytes: _output, ...figures } = limitRules
const time = read(parseDuration, 'a duration such as 90s, 10m or 1h30m')
const size = read(parseBytes, 'a size such as 500MB or 2GiB')
const inUnits = { timeout: time, cpuTime: time, memory: size, output: size }
/** As files name them. */
const fileNames = { timeout: 'timeoutMs', cpuTime: 'cpuTimeMs', memory: 'memoryBytes', output: 'outputBytes' } as const

const fileShape = z.strictObject({ ...optional(figures), ...optional(inUnits), ...optional(limitPolicy) })

/** The keys of `limits` in files, for words about one that is misspelt. */
export const FILE_LIMIT_KEYS: readonly string[] = Object.keys(fileShape.shape)

/** `limits` of files: times and sizes with their units. */
export const fileLimitsRule = fileShape.transform(({ timeout, cpuTime, memory, output, ...rest }): Limits => {
  const units = Object.entries({ timeout, cpuTime, memory, output }).flatMap(([key, value]) => (value === undefined ? [] : [[fileNames[key as keyof typeof fileNames], value]]))
  return { ...rest, ...Object.fromEntries(units) } as Limits
})
