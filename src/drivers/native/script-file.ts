// The format of a script file, checked with its line numbers. Apart from script.ts so that the YAML and schema libraries
// are loaded only when a script is. What its rules mean is script-rules.ts's business.
// Tests: test/e2e/native-script.test.ts, test/e2e/native-script-rules.test.ts.
import { LineCounter, isNode, parseDocument } from 'yaml'
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import type { FailureKind } from './model.ts'

const KINDS = ['too-long', 'auth', 'not-found', 'rate-limit', 'overloaded', 'refused', 'cut', 'other'] as const satisfies readonly FailureKind[]

/** Longest pause of an item, in ms. */
const MAX_DELAY_MS = 86_400_000
const MAX_RULES = 1_000

const failure = z.union([
  z.string(),
  z.strictObject({ message: z.string(), status: z.int().optional(), retryable: z.boolean().optional(), kind: z.enum(KINDS).optional() }),
])

/** A text that must be within another one, or `/a regular expression/` with flags. */
const pattern = z.string().min(1).transform((text, context): RegExp => {
  const [, source, flags] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? []
  try {
    return source === undefined ? new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')) : new RegExp(source, flags)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    return z.NEVER
  }
})

const item = z.strictObject({
  text: z.string().optional(),
  tools: z.array(z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()).default({}) })).nonempty().optional(),
  usage: z.strictObject({ input: z.int().nonnegative(), output: z.int().nonnegative() }).optional(),
  delay_ms: z.int().nonnegative().max(MAX_DELAY_MS).optional(),
  error: failure.optional(),
  // of the call that sums up what was before this step
  summary: z.string().optional(),
  summary_error: failure.optional(),
  summary_delay_ms: z.int().nonnegative().max(MAX_DELAY_MS).optional(),
})

/** One of several items: the first whose `if` is found in the last result. */
const choice = z.strictObject({ choose: z.array(item.extend({ if: pattern.optional() })).nonempty() })

const step = z.unknown().transform((value, context): ScriptStep => {
  const isChoice = typeof value === 'object' && value !== null && 'choose' in value
  const result = (isChoice ? choice : item).safeParse(value)
  if (result.success) return result.data
  for (const { message, path } of result.error.issues) context.addIssue({ code: 'custom', message, path: [...path] })
  return z.NEVER
})

const rule = z.strictObject({ when: pattern, nth: z.int().positive().optional(), steps: z.array(step) })

/** A script may also be the list of its steps alone. */
const script = z.strictObject({ context_window: z.int().positive().optional(), rules: z.array(rule).max(MAX_RULES).optional(), steps: z.array(step).optional() })
  .refine(({ rules, steps }) => (rules ?? steps) !== undefined, 'it has neither `steps` nor `rules`')

export type ScriptItem = z.output<typeof item>
export type ScriptStep = ScriptItem | z.output<typeof choice>
export type ScriptRule = z.output<typeof rule>
export type ScriptError = z.output<typeof failure>

export interface Script {
  /** with rules: what answers a message that none of them is for */
  readonly steps: readonly ScriptStep[]
  readonly rules: readonly ScriptRule[]
  /** tokens that a context may have; null: there is no limit, and tokens are not counted */
  readonly window: number | null
}

/** Errors: `AGENT_INVALID` with the file and the line of the first mistake. */
export function parseScript(text: string, file: string): Script {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const bad = (what: string, offset: number): KernelError => {
    const { line } = lines.linePos(offset)
    return new KernelError('AGENT_INVALID', `${file}:${line}: ${what}`, { file, line })
  }
  const [mistake] = document.errors
  if (mistake !== undefined) throw bad(mistake.message.split('\n')[0] ?? mistake.code, mistake.pos[0])
  const value: unknown = document.toJS()
  const isList = Array.isArray(value) || typeof value !== 'object' || value === null
  const result = script.safeParse(isList ? { steps: value } : value)
  if (result.success) return { window: result.data.context_window ?? null, steps: result.data.steps ?? [], rules: result.data.rules ?? [] }
  const [issue] = result.error.issues
  const path = issue?.path.filter((key) => typeof key !== 'symbol') ?? []
  const where = isList ? path.slice(1) : path
  const said = issue?.message ?? 'not valid'
  throw bad(where.length > 0 ? `${where.join('.')}: ${said}` : isList ? 'a script is a list, or has one as `steps` or `rules`' : said, offsetOf(document, where))
}

/** The place of the node at a path, or of the nearest node above it. */
function offsetOf(document: ReturnType<typeof parseDocument>, where: readonly (string | number)[]): number {
  for (let length = where.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(where.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}
