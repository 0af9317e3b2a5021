// Writes numbered facts to a store, one commit after the other as the daemon does, and keeps what the store acknowledged. Commit n has the
// facts n/0 to n/2. For tests with faults of the server and of the connection.
import { KernelError } from '../../../src/kernel/model/errors.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { Store } from '../../../src/store/store.ts'
import { CommitMaker, specOf, type MadeCommit } from '../store/facts.ts'

const FACTS_PER_COMMIT = 3
const PAGE_FACTS = 500

export class NumberedWriter {
  /** the number of commits that the store acknowledged */
  acknowledged = 0
  /** how often the store refused a commit with `STORE_UNREACHABLE` */
  refusals = 0
  readonly uuid: Uuid
  readonly #store: Store
  readonly #commits: CommitMaker
  /** the commit that has failed, or has no answer yet */
  #pending: MadeCommit | null = null

  private constructor(store: Store, uuid: Uuid, commits: CommitMaker) {
    this.#store = store
    this.uuid = uuid
    this.#commits = commits
  }

  /** Spawns the process whose facts the writer writes. */
  static async start(store: Store, uuid: Uuid): Promise<NumberedWriter> {
    const { counters } = await store.load()
    const writer = new NumberedWriter(store, uuid, new CommitMaker(counters))
    await store.commit(writer.#commits.spawn(uuid, specOf()))
    return writer
  }

  /** Writes one commit. While the server cannot be reached, nothing of the commit was written: it is tried again. */
  async write(): Promise<void> {
    const number = this.acknowledged + 1
    const commit = (this.#pending ??= this.#commitOf(number))
    for (;;) {
      try {
        await this.#store.commit(commit)
        break
      } catch (error) {
        if (!(error instanceof KernelError) || error.code !== 'STORE_UNREACHABLE') throw error
        this.refusals += 1
      }
    }
    this.#pending = null
    this.acknowledged = number
  }

  #commitOf(number: number): MadeCommit {
    // Every seventh commit has a long text, which has a row of its own.
    const padding = number % 7 === 0 ? ` ${number}`.repeat(3_000) : ''
    const bodies = Array.from({ length: FACTS_PER_COMMIT }, (_, index) => ({
      type: 'process.output' as const,
      stream: 'stdout' as const,
      text: `${number}/${index}${index === 2 ? padding : ''}`,
    }))
    return this.#commits.write(this.uuid, ...bodies)
  }

  /** Writes until `isDone`, or until an error that is final; returns this error. */
  async writeUntil(isDone: () => boolean): Promise<KernelError | null> {
    try {
      while (!isDone()) await this.write()
      return null
    } catch (error) {
      if (error instanceof KernelError) return error
      throw error
    }
  }
}

/** Returns the numbers of a process's commits in the order of the store; each must be whole. */
export async function readNumbers(store: Store, uuid: Uuid): Promise<number[]> {
  const texts: string[] = []
  for (let after = 0; ;) {
    const page = await store.facts(uuid, after, PAGE_FACTS)
    for (const { body } of page) if (body.type === 'process.output') texts.push(body.text.split(' ')[0] ?? '')
    if (page.length < PAGE_FACTS) break
    after = page.at(-1)?.seq ?? after
  }
  const numbers = texts.filter((text) => text.endsWith('/0')).map((text) => Number(text.slice(0, -2)))
  const wholeTexts = numbers.flatMap((number) => Array.from({ length: FACTS_PER_COMMIT }, (_, index) => `${number}/${index}`))
  if (wholeTexts.join() !== texts.join()) throw new Error(`a commit is not whole: ${texts.join()}`)
  return numbers
}

/** 1 to `last`. */
export function numbersTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
