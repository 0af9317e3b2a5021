// A model that answers from a YAML file, for tests, demonstrations and runs without a network. Without rules, item n answers the call of
// step n. With rules, the item depends only on the messages in the context (script-rules.ts). This way a resumed
// process continues at the right position. All agents share one parsed copy of a file. An item with `error` fails its first attempt. If
// the item also has text or tools, the next attempt succeeds; otherwise all attempts fail. A script with a context window counts tokens
// by bytes, and refuses a context that does not fit.
// Tests: test/processes/native/script.test.ts, test/processes/native/script-rules.test.ts, test/processes/native/compaction.test.ts.
import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextEventLoopTurn, setTimeout as sleep } from 'node:timers/promises'
import { KernelError } from '../../../kernel/model/errors.ts'
import type { AssistantPart } from '../../../kernel/model/facts.ts'
import { BYTES_PER_TOKEN, messageBytes } from '../context/context.ts'
import { withTimeLimit } from '../regex-time-limit.ts'
import { CallFailed, NO_USAGE } from '../models/model.ts'
import type { ModelAnswer, Model, ModelRequest } from '../models/model.ts'
import { isRetryableStatus } from '../models/retry.ts'
import type { Script, ScriptError, ScriptItem } from './script-file.ts'
import { positionSuffix, chooseItem, fillIn, fillInAll } from './script-rules.ts'
import type { ItemChoice } from './script-rules.ts'
import type { CallUsage } from '../../../kernel/model/usage.ts'

const MAX_SCRIPT_BYTES = 1024 * 1024
/** The longest time that the patterns of one step may block the daemon, in ms. */
const MAX_PATTERNS_MS = 200
/** A pattern is too slow if it exceeds the time in this many attempts. On a busy machine, even a fast pattern may exceed it once. */
const PATTERN_ATTEMPTS = 3
/** The maximum number of parsed scripts in the cache. */
const MAX_CACHED_SCRIPTS = 64

interface CachedScript {
  readonly mtimeMs: number
  readonly size: number
  readonly script: Promise<Script>
}

/** the parsed scripts by file; the oldest first */
const scriptCache = new Map<string, CachedScript>()

/** Creates the model of a script file. Errors: `AGENT_INVALID` with the file and the line. */
export async function scriptModel(ref: string, location: { readonly file: string; readonly cwd: string }): Promise<Model> {
  const script = await loadScript(path.resolve(location.cwd, location.file))
  const { window } = script
  const call = async (request: ModelRequest): Promise<ModelAnswer> => {
    const inputTokens = window === null ? null : countInput(request, window)
    const choice = await findItem(script, request)
    const answer = await (request.question === undefined
      ? answerFrom(choice, request)
      : summarize(choice.item, request, positionSuffix(script, request.context)))
    return inputTokens === null ? answer : { ...answer, usage: usageWithCounts(answer, inputTokens) }
  }
  return { ref, window, call }
}

/** Chooses the item that answers. Errors: `CallFailed` for patterns that take too long, because they block the daemon. */
async function findItem(script: Script, { step, context }: ModelRequest): Promise<ItemChoice> {
  if (script.rules.length === 0 && !script.steps.some((each) => 'choose' in each)) return chooseItem(script, step, context)
  for (let attempt = 0; attempt < PATTERN_ATTEMPTS; attempt += 1) {
    const choice = withTimeLimit(MAX_PATTERNS_MS, () => chooseItem(script, step, context))
    if (choice !== null) return choice.value
    await nextEventLoopTurn()
  }
  throw new CallFailed('a pattern of the script takes too long; make it simpler', { kind: 'refused', status: 400 })
}

/** The input tokens of a request. Errors: `CallFailed` if they exceed the window, as a real provider would report it. */
function countInput({ system, context, question, offeredTools }: ModelRequest, window: number): number {
  const overheadBytes = Buffer.byteLength(system ?? '') + Buffer.byteLength(JSON.stringify(offeredTools()))
  const tokens = context.estimateTokens(overheadBytes) + Math.ceil(Buffer.byteLength(question ?? '') / BYTES_PER_TOKEN)
  if (tokens > window) throw new CallFailed(`the context is too long: ${tokens} tokens of ${window}`, { kind: 'too-long', status: 400 })
  return tokens
}

