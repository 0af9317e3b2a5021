// Parses and validates a script: a YAML file with the answers of a scripted model. Errors name the line. Separate from script.ts, so
// that the YAML and schema libraries are loaded only for scripts. A long script is parsed in slices, so that it does not block the event
// loop. script-rules.ts applies the rules.
// Tests: test/tables/drivers/native/scripts/script-file.test.ts, test/processes/native/script.test.ts,
// test/processes/native/script-rules.test.ts.
import { Composer, Lexer, LineCounter, Parser, isNode, type CST, type Document } from 'yaml'
import { z } from 'zod'
import { KernelError } from '../../../kernel/model/errors.ts'
import type { FailureKind } from '../models/model.ts'
import { MAX_NESTING, findTooDeepLine } from '../../../kernel/util/nesting-depth.ts'
import { EventLoopTurns, type SliceQueue } from '../../common/event-loop-turns.ts'
import { errorText } from '../../../kernel/util/error-text.ts'

const FAILURE_KINDS = [
  'too-long',
  'auth',
  'not-found',
  'rate-limit',
  'overloaded',
  'refused',
  'cut',
  'other',
] as const satisfies readonly FailureKind[]

/** The longest delay of an item, in ms. */
const MAX_DELAY_MS = 86_400_000
const MAX_RULES = 1_000
/** The number of YAML lexemes that are parsed in one slice. */
const LEXEMES_PER_SLICE = 500

const SLICES = new EventLoopTurns().newQueue()

const failure = z.union([
  z.string(),
  z.strictObject({
    message: z.string(),
    status: z.int().optional(),
    retryable: z.boolean().optional(),
    kind: z.enum(FAILURE_KINDS).optional(),
  }),
])

/** The pattern of a rule or choice: a text to find, or `/a regular expression/` with flags. */
const pattern = z
  .string()
  .min(1)
  .transform((text, context): RegExp => {
    const [, source, flags] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? []
    try {
      return source === undefined ? new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')) : new RegExp(source, flags)
    } catch (error) {
      context.addIssue({ code: 'custom', message: errorText(error) })
      return z.NEVER
    }
  })

const item = z.strictObject({
  text: z.string().optional(),
  tools: z
    .array(z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()).default({}) }))
    .nonempty()
    .optional(),
  usage: z.strictObject({ input: z.int().nonnegative(), output: z.int().nonnegative() }).optional(),
  delay_ms: z.int().nonnegative().max(MAX_DELAY_MS).optional(),
  error: failure.optional(),
  // The answer to a request for a summary of the steps before this one.
  summary: z.string().optional(),
  summary_error: failure.optional(),
  summary_delay_ms: z.int().nonnegative().max(MAX_DELAY_MS).optional(),
})

/** A choice between items: the first item whose `if` matches the last tool result answers. */
const choice = z.strictObject({ choose: z.array(item.extend({ if: pattern.optional() })).nonempty() })

const step = z.unknown().transform((value, context): ScriptStep => {
  const isChoice = typeof value === 'object' && value !== null && 'choose' in value
  const result = (isChoice ? choice : item).safeParse(value)
  if (result.success) return result.data
  for (const { message, path } of result.error.issues) context.addIssue({ code: 'custom', message, path: [...path] })
  return z.NEVER
})

const rule = z.strictObject({ when: pattern, nth: z.int().positive().optional(), steps: z.array(z.unknown()) })

/** A script as an object. The steps are checked later, one by one. */
const script = z
  .strictObject({
    context_window: z.int().positive().optional(),
    rules: z.array(rule).max(MAX_RULES).optional(),
    steps: z.array(z.unknown()).optional(),
  })
  .refine(({ rules, steps }) => (rules ?? steps) !== undefined, 'it has neither `steps` nor `rules`')

export type ScriptItem = z.output<typeof item>
export type ScriptStep = ScriptItem | z.output<typeof choice>
export type ScriptRule = Omit<z.output<typeof rule>, 'steps'> & { readonly steps: readonly ScriptStep[] }
/** The error with which an item answers a call. */
export type ScriptError = z.output<typeof failure>

export interface Script {
  /** the steps; if the script has rules, the steps answer a message that no rule matches */
  readonly steps: readonly ScriptStep[]
  readonly rules: readonly ScriptRule[]
  /** the context window in tokens; null for no limit, and then tokens are not counted */
  readonly window: number | null
}

