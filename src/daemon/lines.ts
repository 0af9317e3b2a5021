// One at a time for each name: what is asked for meanwhile comes in its turn. Owns nothing but the order.
// Test: test/tables/lines.test.ts.

export class Lines {
  /** the end of each line */
  readonly #ends = new Map<string, Promise<unknown>>()

  /** Does it when all is done that was asked for before under that name, whatever became of that. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#ends.get(name) ?? Promise.resolve()).then(work)
    const end = turn.then(() => {}, () => {})
    this.#ends.set(name, end)
    try {
      return await turn
    } finally {
      if (this.#ends.get(name) === end) this.#ends.delete(name)
    }
  }
}
