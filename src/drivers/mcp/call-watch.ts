// What ends a call of a server's tool from our side: an interruption, or too long a silence. A word from the server begins
// the silence anew; while the agent is frozen it does not grow. Test: test/e2e/mcp.test.ts.
import type { ToolContext } from '../native/tools/tool.ts'

export interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

export function progressText({ progress, total, message }: Progress): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`
  return `${message === undefined ? '' : `${message.slice(0, 1000)} `}[${count}]\n`
}

/** Ends a call when it is interrupted, and when the server says nothing of it for too long; both stand still while frozen. */
export class CallWatch implements Disposable {
  readonly #at: ToolContext
  readonly #callMs: number
  readonly #abort = new AbortController()
  #disarm: () => void
  /** why the call was ended by us */
  why: string | null = null

  constructor(at: ToolContext, callMs: number) {
    this.#at = at
    this.#callMs = callMs
    this.#disarm = this.#arm()
    at.signal.addEventListener('abort', this.#interrupt)
    if (at.signal.aborted) this.#interrupt()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  word(text: string): void {
    this.#disarm()
    this.#disarm = this.#arm()
    this.#at.output(text)
  }

  [Symbol.dispose](): void {
    this.#disarm()
    this.#at.signal.removeEventListener('abort', this.#interrupt)
  }

  #arm(): () => void {
    return this.#at.freezer.deadline(this.#callMs, () => this.#end(`no word of it for ${this.#callMs} ms, so it was cancelled: it may or may not have happened`))
  }

  readonly #interrupt = (): void => this.#end('ended by an interruption')

  #end(why: string): void {
    this.why ??= why
    this.#abort.abort(why)
  }
}
