// The texts for stdin of commands that have not started yet, in memory only: `echo x | reeve run -- CMD`. Must never put a text into a
// fact, a log or a message. Test: test/e2e/lifecycle/command-input.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The maximum length of all texts together, in characters. A text waits here only while its command waits for its start. */
const MAX_CHARS = 64_000_000

export class StartInputs {
  readonly #texts = new Map<Uuid, string>()
  #chars = 0

  /** Keeps the input for the start of a process. Errors: RESOURCE_EXHAUSTED. */
  keep(uuid: Uuid, text: string): void {
    if (this.#chars + text.length > MAX_CHARS)
      throw new KernelError(
        'RESOURCE_EXHAUSTED',
        `commands that wait for their start hold ${this.#chars} characters of input; the limit is ${MAX_CHARS}`,
        undefined,
        'Let suspended commands start (`reeve resume`), or let the command read a file.',
      )
    this.forget(uuid)
    this.#texts.set(uuid, text)
    this.#chars += text.length
  }

  /** Returns the input of a process and forgets it; undefined if there is none. */
  take(uuid: Uuid): string | undefined {
    const text = this.#texts.get(uuid)
    this.forget(uuid)
    return text
  }

  forget(uuid: Uuid): void {
    this.#chars -= this.#texts.get(uuid)?.length ?? 0
    this.#texts.delete(uuid)
  }
}
