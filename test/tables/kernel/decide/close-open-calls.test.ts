// Open calls of tools when their process starts again: those that are repeated, and those that get the result `interrupted`.
import { describe, expect, test } from 'vitest'
import { INTERRUPTED_CALL } from '../../../../src/kernel/decide/close-open-calls.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'

describe('an open call of a tool that may run twice', () => {
  const OPEN = '.report a model 1\n.report a answer 1 calls=c1:read,c2:idempotent,c3:once'
  const RESUMED = '.resume a\n.start a'
  const PAUSED = '.signal SIGPAUSE a'

  /** Plays the lines. Returns the ids of the calls that are still open, and the results of the others. */
  function callsAfter(lines: readonly string[]): readonly string[] {
    const player = new TranscriptPlayer()
    player.play(['.live a', OPEN, ...lines].join('\n'))
    const calls = (player.world.journal.get('a') ?? []).flatMap(({ body }) =>
      body.type === 'tool.finished' ? [`${body.callId} ${body.content}`] : [],
    )
    return [...(player.world.row('a')?.progress.openCalls.map(({ callId }) => callId) ?? []), ...calls]
  }

  const C3_INTERRUPTED = `c3 ${INTERRUPTED_CALL}`
  const ALL_INTERRUPTED = [C3_INTERRUPTED, `c1 ${INTERRUPTED_CALL}`, `c2 ${INTERRUPTED_CALL}`]
  const REPEATED = ['c1', 'c2', C3_INTERRUPTED]

  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['is repeated after one death of the daemon', ['.boot a', RESUMED], REPEATED],
    ['gets a result after two deaths of the daemon', ['.boot a', RESUMED, '.boot a', RESUMED], ALL_INTERRUPTED],
    [
      'is repeated however often the user ends the process',
      [1, 2, 3].flatMap(() => ['.signal SIGKILL a', '.report a exited 0', '.released a', RESUMED]),
      REPEATED,
    ],
    [
      'is repeated after an end by the user and one by the daemon',
      ['.signal SIGKILL a', '.report a exited 0', '.released a', RESUMED, '.boot a', RESUMED],
      REPEATED,
    ],
    [
      'gets a result when the daemon dies for the second time in a pause that had not drained',
      ['.boot a', RESUMED, PAUSED, '.boot a'],
      ALL_INTERRUPTED,
    ],
    [
      'gets a result at the next start after the daemon died in two pauses',
      [PAUSED, '.boot a', '.signal SIGRESUME a', '.start a', PAUSED, '.boot a'],
      ALL_INTERRUPTED,
    ],
    [
      'stays open if it had not begun, because the process had drained',
      [PAUSED, '.report a drained', '.boot a', '.boot a', '.boot a'],
      ['c1', 'c2', 'c3'],
    ],
    [
      'stays open if a pause kept it back until the end',
      [PAUSED, '.report a drained', '.signal SIGKILL a', '.report a exited 0', '.released a', RESUMED],
      ['c1', 'c2', 'c3'],
    ],
    [
      'stays open if the next incarnation ended before it had a driver',
      [
        PAUSED,
        '.report a drained',
        '.signal SIGKILL a',
        '.report a exited 0',
        '.released a',
        '.resume a',
        PAUSED,
        '.signal SIGKILL a',
        RESUMED,
      ],
      ['c1', 'c2', 'c3'],
    ],
    [
      'stays open if a process that came back held is killed',
      [PAUSED, '.report a drained', '.boot a', '.signal SIGKILL a', RESUMED],
      ['c1', 'c2', 'c3'],
    ],
  ])('%s', (_, lines, calls) => expect(callsAfter(lines)).toEqual(calls))
})
