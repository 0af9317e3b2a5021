// The flags of the command line: parsing, error messages, and the exit code of each error.
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../src/api/client/client.ts'
import { parseCommandLine, type FlagTable } from '../../../../src/cli/input/args.ts'
import { exitCode, Failure, UsageError } from '../../../../src/cli/errors.ts'
import { parseSince } from '../../../../src/cli/input/since.ts'
import { parseSignalHandler, parseSignal } from '../../../../src/cli/input/signals.ts'
import { ERRORS, KernelError, type ErrorCode } from '../../../../src/kernel/model/errors.ts'

const FLAGS: FlagTable = {
  detach: { kind: 'on', short: 'd', help: '' },
  quiet: { kind: 'on', short: 'q', help: '' },
  name: { kind: 'text', short: 'n', help: '' },
  steps: { kind: 'count', help: '' },
  usd: { kind: 'amount', help: '' },
  timeout: { kind: 'duration', help: '' },
  allow: { kind: 'list', help: '' },
}

describe('flags', () => {
  test('can be in any order, with or without =', () => {
    for (const line of [
      ['-d', '--name', 'x', 'go'],
      ['go', '--name=x', '-d'],
      ['--name', 'x', 'go', '--detach'],
      ['-dn', 'x', 'go'],
    ]) {
      const args = parseCommandLine(line, FLAGS, false)
      expect([args.words, args.on('detach'), args.on('quiet'), args.text('name')]).toEqual([['go'], true, false, 'x'])
    }
  })

  test('have values of their kind', () => {
    const args = parseCommandLine(['--steps', '3', '--usd', '0.5', '--timeout', '1m30s', '--allow', 'a,b', '--allow=c'], FLAGS, false)
    expect([args.number('steps'), args.number('usd'), args.duration('timeout'), args.list('allow')]).toEqual([
      3,
      0.5,
      90_000,
      ['a', 'b', 'c'],
    ])
  })

  test('that were not given are undefined', () => {
    const args = parseCommandLine([], FLAGS, false)
    expect([args.number('steps'), args.duration('timeout'), args.list('allow'), args.text('name'), args.command]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      null,
    ])
  })

  test('after -- belong to the command', () => {
    const args = parseCommandLine(['-d', '--', 'npm', 'test', '--', '-d', '--name'], FLAGS, true)
    expect([args.words, args.command]).toEqual([[], ['npm', 'test', '--', '-d', '--name']])
  })

  test('after -- are words for a verb that takes no command', () => {
    const args = parseCommandLine(['5', '--', '-d'], FLAGS, false)
    expect([args.words, args.command, args.on('detach')]).toEqual([['5', '-d'], null, false])
  })

  test.each([
    [['--nmae', 'x'], 'unknown flag --nmae', 'Did you mean --name?'],
    [['--xyzzy'], 'unknown flag --xyzzy', ''],
    [['-x'], 'unknown flag -x', ''],
    [['--constructor'], 'unknown flag --constructor', ''],
    [['--detach=yes'], '--detach takes no value', ''],
    [['--name'], '--name needs a value', ''],
    [['--name='], '--name needs a value', ''],
    [
      ['--name', '--detach'],
      '--name needs a value, and "--detach" looks like a flag',
      'Write a value that begins with a dash as --name=--detach.',
    ],
    [['-n', '-5'], '-n needs a value, and "-5" looks like a flag', 'Write a value that begins with a dash as --name=-5.'],
    [['--steps', '-1'], '--steps: "-1" is not a whole number', ''],
    [['--steps', 'three'], '--steps: "three" is not a whole number', ''],
    [['--steps', '1.5'], '--steps: "1.5" is not a whole number', ''],
    [['--usd', '1e3'], '--usd: "1e3" is not a number', ''],
    [['--timeout', '10'], '--timeout: "10" is not a duration', 'Write it with its unit, as in 300ms, 10s, 5m or 2h.'],
  ])('%j is refused', (line, message, hint) => {
    let error: unknown
    try {
      parseCommandLine(line, FLAGS, false)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(UsageError)
    expect([(error as UsageError).message, (error as UsageError).hint]).toEqual([message, hint])
  })
})

test.each([
  ['15', 'SIGTERM'],
  ['9', 'SIGKILL'],
  ['2', 'SIGINT'],
  ['19', 'SIGPAUSE'],
  ['18', 'SIGRESUME'],
  ['TERM', 'SIGTERM'],
  ['sigkill', 'SIGKILL'],
  ['Int', 'SIGINT'],
  ['STOP', 'SIGPAUSE'],
  ['SIGCONT', 'SIGRESUME'],
])('the typed signal %s is %s', (typed, signal) => {
  expect(parseSignal(typed)).toBe(signal)
})

test('signal 0 does not exist; the hint names reeve ps', () => {
  expect(() => parseSignal('0')).toThrow(
    expect.objectContaining({ message: 'there is no signal 0', hint: '`reeve ps` lists the living processes.' }),
  )
})

test.each([
  ['TERM=message', ['SIGTERM', 'message']],
  ['sigint=ignore', ['SIGINT', 'ignore']],
  ['19=default', ['SIGPAUSE', 'default']],
])('the typed handler %s is read', (typed, read) => {
  expect(parseSignalHandler(typed)).toEqual(read)
})

test.each(['TERM', 'TERM=', 'TERM=stop', 'HUP=ignore', '=message'])('there is no handler %j', (typed) => {
  expect(() => parseSignalHandler(typed)).toThrow(UsageError)
})

test.each(['1', '3', '', 'HUP', '0x9'])('there is no signal %j', (typed) => {
  expect(() => parseSignal(typed)).toThrow(UsageError)
})

test.each([
  ['10m', 1_400_000],
  ['1m30s', 1_910_000],
  ['0s', 2_000_000],
  ['9d', 0],
  ['2026-01-31T14:05:00Z', 1_769_868_300_000],
  ['2026-01-31 14:05+01:00', 1_769_864_700_000],
  ['2026-01-31T14:05:00.250Z', 1_769_868_300_250],
  ['2026-01-31', new Date(2026, 0, 31).getTime()],
  ['2026-01-31T14:05', new Date(2026, 0, 31, 14, 5).getTime()],
])('the time `--since %s` is %d', (typed, at) => {
  expect(parseSince(typed, 2_000_000)).toBe(at)
})

test.each(['10', 'yesterday', '31.1.2026', '2026-13-01', '14:05', ''])('the time `--since %j` is refused', (typed) => {
  expect(() => parseSince(typed)).toThrow(UsageError)
})

describe('an error of the code', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s has the exit code of the table', (code) => {
    for (const error of [new ApiError(code, ''), new KernelError(code, '')]) {
      expect(exitCode(error, false)).toBe(ERRORS[code].exit)
      const errorExit = ERRORS[code].exit
      expect(exitCode(error, true)).toBe(errorExit >= 124 && errorExit <= 127 ? errorExit : 125)
    }
  })

  test('for usage, failures and defects has its exit code', () => {
    expect([exitCode(new UsageError(''), false), exitCode(new UsageError(''), true)]).toEqual([64, 125])
    expect([exitCode(new Failure(4, ''), false), exitCode(new TypeError(''), false)]).toEqual([4, 125])
  })
})
