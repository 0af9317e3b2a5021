// The flags of the command line: parsing and error messages.
import { describe, expect, test } from 'vitest'
import { parseCommandLine, type FlagTable } from '../../../../src/cli/input/args.ts'
import { UsageError } from '../../../../src/cli/errors.ts'

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
