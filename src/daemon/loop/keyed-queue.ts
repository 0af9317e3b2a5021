// Runs the jobs of each key one at a time, in order; jobs of different keys run in parallel.
// Test: test/tables/daemon/loop/keyed-queue.test.ts.

export class KeyedQueue {
  /** the end of the last job of each key; never rejects */
  readonly #lastJobs = new Map<string, Promise<void>>()

  /** Runs `work` after all earlier jobs of that key, whether they succeeded or failed. Returns its result. Errors: those of `work`. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const job = (this.#lastJobs.get(key) ?? Promise.resolve()).then(work)
    const end = job.then(
      () => {},
      () => {},
    )
    this.#lastJobs.set(key, end)
    try {
      return await job
    } finally {
      if (this.#lastJobs.get(key) === end) this.#lastJobs.delete(key)
    }
  }

  /** Resolves when all jobs of that key that are queued now have ended. */
  async waitUntilSettled(key: string): Promise<void> {
    await this.#lastJobs.get(key)
  }
}
