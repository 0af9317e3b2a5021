// Every error of the command line has a hint about the next step: errors of the table, usage errors, and unexpected errors.
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../src/api/client/api-error.ts'
import { Failure, UsageError } from '../../../../src/cli/errors.ts'
import { toReportedError } from '../../../../src/cli/print/hints.ts'
import { DEFAULTS } from '../../../../src/config/config.ts'
import { ERRORS, KernelError, type ErrorCode } from '../../../../src/kernel/model/errors.ts'

const UUID = '01960000-0000-7000-8000-0000deadbeef'

/** An error of the system. */
function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: it was refused, ${syscall}`), { code, syscall })
}

test.each<[string, Error, string | undefined, string]>([
  ['a usage error without a hint of its own', new UsageError('--effort x: there is low'), 'run', 'See `reeve help run`.'],
  ['a usage error with a hint of its own', new UsageError('no', 'Do this.'), 'run', 'Do this.'],
  ['a usage error before the verb', new UsageError('no'), undefined, '`reeve help` lists all verbs.'],
  ['an unknown flag without a verb', new UsageError('unknown flag -v'), 'help', '`reeve help` lists all verbs.'],
  [
    "a signal number as a flag, as for the shell's kill",
    new UsageError('unknown flag -9'),
    'kill',
    'Give a signal with -s: `reeve kill -s 9 P`.',
  ],
  [
    "a signal name as a flag, as for the shell's kill",
    new UsageError('unknown flag -K'),
    'kill',
    'Give a signal with -s: `reeve kill -s KILL P`.',
  ],
  ['a failure with its own message', new Failure(1, 'it has not ended', 'Wait.'), 'daemon', 'Wait.'],
  ['an invalid value', new ApiError('INVALID', '/nope is not a directory'), 'run', 'See `reeve help run`.'],
  [
    'a missing model',
    new ApiError('INVALID', 'no model: give --model provider/name'),
    'run',
    '`reeve config set defaultModel PROVIDER/NAME` sets a default; see `reeve help keys`.',
  ],
  [
    'an unknown model',
    new ApiError('INVALID', 'model "x" has no known provider'),
    'run',
    '`reeve help keys` explains the names of models; `reeve config show providers` lists the providers.',
  ],
  [
    'an invalid variable of the environment',
    new KernelError('INVALID', 'REEVE_MODEL: expected provider/name'),
    'config',
    'Correct that variable of the environment, or unset it.',
  ],
  ['a specific hint of the daemon', new ApiError('CONFLICT', 'process 5 has not ended', { hint: 'End it first.' }), 'rm', 'End it first.'],
  ['an unknown process', new ApiError('NOT_FOUND', 'no process "x"'), 'kill', ERRORS.NOT_FOUND.hint],
  [
    'an ended process',
    new ApiError('NOT_FOUND', `process ${UUID} has ended`),
    'kill',
    '`reeve inspect deadbeef` shows how it ended; `reeve resume deadbeef` continues it if possible (a command: `--rerun`).',
  ],
  ['PID 0', new ApiError('PERMISSION', 'PID 0 is the kernel itself'), 'kill', 'PID 0 stands for the daemon: see `reeve daemon status`.'],
  ['an unknown agent', new ApiError('AGENT_INVALID', 'there is no agent `x`'), 'run', '`reeve agents` lists the available agents.'],
  [
    'an invalid configuration',
    new KernelError('AGENT_INVALID', 'x', { file: '/h/config.yaml', line: 2 }),
    'config',
    'Correct the file, or remove the key with `reeve config unset KEY`; see `reeve help config`.',
  ],
  [
    'an invalid file of a project',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/reeve.yaml', line: 2 } }),
    'run',
    'Correct the file of the project; `reeve config set` changes only your own file.',
  ],
  [
    'an invalid file of tasks',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/tasks.md', line: 2 } }),
    'crew up',
    'Correct the file; docs/reference/crews.md describes it.',
  ],
  [
    'an invalid file of tasks with another ending',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/tasks.txt', line: 2 } }),
    'crew up',
    'Correct the file; docs/reference/crews.md describes it.',
  ],
  [
    'an invalid file of a run',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/reeve.yaml', line: 2 } }),
    'compose up',
    'Correct the file; docs/reference/compose.md describes it.',
  ],
  [
    'an invalid configuration, found by `compose up`',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/h/config.yaml', line: 2 } }),
    'compose up',
    'Correct the file, or remove the key with `reeve config unset KEY`; see `reeve help config`.',
  ],
  [
    'an invalid agent file, found by `crew up`',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/.reeve/agents/a.md', line: 2 } }),
    'crew up',
    'Correct the file; see `reeve help agent-files`.',
  ],
  [
    'a missing file',
    new ApiError('AGENT_INVALID', '/p/t.md: the file does not exist', { details: { file: '/p/t.md', line: 0 } }),
    'crew up',
    'Check the path. A path without a leading / is relative to the working directory.',
  ],
  [
    'an invalid file of keys',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/h/credentials.yaml', line: 0 } }),
    'run',
    'Correct the file: lines of `NAME: value`, readable only by you (mode 0600).',
  ],
  [
    'an invalid agent file',
    new ApiError('AGENT_INVALID', 'x', { details: { file: '/p/.reeve/agents/a.md', line: 2 } }),
    'run',
    'Correct the file; see `reeve help agent-files`.',
  ],
  [
    'a home that is a file',
    new ApiError('UNAVAILABLE', 'cannot be reached', { cause: systemError('ENOTDIR', 'connect') }),
    'ps',
    'Its state directory must be yours: `reeve config path` names it, and REEVE_HOME selects another one.',
  ],
  [
    'a daemon that does not answer',
    new ApiError('UNAVAILABLE', 'cannot be reached', { cause: systemError('ECONNREFUSED', 'connect') }),
    'ps',
    ERRORS.UNAVAILABLE.hint,
  ],
  ['a working directory that is gone', systemError('ENOENT', 'uv_cwd'), 'ps', 'Change to another directory.'],
  [
    'an action that the system refuses',
    systemError('EACCES', 'open'),
    'config',
    '`reeve doctor` checks the system, `reeve config path` names the files of reeve.',
  ],
  [
    'a defect',
    new TypeError('x is undefined'),
    'ps',
    'This is a defect of reeve. docs/guides/troubleshooting.md describes how to report it.',
  ],
])('the hint for %s gives the next step', (_what, error, verb, hint) => {
  expect(toReportedError(error, verb).hint).toBe(hint)
})

describe('an error of each code has a hint', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s', (code) => {
    for (const error of [new ApiError(code, 'what'), new KernelError(code, 'what')]) {
      const reported = toReportedError(error, 'run')
      expect(reported).toMatchObject({ code, message: 'what' })
      expect(reported.hint).toMatch(/^.{10,}\.$/)
    }
  })
})

test.each([
  ['INVALID', 'limits.maxSteps: must be at least 1', '--max-steps: must be at least 1'],
  ['INVALID', 'limits.timeoutMs: must be at least 1', '--timeout: must be at least 1'],
  ['INVALID', 'limits.budgetUsd: must be more than 0', '--budget-usd: must be more than 0'],
  ['AGENT_INVALID', 'limits.maxSteps: must be at least 1', 'limits.maxSteps: must be at least 1'],
  ['NOT_FOUND', `process ${UUID} has ended`, 'process deadbeef has ended'],
] as const)('the message of %s names limits by their flags, and processes by their short ids: %s', (code, message, expected) => {
  expect(toReportedError(new ApiError(code, message), 'run').message).toBe(expected)
})

test('the code and the details are kept for programs', () => {
  expect(toReportedError(new ApiError('AMBIGUOUS', 'which', { details: { candidates: [] } }), 'kill')).toEqual({
    message: 'which',
    code: 'AMBIGUOUS',
    hint: ERRORS.AMBIGUOUS.hint,
    details: { candidates: [] },
  })
})

test('the hint for a reference that fits many processes names the newest five', () => {
  const candidates = Array.from({ length: 7 }, (_, index) => ({
    pid: index,
    status: 'completed',
    createdAt: `2026-07-0${index + 1}T12:00:00.000Z`,
    exitedAt: `2026-07-0${index + 1}T13:00:00.000Z`,
  }))
  const hintFor = (details: object): string => toReportedError(new ApiError('AMBIGUOUS', 'which', { details: { ...details } }), 'rm').hint
  expect(hintFor({ candidates })).toMatch(/^Name one of them by its PID: PID 6 \(.*PID 2 \([^)]*\), and 2 more; `reeve ps -a` lists all\.$/)
  expect(hintFor({ candidates: candidates.slice(0, 2) })).toMatch(/^Name one of them by its PID: PID 1 \(.*, PID 0 \([^)]*\)\.$/)
})

test('the hint for a missing model proposes a model of the provider whose key is set', () => {
  const hintWith = (env: Record<string, string>): string =>
    toReportedError(new ApiError('INVALID', 'no model: give --model provider/name'), 'run', env).hint
  expect(hintWith({ GEMINI_API_KEY: 'x' })).toBe(
    'GEMINI_API_KEY is set: `--model google/gemini-3.8-flash` uses it, and `reeve config set defaultModel google/gemini-3.8-flash` makes it the default; `reeve models` lists all.',
  )
  expect(hintWith({ GEMINI_API_KEY: '' })).toMatch(/^`reeve config set defaultModel PROVIDER/)
  for (const apiKeyEnv of new Set(DEFAULTS.providers.flatMap((provider) => provider.apiKeyEnv ?? []))) {
    const firstProvider = DEFAULTS.providers.find((provider) => provider.apiKeyEnv === apiKeyEnv)
    expect(hintWith({ [apiKeyEnv]: 'x' })).toContain(`\`--model ${firstProvider?.name}/`)
  }
})
