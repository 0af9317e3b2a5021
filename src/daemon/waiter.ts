// Waiting for a state: many may wait for one process, and "suspended" is never taken for an exit.
// Owns no state: it looks at applied state again whenever the process has a new fact. Test: test/e2e/api.test.ts.
import { statusOf } from '../kernel/status.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Feed } from './feed.ts'
import type { Reads } from './reads.ts'

export type WaitFor = 'exited' | 'ready' | 'suspended' | 'waiting'

export class Waiter {
  readonly #feed: Feed
  readonly #reads: Reads
  readonly #cursor: () => number

  constructor(feed: Feed, reads: Reads, cursor: () => number) {
    this.#feed = feed
    this.#reads = reads
    this.#cursor = cursor
  }

  /** Resolves when it is so, when the process has died (then nothing else can come), or after `ms`. */
  async wait(uuid: Uuid, what: WaitFor, ms: number, gone: AbortSignal): Promise<{ process: Process; timedOut: boolean }> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(ms)])
    const events = this.#feed.subscribe({ uuid, after: this.#cursor(), live: false, follow: true, signal })
    let process = await this.#reads.get(uuid)
    if (isOver(process, what)) return { process, timedOut: false }
    for await (const _ of events) {
      process = await this.#reads.get(uuid)
      if (isOver(process, what)) return { process, timedOut: false }
    }
    return { process, timedOut: true }
  }
}

function isOver(process: Process, what: WaitFor): boolean {
  if (process.life.state === 'dead') return true
  return what !== 'exited' && statusOf(process) === what
}
