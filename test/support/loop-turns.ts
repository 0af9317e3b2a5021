// Counts turns of the event loop: a test checks by their number that work is sliced, instead of measuring time.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Counts the turns of the event loop until `task` is done. `turnCount` returns the number so far. */
export async function countTurnsDuring<T>(
  task: (turnCount: () => number) => Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let isOver = false
  let turns = 0
  const counter = (async (): Promise<void> => {
    while (!isOver) {
      await nextTurn()
      turns += 1
    }
  })()
  const result = await task(() => turns).finally(() => {
    isOver = true
  })
  const counted = turns
  await counter
  return { result, turns: counted }
}

/** Returns a clock that advances by 1 ms at each reading. */
export function makeAdvancingClock(): () => number {
  let ms = 0
  return () => (ms += 1)
}
