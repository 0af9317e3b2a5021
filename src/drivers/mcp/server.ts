// One MCP server of an incarnation: it is started, listed, called, and started again at the next call if it has died, but
// not for ever. Owns its connection and its tools as the model knows them. Whatever it does, nobody else is held up: each
// wait has a limit and a signal. Tests: test/e2e/mcp.test.ts, test/processes/mcp-hostile.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpState } from '../../kernel/facts.ts'
import type { Containment } from '../contain/contain.ts'
import { ToolError } from '../native/tools/tool.ts'
import type { Patience, Tool, ToolContext, ToolOutput } from '../native/tools/tool.ts'
import type { Freezer } from '../native/tools/freezer.ts'
import { abortable } from '../native/work.ts'
import { CallWatch, progressText } from './call-watch.ts'
import type { Progress } from './call-watch.ts'
import type { Connection, ReadyServer } from './connection.ts'
import { effectOf, namedTools, outputOf } from './tools.ts'
import type { NamedTool } from './tools.ts'

/** Starts in a row after which no call was answered. */
const MAX_RESTARTS = 3
/** Lists that are asked for in the life of an agent: each new one is recorded. */
const MAX_LISTS = 200
/** Of what it says on stderr, for the reason why it did not start. */
const TAIL_CHARS = 4_000
const MAX_LINE_CHARS = 300
/** Of what it says beside its answers, shown with one call. */
const MAX_HEARD_CHARS = 256 * 1024

export interface ServerParts {
  readonly start: ReadyServer
  /** what the names of its tools begin with */
  readonly prefix: string
  readonly containment: Containment
  readonly freezer: Freezer
  /** aborted when the incarnation ends */
  readonly ending: AbortSignal
  /** its tools or its state are others than before */
  readonly changed: () => void
}

