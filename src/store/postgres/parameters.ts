// The parameters of a write whose statements are put together from parts. Test: test/tables/store/write/remove.test.ts.

/** Values of a write, with the numbers of their parameters. */
export class Parameters {
  readonly values: unknown[] = []
  readonly #first: number

  constructor(first = 4) {
    this.#first = first
  }

  /** Adds a value. Returns its parameter, such as `$4`. */
  add(value: unknown): string {
    this.values.push(value)
    return `$${this.#first + this.values.length - 1}`
  }
}
