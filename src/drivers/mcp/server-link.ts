// Runs one MCP server of an incarnation: starts it, lists its tools and calls them. The next call after the end of a server restarts it, a
// limited number of times. A server must never block the agent or another server, so each wait has a time limit and an abort signal.
// Tests: test/processes/mcp/stdio.test.ts, test/processes/mcp/hostile-servers.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpState } from '../../kernel/model/facts.ts'
import type { Containment } from '../contain/containment-contract.ts'
import { ToolError } from '../native/tools/tool-error.ts'
import type { EndWaits, Tool, ToolContext, ToolOutput } from '../native/tools/tool.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import { raceAbort } from '../common/race-abort.ts'
import { CallTimeout, progressText } from './call-timeout.ts'
import type { CallProgress } from './call-timeout.ts'
import type { Connection, ReadyServer } from './connection.ts'
import { toolEffect, nameTools } from './tool-list.ts'
import { toToolOutput } from './tool-result.ts'
import type { NamedTool } from './tool-list.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** The maximum number of restarts in a row without a successful call. */
const MAX_RESTARTS = 3
/** The tools are listed at most this many times in an incarnation, because each changed list is recorded. */
const MAX_LISTS = 200
/** The number of last characters of a server's output that are kept, to find the reason for a failed start. */
const TAIL_CHARS = 4_000
/** The maximum length of the shown reason for a failed start, in characters. */
const MAX_REASON_CHARS = 300
/** The maximum amount of output that is shown during one call, in characters. */
const MAX_OUTPUT_CHARS = 256 * 1024

export interface McpServerLinkDeps {
  readonly server: ReadyServer
  /** the beginning of the names of its tools */
  readonly prefix: string
  readonly containment: Containment
  readonly timers: FreezableTimers
  /** aborted when the incarnation ends */
  readonly endSignal: AbortSignal
  /** called when the tools or the state of the server have changed */
  readonly onChange: () => void
}

export class McpServerLink {
  readonly #deps: McpServerLinkDeps
  readonly #hideSecrets: (text: string) => string
  readonly #listeners = new Set<(text: string) => void>()
  #connection: Connection | null = null
  #pendingOpen: Promise<Connection> | null = null
  #tools: readonly Tool[] = []
  #state: McpState
  #restarts = 0
  #outputTail = ''
  #wasUp = false
  #isListStale = false
  #isListing = false
  #listCount = 0

  constructor(deps: McpServerLinkDeps) {
    this.#deps = deps
    this.#hideSecrets = makeSecretHider(deps.server.secrets)
    this.#state = { name: deps.server.name, state: 'failed', detail: 'not started', tools: [] }
  }

  get state(): McpState {
    return this.#state
  }

  /** the tools of the server: the same array until they change */
  get tools(): readonly Tool[] {
    return this.#tools
  }

  /** Starts the server. Resolves when it is up or has failed. Never rejects. */
  async start(): Promise<void> {
    await this.#open().catch((error: unknown) => this.#setFailed(errorText(error)))
  }

  /** Ends the connection. The containment ends the remaining programs. `endSignal` has already aborted a start in progress. */
  async close(waits: EndWaits): Promise<void> {
    if (this.#pendingOpen !== null) {
      // An error of the start is ignored here, because the state of the server already has it.
      const opened = this.#pendingOpen.catch(() => undefined)
      await Promise.race([opened, sleep(waits.stdinMs, undefined, { ref: false })])
    }
    await this.#connection?.end(waits)
  }

