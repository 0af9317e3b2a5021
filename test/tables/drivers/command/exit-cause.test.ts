// The exit cause of an agent: every combination of its events and the exit of its program.
import { describe, expect, test } from 'vitest'
import { lastReports } from '../../../../src/drivers/command/exit-cause.ts'
import { claude } from '../../../../src/drivers/command/formats/claude.ts'
import { gemini } from '../../../../src/drivers/command/formats/gemini.ts'
import { naturalExit } from '../../../../src/kernel/model/exit.ts'
import type { ReportedEnd } from '../../../../src/drivers/command/observation-mapper.ts'

const OK: ReportedEnd = { error: null, result: 'done' }
const BAD: ReportedEnd = { error: 'Not logged in', result: null }
const LOGIN = 'Not logged in. Log in with `claude /login`, or set ANTHROPIC_API_KEY in the environment'
const exitWith = (code: number) => ({ code, signal: null })
const KILLED = { code: null, signal: 'SIGKILL' }

test.each([
  [OK, exitWith(0), '', 0, 'completed'],
  [OK, exitWith(1), '', 0, 'completed'],
  [OK, KILLED, '', 0, 'completed'],
  [BAD, exitWith(0), '', 1, LOGIN],
  [BAD, exitWith(7), 'noise', 7, LOGIN],
  [BAD, KILLED, '', 1, LOGIN],
  [null, exitWith(0), '', 1, 'Claude Code ended without a result'],
  [null, exitWith(0), 'terminated', 1, 'terminated'],
  [null, exitWith(3), '', 3, 'exit code 3'],
  [null, exitWith(3), 'no such file', 3, 'no such file'],
  [null, KILLED, 'noise', 137, 'ended by SIGKILL'],
])('the ending %j, the exit %j and the error line %j mean the exit code %i: %s', (ending, exit, errorLine, exitCode, reason) => {
  const reports = lastReports(claude, { exit, ending, errorLine, turn: 3, nowMs: 0 })
  const lastReport = reports.at(-1)
  expect(lastReport?.type === 'exited' && naturalExit(lastReport)).toMatchObject({ code: exitCode, reason })
  const turnEnds = reports.filter(({ type }) => type === 'turn.ended')
  expect(turnEnds).toEqual(ending === OK ? [{ type: 'turn.ended', turn: 3, outcome: 'ok', result: 'done' }] : [])
})

test("the program's exit after a success is a note", () => {
  expect(lastReports(claude, { exit: exitWith(1), ending: OK, errorLine: '', turn: 1, nowMs: 0 })[0]).toEqual({
    type: 'note',
    text: 'after its result it ended with exit code 1',
  })
})

test.each([
  [42, 'it refused its input'],
  [53, 'its turn limit is reached'],
])("an agent's own exit code %i is explained", (exitCode, error) => {
  expect(lastReports(gemini, { exit: exitWith(exitCode), ending: null, errorLine: '', turn: 1, nowMs: 0 })).toEqual([
    { type: 'exited', code: exitCode, osSignal: null, error },
  ])
  expect(lastReports(gemini, { exit: exitWith(exitCode), ending: null, errorLine: 'why', turn: 1, nowMs: 0 })).toMatchObject([
    { error: `${error}: why` },
  ])
})

describe('a rate limit', () => {
  const failed = { error: 'usage limit reached', result: null }
  const base = { exit: exitWith(1), ending: failed, errorLine: '', turn: 1, nowMs: 1_000 }

  test('with a known end is the cause, until that time', () => {
    expect(lastReports(claude, { ...base, limitedUntil: 5_000 })).toEqual([
      { type: 'exited', code: 1, osSignal: null, error: failed.error, resumeAt: 5_000 },
    ])
    expect(lastReports(claude, { ...base, ending: { ...failed, error: 'usage limit reached: try again in 2 seconds' } })).toMatchObject([
      { resumeAt: 3_000 },
    ])
    expect(lastReports(claude, { ...base, ending: null, errorLine: 'usage limit reached: try again in 2 seconds' })).toMatchObject([
      { resumeAt: 3_000 },
    ])
  })

  test('is not the cause if it is over, has no known end, or was followed by a success', () => {
    for (const one of [{ ...base, limitedUntil: 1_000 }, base, { ...base, limitedUntil: 5_000, exit: exitWith(0), ending: OK }]) {
      expect(lastReports(claude, one).some((report) => 'resumeAt' in report)).toBe(false)
    }
  })
})
