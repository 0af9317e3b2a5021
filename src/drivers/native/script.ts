// A model that is played from a YAML file: item n answers the call of step n, or, with rules, the item for what was said and
// how often it was answered, so that a resumed process goes on at the right place. For tests, demonstrations and work without
// a network. Files are parsed once and shared by all agents.
// An item with `error` fails its first attempt; if it also has text or tools, the next one succeeds, else all fail. A
// script with a window counts tokens by bytes, and refuses a context that does not fit.
// Tests: test/e2e/native-script.test.ts, test/e2e/native-script-rules.test.ts, test/e2e/native-compact.test.ts.
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KernelError } from '../../kernel/errors.ts'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { CallUsage } from '../../kernel/types.ts'
import { BYTES_PER_TOKEN, messageBytes } from './context.ts'
import { CallFailed, NO_USAGE } from './model.ts'
import type { Answer, Model, ModelRequest } from './model.ts'
import { isRetryableStatus } from './retry.ts'
import type { Script, ScriptError, ScriptItem } from './script-file.ts'
import { carried, cueOf, filled, filledAll } from './script-rules.ts'
import type { Cue } from './script-rules.ts'

const MAX_SCRIPT_BYTES = 4 * 1024 * 1024
/** Scripts that are kept parsed, in files. */
const MAX_CACHED_SCRIPTS = 64

interface Cached {
  readonly mtimeMs: number
  readonly size: number
  readonly script: Promise<Script>
}

const cache = new Map<string, Cached>()

/** Errors: `AGENT_INVALID` with the file and the line. */
export async function scriptModel(ref: string, where: { readonly file: string; readonly cwd: string }): Promise<Model> {
  const script = await loadScript(path.resolve(where.cwd, where.file))
  const { window } = script
  const call = async (request: ModelRequest): Promise<Answer> => {
    const inputTokens = window === null ? null : fitted(request, window)
    const cue = cueOf(script, request.step, request.context)
    const answer = await (request.question === undefined ? play(cue, request) : sumUp(cue.item, request, carried(script, request.context)))
    return inputTokens === null ? answer : { ...answer, usage: counted(answer, inputTokens) }
  }
  return { ref, window, call }
}

/** Errors: `CallFailed` as of a provider that has counted. */
function fitted({ system, context, question, offered }: ModelRequest, window: number): number {
  const overheadBytes = Buffer.byteLength(system ?? '') + Buffer.byteLength(JSON.stringify(offered()))
  const tokens = context.estimateTokens(overheadBytes) + Math.ceil(Buffer.byteLength(question ?? '') / BYTES_PER_TOKEN)
  if (tokens > window) throw new CallFailed(`the context is too long: ${tokens} tokens of ${window}`, { kind: 'too-long', status: 400 })
  return tokens
}

/** What the item says of its usage, or by bytes. */
function counted({ message, usage }: Answer, inputTokens: number): CallUsage {
  if (usage.inputTokens + usage.outputTokens > 0) return usage
  return { ...usage, inputTokens, outputTokens: Math.ceil(messageBytes({ role: 'assistant', parts: message }) / BYTES_PER_TOKEN) }
}

/** The summary that is asked for before the item's step; the same for the same context. `more` is its end. */
async function sumUp(item: ScriptItem | undefined, request: ModelRequest, more: string): Promise<Answer> {
  const { messages } = request.context
  if (item?.summary_delay_ms !== undefined) await wait(item.summary_delay_ms, request.signal)
  const error = item?.summary_error
  if (error !== undefined && (request.attempt === 1 || item?.summary === undefined)) throw failure(error, item?.summary !== undefined)
  const bytes = messages.reduce((sum, message) => sum + messageBytes(message), 0)
  const text = item?.summary ?? `Up to step ${request.step - 1} there were ${messages.length} messages of ${bytes} bytes.`
  return { message: [{ type: 'text', text: `${text}${more}` }], usage: NO_USAGE, finish: 'stop' }
}

async function loadScript(file: string): Promise<Script> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new KernelError('AGENT_INVALID', `script ${file} cannot be read: ${error.code ?? error.message}`, { file })
  })
  const { mtimeMs, size } = found
  // A device or a pipe has no end, and who reads it is the daemon.
  if (!found.isFile()) throw new KernelError('AGENT_INVALID', `script ${file} is not a regular file`, { file })
  if (size > MAX_SCRIPT_BYTES) throw new KernelError('AGENT_INVALID', `script ${file} has ${size} bytes, more than ${MAX_SCRIPT_BYTES}`, { file })
  const known = cache.get(file)
  if (known?.mtimeMs === mtimeMs && known.size === size) return known.script
  const script = parse(file)
  cache.delete(file)
  cache.set(file, { mtimeMs, size, script })
  const oldest = cache.keys().next()
  if (cache.size > MAX_CACHED_SCRIPTS && oldest.done === false) cache.delete(oldest.value)
  return script
}

async function parse(file: string): Promise<Script> {
  const [text, { parseScript }] = await Promise.all([readFile(file, 'utf8'), import('./script-file.ts')])
  return parseScript(text, file)
}

async function play({ item, words, mark }: Cue, request: ModelRequest): Promise<Answer> {
  if (item === undefined) return { message: [], usage: NO_USAGE, finish: 'stop' }
  if (item.delay_ms !== undefined) await wait(item.delay_ms, request.signal)
  const hasAnswer = item.text !== undefined || item.tools !== undefined
  if (item.error !== undefined && (request.attempt === 1 || !hasAnswer)) throw failure(item.error, hasAnswer)
  const text = item.text === undefined ? [] : [{ type: 'text', text: filled(item.text, words) } as const]
  for (const part of text) request.onText(part.text)
  const calls = (item.tools ?? []).map((tool, index): AssistantPart => ({
    type: 'tool-call', callId: `call_${request.step}_${index}${mark}`, name: tool.name, input: filledAll(tool.input, words),
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

function failure(error: ScriptError, hasAnswer: boolean): CallFailed {
  if (typeof error === 'string') return new CallFailed(error, { retryable: hasAnswer })
  const { message, status, kind } = error
  const byStatus = status === undefined ? hasAnswer : isRetryableStatus(status)
  return new CallFailed(message, { status: status ?? null, retryable: error.retryable ?? byStatus, ...(kind === undefined ? {} : { kind }) })
}

function usageOf(item: ScriptItem): CallUsage {
  return { ...NO_USAGE, inputTokens: item.usage?.input ?? 0, outputTokens: item.usage?.output ?? 0 }
}