  #open(): Promise<Connection> {
    this.#pendingOpen ??= this.#connect().finally(() => {
      this.#pendingOpen = null
    })
    return this.#pendingOpen
  }

  async #connect(): Promise<Connection> {
    const { server, containment, timers, endSignal } = this.#deps
    const startTimeout = new AbortController()
    const signal = AbortSignal.any([startTimeout.signal, endSignal])
    const cancelTimeout = timers.start(server.startMs, () => startTimeout.abort())
    this.#outputTail = ''
    this.#isListStale = false
    let connection: Connection | null = null
    try {
      const { Connection } = await import('./connection.ts')
      signal.throwIfAborted()
      connection = await Connection.open(server, {
        containment,
        signal,
        onOutput: (text) => this.#onOutput(text),
        onChange: () => this.#listAgain(),
      })
      await this.#listTools(connection, signal)
      return this.#adopt(connection)
    } catch (error) {
      await connection?.end({ stdinMs: 0, termMs: 0 })
      if (startTimeout.signal.aborted) throw new Error(`it was not ready within ${server.startMs} ms`, { cause: error })
      throw error
    } finally {
      cancelTimeout()
    }
  }

  /** Uses a connection whose first list of tools has been read. */
  #adopt(connection: Connection): Connection {
    this.#connection = connection
    this.#wasUp = true
    connection.ended.then(
      (exitText) => this.#onEnd(connection, exitText),
      () => undefined,
    )
    if (this.#isListStale) this.#listAgain() // the server reported a change during its first list
    return connection
  }

  async #listTools(connection: Connection, signal: AbortSignal): Promise<void> {
    const { prefix, server } = this.#deps
    this.#listCount += 1
    const { tools, omittedCount } = nameTools(await connection.list(signal), prefix)
    this.#tools = tools.map((tool) => this.#toTool(tool))
    const notes = [...server.notes, ...(omittedCount > 0 ? [`${omittedCount} of its tools cannot be offered`] : [])]
    const detail = this.#hideSecrets([connection.detail, ...notes].join('; '))
    this.#state = {
      name: server.name,
      state: 'up',
      detail,
      tools: this.#tools.map((tool) => ({ name: tool.name, description: tool.description, schema: tool.schema() })),
    }
  }

  /** Lists the tools again. If another change arrives meanwhile, they are listed once more afterwards. */
  #listAgain(): void {
    this.#isListStale = true
    if (this.#isListing || this.#connection === null) return
    this.#isListing = true
    this.#listWhileStale(this.#connection)
      // If the listing fails, the old list stays. The end of a server is reported by `ended`.
      .catch(() => undefined)
      .finally(() => {
        this.#isListing = false
      })
  }

  async #listWhileStale(connection: Connection): Promise<void> {
    while (this.#isListStale && !connection.hasEnded && this.#listCount < MAX_LISTS) {
      this.#isListStale = false
      await this.#listTools(connection, AbortSignal.any([this.#deps.endSignal, AbortSignal.timeout(this.#deps.server.startMs)]))
      this.#deps.onChange()
    }
  }

  #onEnd(connection: Connection, exitText: string): void {
    if (this.#connection !== connection || this.#deps.endSignal.aborted) return
    this.#connection = null
    this.#setFailed(`it has ended: ${exitText}`)
    this.#deps.onChange()
  }

  /** Sets the state `failed`. A server that was up before keeps its tools, because the next call restarts it. */
  #setFailed(reason: string): void {
    const line = this.#wasUp ? undefined : reasonLine(this.#outputTail)
    const suffix = line ? `: ${line}` : ''
    this.#state = { ...this.#state, state: 'failed', detail: this.#hideSecrets(`${reason}${suffix}`) }
  }

  /**
   * Keeps the last characters of the output, and shows it in the running calls. Secrets are hidden before the text is cut, because a part
   * of a secret would not be found.
   */
  #onOutput(output: string): void {
    const text = this.#hideSecrets(output)
    this.#outputTail = (this.#outputTail + text.slice(-TAIL_CHARS)).slice(-TAIL_CHARS)
    for (const listener of this.#listeners) listener(text)
  }

  #toTool(tool: NamedTool): Tool {
    const { name, listed } = tool
    const schema = hideInSchema(tool.schema, this.#hideSecrets) as NamedTool['schema']
    return {
      name,
      description: this.#hideSecrets(tool.description),
      effect: toolEffect(listed.name, this.#deps.server.effects),
      schema: () => schema,
      run: (input, context) => this.#call(tool, input, context),
    }
  }

  /** Errors: `ToolError`. */
  async #call(tool: NamedTool, input: unknown, context: ToolContext): Promise<ToolOutput> {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new ToolError('the input must be an object')
    const object = input as Record<string, unknown>
    return (await this.#tryCall(tool, object, context)) ?? (await this.#tryCall(tool, object, context)) ?? throwUnknownSession()
  }

  /** Calls the tool once. Null if the server did not run the call, because it no longer knows the session. Errors: `ToolError`. */
  async #tryCall({ listed }: NamedTool, input: Record<string, unknown>, context: ToolContext): Promise<ToolOutput | null> {
    const connection = await this.#liveConnection(context.signal)
    using timeout = new CallTimeout(context, this.#deps.server.callMs)
    const listener = this.#makeOutputListener(context)
    this.#listeners.add(listener)
    try {
      const onProgress = (progress: CallProgress): void => timeout.onProgress(this.#hideSecrets(progressText(progress)))
      const result = await connection.call(listed, input, { signal: timeout.signal, onProgress })
      this.#restarts = 0
      return toToolOutput(result, this.#hideSecrets)
    } catch (error) {
      if (timeout.reason === null && isSessionLost(error)) return null
      throw new ToolError(this.#hideSecrets(timeout.reason ?? (await this.#failureText(connection, error))))
    } finally {
      this.#listeners.delete(listener)
    }
  }

  /** Returns the connection. Restarts the server if it has ended. Errors: `ToolError`. */
  async #liveConnection(signal: AbortSignal): Promise<Connection> {
    if (this.#connection !== null && !this.#connection.hasEnded) return this.#connection
    if (this.#pendingOpen === null) {
      if (this.#restarts >= MAX_RESTARTS)
        throw new ToolError(
          `not done: the MCP server "${this.#state.name}" has ended after ${MAX_RESTARTS} restarts, and is not started again; ${this.#state.detail}`,
        )
      this.#restarts += 1
    }
    try {
      const connection = await raceAbort(this.#open(), signal)
      this.#deps.onChange()
      return connection
    } catch (error) {
      if (!signal.aborted) this.#setFailed(errorText(error))
      throw new ToolError(this.#hideSecrets(`not done: the MCP server "${this.#state.name}" cannot be started again: ${errorText(error)}`))
    }
  }

  /** The error message for a failed call: the server's own message, or how the server ended during the call. */
  async #failureText(connection: Connection, error: unknown): Promise<string> {
    const message = errorText(error)
    if (!connection.hasEnded && message !== 'Connection closed') return message
    return `the MCP server "${this.#state.name}" ended during this call (${await connection.ended}): it may or may not have happened`
  }

  /** Returns a listener that shows the server's output during a call, up to the limit. */
  #makeOutputListener(context: ToolContext): (text: string) => void {
    let charsLeft = MAX_OUTPUT_CHARS
    return (text) => {
      if (charsLeft > 0) context.output(text.slice(0, charsLeft))
      charsLeft -= text.length
    }
  }
}

/** Compares the name of the error, because the file with its class is loaded only when the first server starts. */
function isSessionLost(error: unknown): boolean {
  return error instanceof Error && error.name === 'SessionLost'
}

function throwUnknownSession(): never {
  throw new ToolError('not done: the server does not recognize the session that it has just started')
}

/** The last line that looks like the reason of a failure, or else the last line. */
function reasonLine(text: string): string | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const reason = lines.findLast((line) => /error\b|cannot|can't|not found|no such|denied|failed|invalid|missing|required/i.test(line))
  return (reason ?? lines.at(-1))?.slice(0, MAX_REASON_CHARS)
}

function makeSecretHider(secrets: readonly string[]): (text: string) => string {
  return (text) => secrets.reduce((safeText, secret) => safeText.replaceAll(secret, '[secret]'), text)
}

/** Hides the secrets in all texts of a schema. */
function hideInSchema(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((each) => hideInSchema(each, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [hide(key), hideInSchema(each, hide)]))
}
