// How an agent ended: every combination of what its events said and how its program ended.
import { describe, expect, test } from 'vitest'
import { lastReports } from '../../src/drivers/command/ending.ts'
import { claude } from '../../src/drivers/command/formats/claude.ts'
import { gemini } from '../../src/drivers/command/formats/gemini.ts'
import { naturalExit } from '../../src/kernel/exit.ts'
import type { Ending } from '../../src/drivers/command/narrator.ts'

const OK: Ending = { error: null, result: 'done' }
const BAD: Ending = { error: 'Not logged in', result: null }
const code = (code: number) => ({ code, signal: null })
const KILLED = { code: null, signal: 'SIGKILL' }

test.each([
  [OK, code(0), '', 0, 'completed'],
  [OK, code(1), '', 0, 'completed'],
  [OK, KILLED, '', 0, 'completed'],
  [BAD, code(0), '', 1, 'Not logged in'],
  [BAD, code(7), 'noise', 7, 'Not logged in'],
  [BAD, KILLED, '', 1, 'Not logged in'],
  [null, code(0), '', 1, 'Claude Code ended without a result'],
  [null, code(0), 'terminated', 1, 'terminated'],
  [null, code(3), '', 3, 'exit code 3'],
  [null, code(3), 'no such file', 3, 'no such file'],
  [null, KILLED, 'noise', 137, 'ended by SIGKILL'],
])('%j, %j, %j is exit %i: %s', (ending, exit, complaint, exitCode, reason) => {
  const reports = lastReports(claude, { exit, ending, complaint, turn: 3, nowMs: 0 })
  const last = reports.at(-1)
  expect(last?.type === 'exited' && naturalExit(last)).toMatchObject({ code: exitCode, reason })
  const turn = reports.filter(({ type }) => type === 'turn.ended')
  expect(turn).toEqual(ending === OK ? [{ type: 'turn.ended', turn: 3, outcome: 'ok', result: 'done' }] : [])
})

test('what its program said after its success is a note', () => {
  expect(lastReports(claude, { exit: code(1), ending: OK, complaint: '', turn: 1, nowMs: 0 })[0]).toEqual({ type: 'note', text: 'after its result it ended with exit code 1' })
})

test.each([[42, 'it refused its input'], [53, 'its turn limit is reached']])('an exit code of its own, %i, is said in words', (exitCode, error) => {
  expect(lastReports(gemini, { exit: code(exitCode), ending: null, complaint: '', turn: 1, nowMs: 0 })).toEqual([{ type: 'exited', code: exitCode, osSignal: null, error }])
  expect(lastReports(gemini, { exit: code(exitCode), ending: null, complaint: 'why', turn: 1, nowMs: 0 })).toMatchObject([{ error: `${error}: why` }])
})

describe('a rate limit', () => {
  const failed = { error: 'usage limit reached', result: null }
  const base = { exit: code(1), ending: failed, complaint: '', turn: 1, nowMs: 1_000 }

  test('that was told of with its end is why it ended, until then', () => {
    expect(lastReports(claude, { ...base, limitedUntil: 5_000 })).toEqual([{ type: 'exited', code: 1, osSignal: null, error: failed.error, resumeAt: 5_000 }])
    expect(lastReports(claude, { ...base, ending: { ...failed, error: 'usage limit reached: try again in 2 seconds' } })).toMatchObject([{ resumeAt: 3_000 }])
    expect(lastReports(claude, { ...base, ending: null, complaint: 'usage limit reached: try again in 2 seconds' })).toMatchObject([{ resumeAt: 3_000 }])
  })

  test('that is over, whose end nobody knows, or that it got past, says nothing of the end', () => {
    for (const one of [{ ...base, limitedUntil: 1_000 }, base, { ...base, limitedUntil: 5_000, exit: code(0), ending: OK }]) {
      expect(lastReports(claude, one).some((report) => 'resumeAt' in report)).toBe(false)
    }
  })
})