/** The script is invalid; `path` leads to the wrong value. */
class InvalidScript extends Error {
  readonly path: readonly PropertyKey[]

  constructor(message: string, path: readonly PropertyKey[]) {
    super(message)
    this.path = path
  }
}

/** Parses a script, which may also be only a list of steps. Errors: `AGENT_INVALID` with the file and the line of the first mistake. */
export async function parseScript(text: string, file: string, slices: SliceQueue = SLICES): Promise<Script> {
  const errorAt = (line: number, problem: string): KernelError =>
    new KernelError('AGENT_INVALID', `${file}:${line}: ${problem}`, { file, line })
  const tooDeepLine = findTooDeepLine(text)
  if (tooDeepLine !== null) throw errorAt(tooDeepLine, `nested more than ${MAX_NESTING} levels deep`)
  const lines = new LineCounter()
  const errorAtOffset = (problem: string, offset: number): KernelError => errorAt(Math.max(1, lines.linePos(offset).line), problem)
  const [document, secondDocument] = await parseDocuments(text, { lines, slices })
  const syntaxError = document?.errors[0]
  if (document === undefined || syntaxError !== undefined)
    throw errorAtOffset(`not valid YAML: ${syntaxError?.message.split('\n')[0] ?? 'it has no document'}`, syntaxError?.pos[0] ?? 0)
  if (secondDocument !== undefined) throw errorAtOffset('not valid YAML: a script must be a single document', secondDocument.range[0])
  const value = toPlain(document)
  if (value === undefined) throw errorAtOffset('an alias is unknown, or there are too many', 0)
  const isList = Array.isArray(value) || typeof value !== 'object' || value === null
  try {
    return await buildScript(isList ? { steps: value } : value, slices)
  } catch (error) {
    if (!(error instanceof InvalidScript)) throw error
    const path = error.path.filter((key) => typeof key !== 'symbol')
    const shownPath = isList ? path.slice(1) : path
    throw errorAtOffset(
      shownPath.length > 0
        ? `${shownPath.join('.')}: ${error.message}`
        : isList
          ? 'a script must be a list, or have a list as `steps` or `rules`'
          : error.message,
      offsetOf(document, shownPath),
    )
  }
}

/** Parses the YAML documents like the library's `parseDocument`, but in slices. */
async function parseDocuments(
  text: string,
  { lines, slices }: { readonly lines: LineCounter; readonly slices: SliceQueue },
): Promise<readonly Document.Parsed[]> {
  const lexemes = new Lexer().lex(text)
  const parser = new Parser(lines.addNewLine)
  const tokens: CST.Token[] = []
  lines.addNewLine(0)
  for (let isOver = false; !isOver;) {
    await slices.next()
    for (let count = 0; count < LEXEMES_PER_SLICE && !isOver; count += 1) {
      const { value, done } = lexemes.next()
      isOver = done === true
      for (const token of isOver ? parser.end() : parser.next(value as string)) tokens.push(token)
    }
  }
  await slices.next()
  return [...new Composer({ prettyErrors: false }).compose(tokens, true, text.length)] as Document.Parsed[]
}

async function buildScript(value: unknown, slices: SliceQueue): Promise<Script> {
  const { context_window: window = null, rules = [], steps = [] } = check(script, value, [])
  const stepsAt = (list: readonly unknown[], path: readonly PropertyKey[]): Promise<ScriptStep[]> =>
    slices.map(list.entries(), ([index, each]) => check(step, each, [...path, 'steps', index]))
  const checkedRules: ScriptRule[] = []
  for (const [index, each] of rules.entries()) checkedRules.push({ ...each, steps: await stepsAt(each.steps, ['rules', index]) })
  return { window, rules: checkedRules, steps: await stepsAt(steps, []) }
}

/** Validates a value of the script, which is at this path. Errors: `InvalidScript` for the first problem. */
function check<T>(schema: z.ZodType<T>, value: unknown, path: readonly PropertyKey[]): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new InvalidScript(issue?.message ?? 'not valid', [...path, ...(issue?.path ?? [])])
}

/** The document as plain values. Undefined for an unknown alias, or for too many aliases, where the library throws. */
function toPlain(document: Document.Parsed): unknown {
  try {
    return document.toJS() ?? null
  } catch {
    // The caller reports undefined as an error.
    return undefined
  }
}

/** The offset of the node at a path, or of the nearest node above it. */
function offsetOf(document: Document.Parsed, path: readonly (string | number)[]): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}