export class Server {
  readonly #parts: ServerParts
  readonly #hide: (text: string) => string
  readonly #listeners = new Set<(text: string) => void>()
  #connection: Connection | null = null
  #opening: Promise<Connection> | null = null
  #tools: readonly Tool[] = []
  #state: McpState
  #restarts = 0
  #tail = ''
  #wasUp = false
  #stale = false
  #listing = false
  #lists = 0

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#hide = hiderOf(parts.start.secrets)
    this.#state = { name: parts.start.name, state: 'failed', detail: 'not started', tools: [] }
  }

  get state(): McpState {
    return this.#state
  }

  /** the same array as long as they are the same */
  get tools(): readonly Tool[] {
    return this.#tools
  }

  /** Resolves when it is up or given up. Never rejects. */
  async start(): Promise<void> {
    await this.#open().catch((error: unknown) => this.#failed(wordsOf(error)))
  }

  /** What is left then is ended by the containment. An attempt to start it has been told before, by `ending`. */
  async close(patience: Patience): Promise<void> {
    if (this.#opening !== null) await Promise.race([this.#opening.catch(() => undefined), sleep(patience.stdinMs, undefined, { ref: false })])
    await this.#connection?.end(patience)
  }

  #open(): Promise<Connection> {
    this.#opening ??= this.#connect().finally(() => { this.#opening = null })
    return this.#opening
  }

  async #connect(): Promise<Connection> {
    const { start, containment, freezer, ending } = this.#parts
    const attempt = new AbortController()
    const signal = AbortSignal.any([attempt.signal, ending])
    const disarm = freezer.deadline(start.startMs, () => attempt.abort())
    this.#tail = ''
    this.#stale = false
    let connection: Connection | null = null
    try {
      const { Connection } = await import('./connection.ts')
      signal.throwIfAborted()
      connection = await Connection.open(start, { containment, signal, heard: (text) => this.#hear(text), changed: () => this.#listAgain() })
      await this.#list(connection, signal)
      return this.#up(connection)
    } catch (error) {
      await connection?.end({ stdinMs: 0, termMs: 0 })
      if (attempt.signal.aborted) throw new Error(`it was not ready within ${start.startMs} ms`, { cause: error })
      throw error
    } finally {
      disarm()
    }
  }

  #up(connection: Connection): Connection {
    this.#connection = connection
    this.#wasUp = true
    connection.ended.then((how) => this.#ended(connection, how), () => undefined)
    if (this.#stale) this.#listAgain() // it said so while it was listed for the first time
    return connection
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<void> {
    const { prefix, start } = this.#parts
    this.#lists += 1
    const { tools, leftOut } = namedTools(await connection.list(signal), prefix)
    this.#tools = tools.map((tool) => this.#toolOf(tool))
    const notes = [...start.notes, ...(leftOut > 0 ? [`${leftOut} of its tools cannot be offered`] : [])]
    const detail = this.#hide([connection.detail, ...notes].join('; '))
    this.#state = { name: start.name, state: 'up', detail, tools: this.#tools.map((tool) => ({ name: tool.name, description: tool.description, schema: tool.schema() })) }
  }

  /** One list at a time; what is told meanwhile is looked at after it. */
  #listAgain(): void {
    this.#stale = true
    if (this.#listing || this.#connection === null) return
    this.#listing = true
    this.#listWhileStale(this.#connection).catch(() => undefined).finally(() => { this.#listing = false })
  }

  async #listWhileStale(connection: Connection): Promise<void> {
    while (this.#stale && !connection.over && this.#lists < MAX_LISTS) {
      this.#stale = false
      await this.#list(connection, AbortSignal.any([this.#parts.ending, AbortSignal.timeout(this.#parts.start.startMs)]))
      this.#parts.changed()
    }
  }

  #ended(connection: Connection, how: string): void {
    if (this.#connection !== connection || this.#parts.ending.aborted) return
    this.#connection = null
    this.#failed(`it has ended: ${how}`)
    this.#parts.changed()
  }

  /** Its tools stay on offer if it was up: the next call starts it again. */
  #failed(why: string): void {
    const said = this.#wasUp ? undefined : tellingLine(this.#tail)
    const tail = said ? `: ${said}` : ''
    this.#state = { ...this.#state, state: 'failed', detail: this.#hide(`${why}${tail}`) }
  }

  /** Hidden before it is cut: half a secret is not found any more. */
  #hear(said: string): void {
    const text = this.#hide(said)
    this.#tail = (this.#tail + text.slice(-TAIL_CHARS)).slice(-TAIL_CHARS)
    for (const listener of this.#listeners) listener(text)
  }

  #toolOf(tool: NamedTool): Tool {
    const { name, listed } = tool
    const schema = hideIn(tool.schema, this.#hide) as NamedTool['schema']
    return {
      name, description: this.#hide(tool.description),
      effect: effectOf(listed.name, this.#parts.start.effects),
      schema: () => schema,
      run: (input, at) => this.#call(tool, input, at),
    }
  }

  /** Errors: `ToolError`. */
  async #call(tool: NamedTool, input: unknown, at: ToolContext): Promise<ToolOutput> {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new ToolError('the input must be an object')
    const asked = input as Record<string, unknown>
    return (await this.#ask(tool, asked, at)) ?? (await this.#ask(tool, asked, at)) ?? lost()
  }

  /** null: it was not done, and a new session is to be begun. */
  async #ask({ listed }: NamedTool, input: Record<string, unknown>, at: ToolContext): Promise<ToolOutput | null> {
    const connection = await this.#living(at.signal)
    using watch = new CallWatch(at, this.#parts.start.callMs)
    const heard = this.#heardBy(at)
    this.#listeners.add(heard)
    try {
      const progress = (news: Progress): void => watch.word(this.#hide(progressText(news)))
      const result = await connection.call(listed, input, { signal: watch.signal, progress })
      this.#restarts = 0
      return outputOf(result, this.#hide)
    } catch (error) {
      if (watch.why === null && isLost(error)) return null
      throw new ToolError(this.#hide(watch.why ?? (await this.#endOf(connection, error))))
    } finally {
      this.#listeners.delete(heard)
    }
  }

  async #living(signal: AbortSignal): Promise<Connection> {
    if (this.#connection !== null && !this.#connection.over) return this.#connection
    if (this.#opening === null) {
      if (this.#restarts >= MAX_RESTARTS) throw new ToolError(`not done: the MCP server "${this.#state.name}" has ended, and is not started again after ${MAX_RESTARTS} times; ${this.#state.detail}`)
      this.#restarts += 1
    }
    try {
      const connection = await abortable(this.#open(), signal)
      this.#parts.changed()
      return connection
    } catch (error) {
      if (!signal.aborted) this.#failed(wordsOf(error))
      throw new ToolError(this.#hide(`not done: the MCP server "${this.#state.name}" cannot be started again: ${wordsOf(error)}`))
    }
  }

  /** What a call that failed is told: the server's own words, or how the server ended under it. */
  async #endOf(connection: Connection, error: unknown): Promise<string> {
    const words = wordsOf(error)
    if (!connection.over && words !== 'Connection closed') return words
    return `the MCP server "${this.#state.name}" ended in this call (${await connection.ended}): it may or may not have happened`
  }

  #heardBy(at: ToolContext): (text: string) => void {
    let left = MAX_HEARD_CHARS
    return (text) => {
      if (left > 0) at.output(text.slice(0, left))
      left -= text.length
    }
  }
}

/** By its name: the class is of a file that is loaded when the first server starts. */
function isLost(error: unknown): boolean {
  return error instanceof Error && error.name === 'SessionLost'
}

function lost(): never {
  throw new ToolError('not done: the server does not know the session that it has just begun')
}

/** The last line that sounds like a reason, else the last one. */
function tellingLine(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  const reason = lines.findLast((line) => /error\b|cannot|can't|not found|no such|denied|failed|invalid|missing|required/i.test(line))
  return (reason ?? lines.at(-1))?.slice(0, MAX_LINE_CHARS)
}

function hiderOf(secrets: readonly string[]): (text: string) => string {
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
}

/** In all texts of a schema. */
function hideIn(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((each) => hideIn(each, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [hide(key), hideIn(each, hide)]))
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
