// The watch of the event loop reports only a loop that was blocked for long. The timers of the test fire late, as those of a blocked
// loop do.
import { expect, test } from 'vitest'
import { EventLoopWatch } from '../../../../src/daemon/host/event-loop-watch.ts'

const CHECK_INTERVAL_MS = 2_000

/** Starts work at the given times in ms, and lets the check run at `checkAt`. Returns the log. */
function messagesOf(startedWork: readonly (readonly [at: number, what: string])[], checkAt: number): string[] {
  let mono = 0
  let checkNow = (): void => {}
  const logged: string[] = []
  const clock = {
    now: () => ({ wall: mono, mono }),
    uptimeMs: () => mono,
    after: (_: number, fn: () => void) => ((checkNow = fn), () => {}),
  }
  const watch = new EventLoopWatch(clock, (message) => logged.push(message))
  watch.start()
  for (const [at, what] of startedWork) {
    mono = at
    watch.recordStart(what)
  }
  mono = checkAt
  checkNow()
  return logged
}

const manyRequests = (count: number, firstMs: number): (readonly [number, string])[] =>
  Array.from({ length: count }, (_, index) => [firstMs + index, `the input ${index}`] as const)

test.each<[string, (readonly [number, string])[], number, string[]]>([
  ['a check in time logs nothing', [[100, 'GET /v1/a']], CHECK_INTERVAL_MS, []],
  ['a check that is late as on a busy machine logs nothing', [[100, 'GET /v1/a']], CHECK_INTERVAL_MS + 900, []],
  [
    'a late check names the work that blocked the loop',
    [
      [100, 'GET /v1/a'],
      [1_500, 'POST /v1/b'],
      [6_000, 'GET /v1/c'],
    ],
    6_100,
    ['the event loop was blocked for 4.1 s; the last work that started before it: POST /v1/b'],
  ],
  [
    'a late check names the last work if that blocked the loop',
    [[1_000, 'the effect start']],
    9_000,
    ['the event loop was blocked for 7.0 s; the last work that started before it: the effect start'],
  ],
  [
    'a late check names the work that blocked the loop, even if more work has started than is remembered',
    [...manyRequests(200, 0), [500, 'GET /v1/slow'], ...manyRequests(20, 8_000)],
    8_100,
    ['the event loop was blocked for 6.1 s; the last work that started before it: GET /v1/slow'],
  ],
  [
    'a late check names other causes if no work had started',
    [],
    62_000,
    [
      "the event loop was blocked for 60.0 s; no known work had started: the program was stopped, the machine slept, or an agent's output was being processed",
    ],
  ],
])('%s', (_, startedWork, checkAt, expected) => {
  expect(messagesOf(startedWork, checkAt)).toEqual(expected)
})
