// A writer that SIGSTOP stops at any moment of a commit, and that another one takes over from: it writes nothing after that, and gets
// FENCED. What it was acknowledged is there.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres.ts'
import { deep } from '../../support/deep.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { numbersTo, readNumbers } from '../../support/postgres/numbered-writer.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import { uuidOf } from '../../support/store/facts.ts'
import { tempDir } from '../../support/tmp.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ROUNDS = deep(12, 50)
const [MIN_COMMITS, MORE_COMMITS] = [2, 8]

/** A writer in a process of its own. */
class WriterProcess implements AsyncDisposable {
  /** what it has printed of each session */
  readonly printed = new Map<number, string[]>()
  readonly #child

  constructor(url: string, home: string) {
    this.#child = spawn(process.execPath, [join(ROOT, 'test/support/programs/postgres-writer.ts')], {
      env: testEnv(home, { REEVE_STORE_URL: url }),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    createInterface(this.#child.stdout).on('line', (line) => {
      const [session = '', word = ''] = line.split(' ')
      const words = this.printed.get(Number(session)) ?? []
      this.printed.set(Number(session), [...words, word])
    })
  }

  open(session: number): void {
    this.#child.stdin.write(`open ${session}\n`)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** The number of acknowledged commits of a session that it has printed. */
  acknowledged(session: number): number {
    return (this.printed.get(session) ?? []).map(Number).findLast((number) => number >= 0) ?? -1
  }

  hasPrinted(session: number, word: string): boolean {
    return this.printed.get(session)?.includes(word) ?? false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await exited
  }
}

describePostgres('a stopped writer', {}, (suite) => {
  test(`gets FENCED after a take-over, and writes nothing: ${ROUNDS} rounds`, async () => {
    const random = seededRandom(SEED)
    const url = await suite.server.createDatabase()
    await using home = await tempDir()
    await using one = new WriterProcess(url, home.path)
    await using other = new WriterProcess(url, home.path)
    one.open(1)
    for (let session = 1; session <= ROUNDS; session += 1) {
      const [stopped, successor] = session % 2 === 1 ? [one, other] : [other, one]
      const commits = MIN_COMMITS + Math.floor(random() * MORE_COMMITS)
      await waitUntil(() => stopped.acknowledged(session) >= commits, `the commits of writer ${session}`)
      stopped.signal('SIGSTOP')
      successor.open(session + 1)
      await waitUntil(() => successor.acknowledged(session + 1) >= 1, `the take-over by writer ${session + 1}`)
      stopped.signal('SIGCONT')
      await waitUntil(() => stopped.hasPrinted(session, 'FENCED'), `the end of writer ${session}`)
    }
    await using store = await openPostgresStore({ url, durability: 'single' })
    for (let session = 1; session <= ROUNDS; session += 1) {
      const acknowledged = (session % 2 === 1 ? one : other).acknowledged(session)
      const numbers = await readNumbers(store, uuidOf(session))
      expect(numbers).toEqual(numbersTo(numbers.length))
      // The last commit may have landed before the take-over without an answer.
      expect([acknowledged, acknowledged + 1]).toContain(numbers.length)
      const [[last], [next]] = [await store.tail(uuidOf(session), 1), await store.facts(uuidOf(session + 1), 0, 1)]
      expect(last?.cursor).toBeLessThan(next?.cursor ?? 0)
    }
  })
})
