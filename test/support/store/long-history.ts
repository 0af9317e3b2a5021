// Writes a process with many steps into a store, as hours of work leave it. There are texts, silent reads, failures, changed files and
// questions, and a night in which it was held. It ended, so a daemon starts nothing.
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { CommitMaker, endFacts, specOf, stepOf, uuidOf } from './facts.ts'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import type { Hold } from '../../../src/kernel/model/process.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

const STEPS_PER_COMMIT = 100
const SECOND_MS = 1_000
const NIGHT_MS = 8 * 3_600 * SECOND_MS

/** The UUID of the process that `writeLongHistory` writes. */
export const LONG_UUID: Uuid = uuidOf(5_000)

/** Writes a process with this number of steps. No daemon may use the state directory. */
export async function writeLongHistory(stateDir: string, steps: number): Promise<void> {
  await using store = await openSqliteStore({ dir: stateDir })
  const commits = new CommitMaker()
  // It ended a minute ago, so that the page lists it.
  let at = Date.now() - steps * 10 * SECOND_MS - NIGHT_MS - 60 * SECOND_MS
  commits.timeOf = () => at
  await store.commit(commits.spawn(LONG_UUID, specOf({ name: 'long', cwd: '/' })))
  for (let first = 1; first <= steps; first += STEPS_PER_COMMIT) {
    const bodies: FactBody[] = []
    const times: number[] = []
    for (let step = first; step < first + STEPS_PER_COMMIT && step <= steps; step += 1)
      for (const [body, afterMs] of factsOf(step, steps)) {
        at += afterMs
        bodies.push(body)
        times.push(at)
      }
    const start = commits.cursor
    commits.timeOf = (cursor) => times[cursor - start - 1] ?? at
    await store.commit(commits.write(LONG_UUID, ...bodies))
  }
  commits.timeOf = () => at
  await store.commit(commits.write(LONG_UUID, ...endFacts()))
}

/** The facts of a step, each with the time since the one before. */
function factsOf(step: number, steps: number): (readonly [FactBody, number])[] {
  const text = step % 5 === 0 ? `Step ${step}: I look at part ${step % 37} of the lexer.` : ''
  const result = step % 50 === 7 ? { outcome: 'error' as const, content: `part ${step} failed` } : {}
  const parts = stepOf(step, text).flatMap((body): (readonly [FactBody, number])[] => {
    if (body.type === 'model.finished') return [[body, 4 * SECOND_MS]]
    if (body.type === 'tool.started') return [[step % 20 === 0 ? { ...body, effect: 'once' } : body, 0]]
    if (body.type === 'tool.finished') return [[{ ...body, ...result }, (1 + (step % 7)) * SECOND_MS]]
    if (body.type === 'model.started') return [[body, 100]]
    return [[body, 0]]
  })
  if (step % 20 === 0)
    parts.push([{ type: 'files.recorded', step, commit: step.toString(16).padStart(40, '0'), head: '0'.repeat(40), left: [] }, 0])
  if (step === Math.floor(steps / 2)) {
    const hold: Hold = { reason: 'user', by: 'user', at: 0 }
    const before = parts.findLastIndex(([{ type }]) => type === 'model.started')
    parts.splice(
      before,
      0,
      [{ type: 'process.held', hold, mono: 0 }, 0],
      [{ type: 'process.released', holds: [hold], by: 'user', mono: 0 }, NIGHT_MS],
    )
  }
  return parts
}
