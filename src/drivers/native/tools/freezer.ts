// Time limits of tools that stand still while the agent is frozen: a thawed program must not find its time used up.
// Test: test/e2e/native-bash.test.ts.

export class Freezer {
  readonly #watchers = new Set<(frozen: boolean) => void>()
  #frozen = false

  get frozen(): boolean {
    return this.#frozen
  }

  set(frozen: boolean): void {
    if (this.#frozen === frozen) return
    this.#frozen = frozen
    for (const watcher of this.#watchers) watcher(frozen)
  }

  /** Calls `due` after `ms` of time that is not frozen. Returns what ends it. */
  deadline(ms: number, due: () => void): () => void {
    let leftMs = ms
    let since = performance.now()
    let timer: NodeJS.Timeout | undefined
    const run = (frozen: boolean): void => {
      clearTimeout(timer)
      if (frozen) leftMs -= performance.now() - since
      else timer = setTimeout(due, Math.max(0, leftMs))
      since = performance.now()
    }
    if (!this.#frozen) run(false)
    this.#watchers.add(run)
    return () => {
      clearTimeout(timer)
      this.#watchers.delete(run)
    }
  }
}
