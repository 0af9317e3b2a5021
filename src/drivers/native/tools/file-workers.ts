// The worker threads of the file tools, and their limits. Threads start at first use and end when idle. A thread is ended when its call
// takes too long. If the call only reads, an interruption or a freeze of its agent ends the thread, too. This way no pattern, tree or file
// can block the daemon. file-worker.ts runs in the threads. The build contains its source text, so that no installed file is read later.
// Test: test/processes/native/hostile-tool-calls.test.ts.
import { Worker } from 'node:worker_threads'
import type { FileAnswer, FileCall, FileInputs, FileToolName } from './file-inputs.ts'
import type { FreezableTimers } from '../../common/freezable-timers.ts'
import { RefusedError, ToolError } from './tool-error.ts'
import type { ToolContext, ToolOutput } from './tool.ts'
import type { ToolEffect } from '../../../kernel/model/words.ts'

/** The worker's source text, inserted by scripts/build.mjs; undefined when the sources run directly. */
declare const REEVE_FILE_WORKER: string | undefined

const LIMITS = {
  /** the longest time of one call, in ms */
  callMs: 30_000,
  /** the time after which an idle thread ends, in ms */
  idleMs: 10_000,
  /** the maximum number of threads */
  workers: 4,
  /** the maximum number of threads that one agent uses, so that other agents get threads too */
  perAgent: 2,
}
/** The heap limit of one thread, in MiB. */
const MAX_HEAP_MIB = 256

interface FileRequest {
  readonly name: FileToolName
  readonly effect: ToolEffect
  readonly input: FileInputs[FileToolName]
}

/** The part of a tool's context that the file tools need. */
type CallContext = Pick<ToolContext, 'cwd' | 'paths' | 'timers' | 'signal'>

/** A call that waits or runs. */
interface Call {
  readonly request: FileRequest
  readonly context: CallContext
  readonly resolve: (answer: FileAnswer) => void
  readonly reject: (reason: unknown) => void
  /** null while the call waits for a thread */
  thread: Thread | null
}

/** A worker thread. */
interface Thread {
  readonly worker: Worker
  /** null while the thread is idle */
  call: Call | null
  /** ends the call at its time limit */
  timer?: NodeJS.Timeout
}

/** Runs calls of the file tools in worker threads. */
export class FileWorkers {
  readonly #limits: typeof LIMITS
  readonly #threads = new Set<Thread>()
  readonly #waitingCalls: Call[] = []
  #idleTimer: NodeJS.Timeout | undefined

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** the number of threads */
  get size(): number {
    return this.#threads.size
  }

  /**
   * Runs a call in a thread. Errors: `ToolError`. When the signal aborts, a call that only reads or has not begun rejects with the signal's
   * reason.
   */
  async run(request: FileRequest, context: CallContext): Promise<string | ToolOutput> {
    context.signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<FileAnswer>()
    const call: Call = { request, context, resolve, reject, thread: null }
    const abort = (): void => this.#abort(call)
    context.signal.addEventListener('abort', abort, { once: true })
    const stopWatching = context.timers.watch((frozen) => (frozen ? this.#requeue(call) : this.#beginCalls()))
    this.#waitingCalls.push(call)
    this.#beginCalls()
    try {
      return outputOf(await promise)
    } finally {
      context.signal.removeEventListener('abort', abort)
      stopWatching()
    }
  }

  #beginCalls(): void {
    for (let call = this.#nextCall(); call !== undefined; call = this.#nextCall()) {
      this.#waitingCalls.splice(this.#waitingCalls.indexOf(call), 1)
      this.#beginCall(call, [...this.#threads].find((thread) => thread.call === null) ?? this.#startThread())
    }
  }

  /** The first waiting call that may begin; undefined if there is none. */
  #nextCall(): Call | undefined {
    const runningCalls = [...this.#threads].flatMap(({ call }) => call ?? [])
    if (runningCalls.length >= this.#limits.workers) return undefined
    const hasThreadLeft = (timers: FreezableTimers): boolean =>
      runningCalls.filter((call) => call.context.timers === timers).length < this.#limits.perAgent
    return this.#waitingCalls.find(({ context: { timers } }) => !timers.isFrozen && hasThreadLeft(timers))
  }

  #beginCall(call: Call, thread: Thread): void {
    const {
      request: { name, input },
      context: { cwd, paths },
    } = call
    call.thread = thread
    thread.call = call
    thread.worker.ref()
    thread.timer = setTimeout(
      () => this.#failCall(thread, `the call took longer than ${this.#limits.callMs / 1_000} s and was ended`),
      this.#limits.callMs,
    )
    const message: FileCall = { name, input, cwd, paths }
    thread.worker.postMessage(message, [])
  }

  #startThread(): Thread {
    const options = { name: 'file tools', env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB } }
    const worker =
      typeof REEVE_FILE_WORKER === 'string'
        ? new Worker(REEVE_FILE_WORKER, { ...options, eval: true })
        : new Worker(new URL('./file-worker.ts', import.meta.url), options)
    const thread: Thread = { worker, call: null }
    this.#threads.add(thread)
    worker.on('message', (answer: FileAnswer) => this.#finishCall(thread, answer))
    worker.on('error', (error) => this.#failCall(thread, `the thread of the call failed: ${error.message}`))
    worker.on('exit', () => this.#failCall(thread, 'the thread of the call ended before it answered'))
    return thread
  }

  #finishCall(thread: Thread, answer: FileAnswer): void {
    this.#detachCall(thread)?.resolve(answer)
    this.#beginCalls()
    if (thread.call === null) this.#endWhenIdle(thread)
  }

  /** Ends all idle threads after a while. Until then, an idle thread does not keep the daemon alive. */
  #endWhenIdle(thread: Thread): void {
    thread.worker.unref()
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      for (const each of this.#threads) if (each.call === null) this.#endThread(each)
    }, this.#limits.idleMs).unref()
  }

  #failCall(thread: Thread, reason: string): void {
    this.#endThread(thread)?.resolve({ error: reason })
    this.#beginCalls()
  }

  /** Aborts a call that waits or only reads. A call that changes files continues to its end, or to its time limit. */
  #abort(call: Call): void {
    if (call.thread === null) this.#waitingCalls.splice(this.#waitingCalls.indexOf(call), 1)
    else if (call.request.effect === 'read') this.#endThread(call.thread)
    else return
    call.reject(call.context.signal.reason)
    this.#beginCalls()
  }

  /**
   * Called when the agent of a call is frozen. Ends the thread of a call that only reads, so that the thread uses no CPU. The call starts
   * again after the freeze.
   */
  #requeue(call: Call): void {
    if (call.thread === null || call.request.effect !== 'read') return
    this.#endThread(call.thread)
    this.#waitingCalls.unshift(call)
    this.#beginCalls()
  }

  /** Ends a thread and returns its call. Does not wait for the end, which a hanging file system may delay. */
  #endThread(thread: Thread): Call | null {
    const call = this.#detachCall(thread)
    // `terminate` rejects if the thread has already ended.
    if (this.#threads.delete(thread)) thread.worker.terminate().catch(() => undefined)
    return call
  }

  /** Separates a thread from its call, and returns the call. */
  #detachCall(thread: Thread): Call | null {
    const { call } = thread
    clearTimeout(thread.timer)
    thread.call = null
    if (call !== null) call.thread = null
    return call
  }
}

function outputOf(answer: FileAnswer): string | ToolOutput {
  if ('output' in answer) return answer.output
  throw answer.refused === undefined ? new ToolError(answer.error) : new RefusedError(answer.refused, answer.error)
}
