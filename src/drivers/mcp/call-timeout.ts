// Ends a call of an MCP tool when it is interrupted, or when the server has sent nothing for too long. Each progress message restarts the
// time limit, which does not advance while the agent is frozen.
// Tests: test/processes/mcp/stdio.test.ts, test/tables/drivers/mcp/call-timeout.test.ts.
import type { ToolContext } from '../native/tools/tool.ts'

export interface CallProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** Formats a progress message as `TEXT [DONE/TOTAL]`. */
export function progressText({ progress, total, message }: CallProgress): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`
  return `${message === undefined ? '' : `${message.slice(0, 1000)} `}[${count}]\n`
}

/**
 * Runs the action after the pending reads. When the event loop was blocked, expired timers run first, before the data that arrived
 * meanwhile is read.
 */
function afterPendingReads(action: () => void): void {
  setImmediate(() => setImmediate(action))
}

/** Aborts `signal` when the call is interrupted, or when the server has sent nothing for `callMs` of unfrozen time. */
export class CallTimeout implements Disposable {
  readonly #context: ToolContext
  readonly #callMs: number
  readonly #controller = new AbortController()
  #cancelTimer: () => void
  /** why reeve ended the call; null if reeve has not ended it */
  reason: string | null = null

  constructor(context: ToolContext, callMs: number) {
    this.#context = context
    this.#callMs = callMs
    this.#cancelTimer = this.#startTimer()
    context.signal.addEventListener('abort', this.#interrupt)
    if (context.signal.aborted) this.#interrupt()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the time limit and shows the progress. */
  onProgress(text: string): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#startTimer()
    this.#context.output(text)
  }

  [Symbol.dispose](): void {
    this.#cancelTimer()
    this.#context.signal.removeEventListener('abort', this.#interrupt)
  }

  #startTimer(): () => void {
    let isRunning = true
    const end = (): void => {
      if (isRunning) this.#end(`the server sent nothing for ${this.#callMs} ms, so the call was cancelled: it may or may not have happened`)
    }
    const cancel = this.#context.timers.start(this.#callMs, () => afterPendingReads(end))
    return () => {
      isRunning = false
      cancel()
    }
  }

  readonly #interrupt = (): void => this.#end('ended by an interruption')

  #end(reason: string): void {
    this.reason ??= reason
    this.#controller.abort(reason)
  }
}
