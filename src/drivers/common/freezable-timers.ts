// The timers of one agent. They stand still while the agent is frozen, so that a thawed program still has its remaining time.
// Tests: test/processes/native/bash.test.ts, test/tables/drivers/common/freezable-timers.test.ts.

export class FreezableTimers {
  readonly #watchers = new Set<(frozen: boolean) => void>()
  #frozen = false

  get isFrozen(): boolean {
    return this.#frozen
  }

  setFrozen(frozen: boolean): void {
    if (this.#frozen === frozen) return
    this.#frozen = frozen
    for (const watcher of this.#watchers) watcher(frozen)
  }

  /** Calls the watcher whenever the agent is frozen or thawed. Returns the function that removes the watcher. */
  watch(watcher: (frozen: boolean) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Starts a timer that calls `onTimeout` after `ms` of unfrozen time. Returns the function that cancels the timer. */
  start(ms: number, onTimeout: () => void): () => void {
    let leftMs = ms
    let startedAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    const expire = (): void => {
      stopWatching()
      onTimeout()
    }
    const update = (frozen: boolean): void => {
      clearTimeout(timer)
      if (frozen) leftMs -= performance.now() - startedAt
      else timer = setTimeout(expire, Math.max(0, leftMs))
      startedAt = performance.now()
    }
    const stopWatching = this.watch(update)
    if (!this.#frozen) update(false)
    return () => {
      clearTimeout(timer)
      stopWatching()
    }
  }
}
