// Freezes an incarnation while its agent is still starting. At that time the agent cannot receive a pause, and its programs would run
// although the process is suspended. Running programs are frozen at once. New programs wait until the freeze is lifted, and are never
// started if the process ends first. An agent that has started receives pauses itself.
// Must never report `frozen` for a started agent. Test: test/processes/daemon/pause-during-start.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Containment } from '../../drivers/contain/containment-contract.ts'

interface StartFreezeDeps {
  /** reports that no program of the incarnation runs */
  readonly reportFrozen: () => Promise<unknown>
  readonly log: (message: string, error: unknown) => void
}

export class StartFreeze {
  readonly #deps: StartFreezeDeps
  #containment: Containment | null = null
  #isFreezeWanted = false
  #isAgentStarted = false
  #isCancelled = false
  /** the number of unpauses so far */
  #unpauseCount = 0
  /** resolves when the freeze is lifted or the start is cancelled */
  #changed = Promise.withResolvers<void>()

  constructor(deps: StartFreezeDeps) {
    this.#deps = deps
  }

  get isAgentStarted(): boolean {
    return this.#isAgentStarted
  }

  /** Applies a new hold. Returns a function that checks whether this pause is still in force. */
  pause(freeze: boolean): () => boolean {
    const unpauseCount = this.#unpauseCount
    if (freeze) this.#isFreezeWanted = true
    if (freeze && !this.#isAgentStarted) this.#freeze()
    return () => unpauseCount === this.#unpauseCount
  }

  /** Must be called at the end of the last hold: thaws the containment, even if the agent has started and received the pause itself. */
  unpause(): void {
    this.#unpauseCount += 1
    this.#isFreezeWanted = false
    this.#containment?.thaw().catch((error: unknown) => this.#deps.log('the thaw failed', error))
    this.#notify()
  }

  /** Sets the containment of the incarnation; freezes it at once if a freeze was requested before. */
  setContainment(containment: Containment): void {
    this.#containment = containment
    if (this.#isFreezeWanted) this.#freeze()
  }

  /** Waits until no freeze prevents the start of the agent. Errors: `NOT_FOUND` if the process ends first. */
  async waitUntilAllowed(): Promise<void> {
    while (this.#isFreezeWanted && !this.#isCancelled) await this.#changed.promise
    if (this.#isCancelled) throw new KernelError('NOT_FOUND', 'the process has ended: nothing more is started for it')
  }

  markStarted(): void {
    this.#isAgentStarted = true
  }

  /** Ends a frozen start: `waitUntilAllowed` rejects, and the programs are ended. Does nothing for an agent that has started. */
  cancel(): void {
    if (this.#isAgentStarted || this.#isCancelled || !this.#isFreezeWanted) return
    this.#isCancelled = true
    this.#containment?.dispose().catch((error: unknown) => this.#deps.log('the frozen start did not end', error))
    this.#notify()
  }

  /** Freezes the containment, and reports it. A program that is about to start in it waits. */
  #freeze(): void {
    this.#containment
      ?.freeze()
      .then(() => (this.#isFreezeWanted && !this.#isAgentStarted && !this.#isCancelled ? this.#deps.reportFrozen() : undefined))
      .catch((error: unknown) => {
        if (!this.#isCancelled) this.#deps.log('the freeze failed', error)
      })
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}
