// Waits until a process reaches a state. Many callers may wait for the same process. A suspended process does not count as exited.
// Keeps no state: it reads the applied state again at each new fact of the process. Test: test/e2e/daemon/api.test.ts.
import { statusOf } from '../../kernel/model/status.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Feed } from './feed.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WaitTarget } from '../../kernel/model/words.ts'

export class Waiter {
  readonly #feed: Feed
  readonly #reads: ProcessQueries
  readonly #cursor: () => number

  constructor(feed: Feed, reads: ProcessQueries, cursor: () => number) {
    this.#feed = feed
    this.#reads = reads
    this.#cursor = cursor
  }

  /**
   * Resolves when the process is in one of the states, when it is dead, or with `timedOut` after `ms`. An abort of `callerGone` also
   * ends the wait.
   */
  async wait(
    uuid: Uuid,
    states: readonly WaitTarget[],
    ms: number,
    callerGone: AbortSignal,
  ): Promise<{ process: Process; timedOut: boolean }> {
    const signal = AbortSignal.any([callerGone, AbortSignal.timeout(ms)])
    const events = this.#feed.subscribe({ uuid, after: this.#cursor(), live: false, follow: true, signal })
    let process = await this.#reads.get(uuid)
    if (isWaitOver(process, states)) return { process, timedOut: false }
    for await (const _ of events) {
      process = await this.#reads.get(uuid)
      if (isWaitOver(process, states)) return { process, timedOut: false }
    }
    return { process, timedOut: true }
  }
}

function isWaitOver(process: Process, states: readonly WaitTarget[]): boolean {
  return process.life.state === 'dead' || states.some((state) => state !== 'exited' && state === statusOf(process))
}
