// Every error of the command line names the next step: those of the table of errors, those of a usage, and what nobody foresaw.
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/api/client.ts'
import { Failure, UsageError } from '../../src/cli/errors.ts'
import { told } from '../../src/cli/hints.ts'
import { ERRORS, KernelError, type ErrorCode } from '../../src/kernel/errors.ts'

const UUID = '01960000-0000-7000-8000-0000deadbeef'

/** An error of the system. */
function system(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: it was refused, ${syscall}`), { code, syscall })
}

test.each<[string, Error, string | undefined, string]>([
  ['a usage without a hint', new UsageError('--effort x: there is low'), 'run', 'See `reeve help run`.'],
  ['a usage with one', new UsageError('no', 'Do this.'), 'run', 'Do this.'],
  ['a usage of no verb', new UsageError('no'), undefined, '`reeve help` lists all verbs.'],
  ['a flag without a verb', new UsageError('unknown flag -v'), 'help', '`reeve help` lists all verbs.'],
  ["a signal as the shell's kill takes it", new UsageError('unknown flag -9'), 'kill', 'A signal stands behind -s: `reeve kill -s 9 P`.'],
  ['one by its name', new UsageError('unknown flag -K'), 'kill', 'A signal stands behind -s: `reeve kill -s KILL P`.'],
  ['a failure that is said as it is', new Failure(1, 'it has not ended', 'Wait.'), 'daemon', 'Wait.'],
  ['a value that may not be', new ApiError('INVALID', '/nope is not a directory'), 'run', 'See `reeve help run`.'],
  ['no model', new ApiError('INVALID', 'no model: give --model provider/name'), 'run', '`reeve config set defaultModel PROVIDER/NAME` sets one for good; `reeve help models` says more.'],
  ['an unknown model', new ApiError('INVALID', 'model "x" has no known provider'), 'run', '`reeve help models` says how a model is named; `reeve config show providers` lists the providers.'],
  ['a variable', new KernelError('INVALID', 'REEVE_MODEL: expected provider/name'), 'config', 'Correct that variable of the environment, or unset it.'],
  ['a hint of somebody who knew more', new ApiError('CONFLICT', 'process 5 has not ended', { hint: 'End it first.' }), 'rm', 'End it first.'],
  ['no such process', new ApiError('NOT_FOUND', 'no process "x"'), 'kill', ERRORS.NOT_FOUND.hint],
  ['one that has ended', new ApiError('NOT_FOUND', `process ${UUID} has ended`), 'kill', '`reeve inspect deadbeef` says how it ended; `reeve resume deadbeef` goes on with it, where it can (a command: `--rerun`).'],
  ['PID 0', new ApiError('PERMISSION', 'PID 0 is the kernel itself'), 'kill', 'It stands for the daemon: `reeve daemon status` shows that.'],
  ['no such agent', new ApiError('AGENT_INVALID', 'there is no agent `x`'), 'run', '`reeve agents` lists those that can be run here.'],
  ['a bad configuration', new KernelError('AGENT_INVALID', 'x', { file: '/h/config.yaml', line: 2 }), 'config', 'Correct the file, or take the key away with `reeve config unset KEY`; `reeve help config` says more.'],
  ['a bad file of a project', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/reeve.yaml', line: 2 } }), 'run', "Correct the file: it is the project's, and `reeve config set` changes your own alone."],
  ['a bad file of tasks', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/tasks.md', line: 2 } }), 'crew up', 'Correct the file; docs/crews.md says what stands where.'],
  ['a bad file of tasks that is no Markdown', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/tasks.txt', line: 2 } }), 'crew up', 'Correct the file; docs/crews.md says what stands where.'],
  ['a bad file of a run', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/reeve.yaml', line: 2 } }), 'compose up', 'Correct the file; docs/compose.md says what stands where.'],
  ['a bad configuration, met by a run', new ApiError('AGENT_INVALID', 'x', { details: { file: '/h/config.yaml', line: 2 } }), 'compose up', 'Correct the file, or take the key away with `reeve config unset KEY`; `reeve help config` says more.'],
  ['a bad agent file, met by a crew', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/.reeve/agents/a.md', line: 2 } }), 'crew up', 'Correct the file; `reeve help agent-files` says what stands where.'],
  ['a file that is not there', new ApiError('AGENT_INVALID', '/p/t.md: it is not there', { details: { file: '/p/t.md', line: 0 } }), 'crew up', 'Is the path right? One that does not begin with / is looked for from the working directory.'],
  ['a bad file of keys', new ApiError('AGENT_INVALID', 'x', { details: { file: '/h/credentials.yaml', line: 0 } }), 'run', 'Correct the file: lines of `NAME: value`, which nobody but you can read (mode 0600).'],
  ['a bad agent file', new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/.reeve/agents/a.md', line: 2 } }), 'run', 'Correct the file; `reeve help agent-files` says what stands where.'],
  ['a home that is a file', new ApiError('UNAVAILABLE', 'cannot be reached', { cause: system('ENOTDIR', 'connect') }), 'ps', 'Its state directory must be yours: `reeve config path` names it, and REEVE_HOME chooses another one.'],
  ['a daemon that does not answer', new ApiError('UNAVAILABLE', 'cannot be reached', { cause: system('ECONNREFUSED', 'connect') }), 'ps', ERRORS.UNAVAILABLE.hint],
  ['a working directory that is gone', system('ENOENT', 'uv_cwd'), 'ps', 'Change to another one.'],
  ['what the system refuses', system('EACCES', 'open'), 'config', '`reeve doctor` looks at what reeve needs, `reeve config path` names its files.'],
  ['a defect', new TypeError('x is undefined'), 'ps', 'This is a defect of reeve: please report it, with what you typed.'],
])('%s', (_what, error, verb, hint) => {
  expect(told(error, verb).hint).toBe(hint)
})

describe('each code of the table', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s', (code) => {
    for (const error of [new ApiError(code, 'what'), new KernelError(code, 'what')]) {
      const said = told(error, 'run')
      expect(said).toMatchObject({ code, message: 'what' })
      expect(said.hint).toMatch(/^.{10,}\.$/)
    }
  })
})

test.each([
  ['INVALID', 'limits.maxSteps: must be at least 1', '--max-steps: must be at least 1'],
  ['INVALID', 'limits.timeoutMs: must be at least 1', '--timeout: must be at least 1'],
  ['INVALID', 'limits.budgetUsd: must be more than 0', '--budget-usd: must be more than 0'],
  ['AGENT_INVALID', 'limits.maxSteps: must be at least 1', 'limits.maxSteps: must be at least 1'],
  ['NOT_FOUND', `process ${UUID} has ended`, 'process deadbeef has ended'],
] as const)('%s: limits are called by their flags, processes by their short ids: %s', (code, message, words) => {
  expect(told(new ApiError(code, message), 'run').message).toBe(words)
})

test('details and the code go along, for programs', () => {
  expect(told(new ApiError('AMBIGUOUS', 'which', { details: { candidates: [] } }), 'kill')).toEqual({ message: 'which', code: 'AMBIGUOUS', hint: ERRORS.AMBIGUOUS.hint, details: { candidates: [] } })
})