/** The usage that the item states, or else an estimate by bytes. */
function usageWithCounts({ message, usage }: ModelAnswer, inputTokens: number): CallUsage {
  if (usage.inputTokens + usage.outputTokens > 0) return usage
  return { ...usage, inputTokens, outputTokens: Math.ceil(messageBytes({ role: 'assistant', parts: message }) / BYTES_PER_TOKEN) }
}

/** Answers a request for a summary. Equal contexts get equal texts. `suffix` is appended. */
async function summarize(item: ScriptItem | undefined, request: ModelRequest, suffix: string): Promise<ModelAnswer> {
  const { messages } = request.context
  if (item?.summary_delay_ms !== undefined) await wait(item.summary_delay_ms, request.signal)
  const error = item?.summary_error
  if (error !== undefined && (request.attempt === 1 || item?.summary === undefined)) throw toCallFailed(error, item?.summary !== undefined)
  const bytes = messages.reduce((sum, message) => sum + messageBytes(message), 0)
  const text = item?.summary ?? `Up to step ${request.step - 1} there were ${messages.length} messages of ${bytes} bytes.`
  return { message: [{ type: 'text', text: `${text}${suffix}` }], usage: NO_USAGE, finish: 'stop' }
}

async function loadScript(file: string): Promise<Script> {
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new KernelError('AGENT_INVALID', `script ${file} cannot be read: ${error.code ?? error.message}`, { file })
  })
  const { mtimeMs, size } = stats
  // Reading a device or a pipe might never end, and would block the daemon.
  if (!stats.isFile()) throw new KernelError('AGENT_INVALID', `script ${file} is not a regular file`, { file })
  if (size > MAX_SCRIPT_BYTES)
    throw new KernelError('AGENT_INVALID', `script ${file} has ${size} bytes, more than ${MAX_SCRIPT_BYTES}`, { file })
  const cached = scriptCache.get(file)
  if (cached?.mtimeMs === mtimeMs && cached.size === size) return cached.script
  const script = parseFile(file)
  scriptCache.delete(file)
  scriptCache.set(file, { mtimeMs, size, script })
  const oldest = scriptCache.keys().next()
  if (scriptCache.size > MAX_CACHED_SCRIPTS && oldest.done === false) scriptCache.delete(oldest.value)
  return script
}

async function parseFile(file: string): Promise<Script> {
  const [bytes, { parseScript }] = await Promise.all([readFile(file), import('./script-file.ts')])
  if (!isUtf8(bytes)) throw new KernelError('AGENT_INVALID', `script ${file} is not UTF-8 text`, { file })
  return parseScript(bytes.toString(), file)
}

/** Answers a call with the chosen item. Errors: `CallFailed` for an item with an error. */
async function answerFrom({ item, values, callIdSuffix }: ItemChoice, request: ModelRequest): Promise<ModelAnswer> {
  if (item === undefined) return { message: [], usage: NO_USAGE, finish: 'stop' }
  if (item.delay_ms !== undefined) await wait(item.delay_ms, request.signal)
  const hasAnswer = item.text !== undefined || item.tools !== undefined
  if (item.error !== undefined && (request.attempt === 1 || !hasAnswer)) throw toCallFailed(item.error, hasAnswer)
  const text = item.text === undefined ? [] : [{ type: 'text', text: fillIn(item.text, values) } as const]
  for (const part of text) request.onText(part.text)
  const calls = (item.tools ?? []).map((tool, index): AssistantPart => ({
    type: 'tool-call',
    callId: `call_${request.step}_${index}${callIdSuffix}`,
    name: tool.name,
    input: fillInAll(tool.input, values),
  }))
  return { message: [...text, ...calls], usage: usageOf(item), finish: calls.length > 0 ? 'tool-calls' : 'stop' }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    throw new CallFailed('interrupted', { kind: 'cut' })
  }
}

function toCallFailed(error: ScriptError, hasAnswer: boolean): CallFailed {
  if (typeof error === 'string') return new CallFailed(error, { retryable: hasAnswer })
  const { message, status, kind } = error
  const isStatusRetryable = status === undefined ? hasAnswer : isRetryableStatus(status)
  return new CallFailed(message, {
    status: status ?? null,
    retryable: error.retryable ?? isStatusRetryable,
    ...(kind === undefined ? {} : { kind }),
  })
}

function usageOf(item: ScriptItem): CallUsage {
  return { ...NO_USAGE, inputTokens: item.usage?.input ?? 0, outputTokens: item.usage?.output ?? 0 }
}
