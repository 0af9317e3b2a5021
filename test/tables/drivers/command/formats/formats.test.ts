// The observations from the lines of real agents, format by format, and their command lines.
import { describe, expect, test } from 'vitest'
import { findProgram } from '../../../../../src/drivers/command/formats/args.ts'
import { messageInJson } from '../../../../../src/drivers/command/formats/format.ts'
import { recognizeFormat, parseKnownCommand } from '../../../../../src/drivers/command/formats/formats.ts'
import * as lines from '../../../../support/agents/agent-lines.ts'
import type { Observation } from '../../../../../src/drivers/command/formats/format.ts'
import type { OutputFormat } from '../../../../../src/kernel/model/words.ts'

const ARGV: Readonly<Record<OutputFormat, readonly string[]>> = {
  claude: ['claude', '-p', 'do it', '--output-format', 'stream-json', '--verbose'],
  codex: ['codex', 'exec', '--json', '-m', 'gpt-5', 'do it'],
  gemini: ['gemini', '-p', 'do it', '-o', 'stream-json'],
  opencode: ['opencode', 'run', '--format', 'json', 'do it'],
}

function readLines(name: OutputFormat, outputLines: readonly object[]): (readonly Observation[] | null)[] {
  const { format, command } = parseKnownCommand(ARGV[name], name)
  return outputLines.map((line) => format.read(line as Readonly<Record<string, unknown>>, command))
}

const observationsOf = (name: OutputFormat, outputLines: readonly object[]): Observation[] =>
  readLines(name, outputLines).flatMap((observations) => observations ?? [])
const lastOfType = (name: OutputFormat, outputLines: readonly object[], type: Observation['type']): Observation | undefined =>
  observationsOf(name, outputLines).findLast((observation) => observation.type === type)
const tokenCounts = (inputTokens: number, outputTokens: number, cacheReadTokens: number, cacheWriteTokens: number) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
})

describe('each recorded line is understood', () => {
  const recorded = Object.entries<readonly object[]>(lines)
  test.each(recorded)('%s', (name, outputLines) => {
    const format = (name.split('_')[0] ?? '').toLowerCase() as OutputFormat
    expect(outputLines.length).toBeGreaterThan(0)
    expect(readLines(format, outputLines)).not.toContain(null)
  })
})

describe('claude', () => {
  test('reports an answer block by block, its calls, their results, and the usage since the last result', () => {
    const observations = observationsOf('claude', lines.CLAUDE_TOOLS)
    expect(observations[0]).toEqual({ type: 'session', id: '6528ff20-b72b-4b73-ac46-b42cd138b7d7' })
    expect(observations.filter(({ type }) => type === 'part').map((part) => part.type === 'part' && [part.answer, part.part.type])).toEqual(
      [
        ['msg_1', 'text'],
        ['msg_1', 'tool-call'],
        ['msg_1', 'tool-call'],
        ['msg_2', 'text'],
      ],
    )
    expect(observations.filter(({ type }) => type === 'tool')).toEqual([
      { type: 'tool', callId: 'toolu_0', outcome: 'error', content: 'Exit code 3\nhello' },
      { type: 'tool', callId: 'toolu_1', outcome: 'error', content: 'Exit code 3\nhello' },
    ])
    expect(observations.at(-2)).toEqual({
      type: 'used',
      span: 'since',
      tokens: tokenCounts(2000, 100, 600, 40),
      costUsd: 0.010320000000000001,
      window: 1_000_000,
    })
    expect(observations.at(-1)).toEqual({ type: 'ended', error: null, result: 'It is done.' })
  })

  test.each([
    [lines.CLAUDE_RESUMED, 0.0051600000000000005],
    [lines.CLAUDE_FORKED, 0.0051600000000000005],
  ])('the earlier cost of a resumed or forked session does not count', (outputLines, costUsd) => {
    expect(lastOfType('claude', outputLines, 'used')).toMatchObject({ span: 'since', tokens: tokenCounts(1000, 50, 300, 20), costUsd })
  })

  test('reports a rate limit only if it was hit', () => {
    const rateLimitEvent = (info: object): object => ({ type: 'rate_limit_event', rate_limit_info: info, session_id: 's' })
    const observations = observationsOf('claude', [
      rateLimitEvent({ status: 'allowed', resetsAt: 1_784_079_000 }),
      rateLimitEvent({ status: 'rejected' }),
      rateLimitEvent({ status: 'rejected', resetsAt: 1_784_079_000, rateLimitType: 'five_hour' }),
    ])
    expect(observations).toEqual([{ type: 'limited', until: 1_784_079_000_000 }])
  })

  test('an older version reports only the total of the session', () => {
    const oldLines = lines.CLAUDE_RESUMED.map((line) =>
      Object.fromEntries(Object.entries(line).filter(([name]) => name !== 'model_usage_since_last_result')),
    )
    expect(lastOfType('claude', oldLines, 'used')).toEqual({
      type: 'used',
      span: 'session',
      tokens: tokenCounts(3000, 150, 900, 60),
      costUsd: 0.01548,
      window: 1_000_000,
    })
  })

  test.each([
    [lines.CLAUDE_NOT_LOGGED_IN, 'Not logged in · Please run /login'],
    [lines.CLAUDE_REFUSED, 'API Error: 400 bad thing'],
    [lines.CLAUDE_NO_SESSION, 'No conversation found with session ID: 6528ff20-b72b-4b73-ac46-b42cd138b7d8'],
    [[{ type: 'result', subtype: 'error_max_turns', is_error: true, errors: [] }], 'error_max_turns'],
  ])('a reported error ends the turn, and is not a text of the agent: $1', (outputLines, error) => {
    expect(lastOfType('claude', outputLines, 'ended')).toEqual({ type: 'ended', error, result: null })
    expect(observationsOf('claude', outputLines).filter(({ type }) => type === 'part')).toEqual([])
  })

  test('a call without permission was denied', () => {
    expect(lastOfType('claude', lines.CLAUDE_DENIED, 'tool')).toMatchObject({
      outcome: 'denied',
      content: "A variable in this command can't be checked before it runs",
    })
  })

  test('the text of a subagent is not an answer of its parent', () => {
    const inside = lines.CLAUDE_TOOLS.map((line) => ({ ...line, parent_tool_use_id: 'toolu_9' }))
    expect(observationsOf('claude', inside).map(({ type }) => type)).toEqual([
      'session',
      'used',
      'used',
      'used',
      'used',
      'session',
      'used',
      'ended',
    ])
    expect(observationsOf('claude', inside)[1]).toEqual({
      type: 'used',
      span: 'step',
      tokens: tokenCounts(1000, 1, 300, 20),
      costUsd: null,
      priced: { provider: 'anthropic', model: 'served' },
      subagentAnswer: 'msg_1',
    })
  })

  test('a failed attempt is a note', () => {
    expect(
      observationsOf('claude', [
        { type: 'system', subtype: 'api_retry', attempt: 2, max_retries: 10, error: 'overloaded', error_status: 529 },
      ]),
    ).toEqual([{ type: 'note', text: 'a model call failed (overloaded 529), attempt 2 of 10' }])
  })
})

describe('codex', () => {
  test("reports items; usage is the thread's total, and its input includes the cache", () => {
    expect(observationsOf('codex', lines.CODEX_TOOLS)).toEqual([
      { type: 'session', id: '01a1f964-3c13-7d42-a935-af7e68a221bf' },
      { type: 'part', answer: null, part: { type: 'text', text: 'I will run it.' } },
      {
        type: 'part',
        answer: null,
        part: { type: 'tool-call', callId: 'item_1', name: 'shell', input: { command: "/bin/bash -lc 'echo hello'" } },
      },
      {
        type: 'part',
        answer: null,
        part: { type: 'tool-call', callId: 'item_1', name: 'shell', input: { command: "/bin/bash -lc 'echo hello'" } },
      },
      { type: 'tool', callId: 'item_1', outcome: 'ok', content: 'hello\n' },
      { type: 'part', answer: null, part: { type: 'text', text: 'It is done.' } },
      {
        type: 'used',
        span: 'session',
        tokens: tokenCounts(2000, 100, 600, 40),
        costUsd: null,
        priced: { provider: 'openai', model: 'gpt-5' },
      },
      { type: 'ended', error: null, result: null },
    ])
  })

  test('a failed turn has its reason as text', () => {
    expect(lastOfType('codex', lines.CODEX_REFUSED, 'ended')).toEqual({ type: 'ended', error: 'bad thing', result: null })
  })

  test.each([
    [{ type: 'file_change', changes: [{ path: 'a.ts', kind: 'update' }], status: 'completed' }, 'file_change', 'ok', 'update a.ts'],
    [
      {
        type: 'mcp_tool_call',
        server: 's',
        tool: 't',
        arguments: { a: 1 },
        result: { content: [{ type: 'text', text: 'x' }] },
        status: 'completed',
      },
      'mcp__s__t',
      'ok',
      'x',
    ],
    [{ type: 'mcp_tool_call', server: 's', tool: 't', error: { message: 'no' }, status: 'failed' }, 'mcp__s__t', 'error', 'no'],
    [{ type: 'web_search', query: 'q' }, 'web_search', 'ok', ''],
    [{ type: 'command_execution', command: 'rm', aggregated_output: '', status: 'declined' }, 'shell', 'denied', ''],
    [{ type: 'command_execution', command: 'false', aggregated_output: '', exit_code: 1, status: 'completed' }, 'shell', 'error', ''],
  ])('an item without a start is a call and its result: %j', (item, name, outcome, content) => {
    expect(observationsOf('codex', [{ type: 'item.completed', item: { id: 'i', ...item } }])).toMatchObject([
      { part: { name } },
      { type: 'tool', callId: 'i', outcome, content },
    ])
  })
})

describe('gemini', () => {
  test('reports answers in pieces, and the usage by model', () => {
    const observations = observationsOf('gemini', lines.GEMINI_TOOLS)
    expect(observations.filter(({ type }) => type === 'part')).toMatchObject([
      { isDelta: true },
      { isDelta: true },
      { part: { name: 'run_shell_command', input: { command: 'echo hello' } } },
      {},
      {},
    ])
    expect(lastOfType('gemini', lines.GEMINI_TOOLS, 'tool')).toMatchObject({ outcome: 'ok', content: 'hello' })
    expect(lastOfType('gemini', lines.GEMINI_TOOLS, 'used')).toEqual({
      type: 'used',
      span: 'since',
      tokens: tokenCounts(2040, 100, 600, 0),
      costUsd: null,
      priced: { provider: 'google', model: 'served' },
    })
    expect(observations.at(-1)).toEqual({ type: 'ended', error: null, result: null })
  })

  test('a failure has its reason as text', () => {
    expect(lastOfType('gemini', lines.GEMINI_REFUSED, 'ended')).toEqual({ type: 'ended', error: 'bad thing', result: null })
  })
})

describe('opencode', () => {
  test('marks its steps, each with its usage', () => {
    expect(
      observationsOf('opencode', lines.OPENCODE_TOOLS)
        .map(({ type }) => type)
        .filter((type) => type !== 'session'),
    ).toEqual(['part', 'part', 'tool', 'used', 'step', 'part', 'used', 'step', 'ended'])
    expect(lastOfType('opencode', lines.OPENCODE_TOOLS, 'used')).toEqual({
      type: 'used',
      span: 'step',
      tokens: tokenCounts(1020, 50, 300, 0),
      costUsd: 0,
    })
  })

  test('newer versions have a line for the end', () => {
    expect(lastOfType('opencode', [{ type: 'done', sessionID: 'ses_1' }], 'ended')).toEqual({ type: 'ended', error: null, result: null })
  })

  test('a failure has its reason', () => {
    expect(lastOfType('opencode', lines.OPENCODE_REFUSED, 'ended')).toEqual({ type: 'ended', error: 'bad thing', result: null })
  })
})

describe('unknown and malformed lines do no harm', () => {
  const MALFORMED_VALUES: readonly unknown[] = [
    null,
    1,
    'x',
    [],
    {},
    { type: 'text' },
    [null],
    { content: null },
    { content: [1, null, { type: 'text' }] },
  ]
  test.each(Object.keys(ARGV) as OutputFormat[])('%s', (name) => {
    const types = new Set(
      Object.values(lines)
        .flat()
        .map((line) => (line as { type?: unknown }).type),
    )
    for (const type of [...types, 'toString', '__proto__']) {
      for (const malformedValue of MALFORMED_VALUES) {
        const line = {
          type,
          message: malformedValue,
          item: malformedValue,
          part: malformedValue,
          usage: malformedValue,
          stats: malformedValue,
          error: malformedValue,
          modelUsage: malformedValue,
          session_id: malformedValue,
          content: malformedValue,
          errors: malformedValue,
        }
        for (const observation of observationsOf(name, [line])) expect(JSON.stringify(observation)).toBeTypeOf('string')
      }
    }
    expect(readLines(name, [{ type: 'what.is.new' }, {}, { type: 7 }])).toEqual([null, null, null])
  })
})

describe('command lines', () => {
  test.each([
    [ARGV.claude, 'claude'],
    [ARGV.codex, 'codex'],
    [ARGV.gemini, 'gemini'],
    [ARGV.opencode, 'opencode'],
    [['/opt/bin/claude', '--print', '--output-format=stream-json', '--verbose', 'x'], 'claude'],
    [['npx', '-y', '@anthropic-ai/claude-code@2.1.328', '-p', 'x', '--output-format', 'stream-json'], 'claude'],
    [['env', 'A=b', 'codex', 'e', '--json', 'x'], 'codex'],
    [['claude', '-p', 'x'], null],
    [['claude', '--output-format', 'stream-json'], null],
    [['codex', 'exec', 'x'], null],
    [['codex', '--json'], null],
    [['opencode', 'run', 'x'], null],
    [['gemini', '-p', 'x', '-o', 'json'], null],
    [['grep', 'claude', '-p', '--output-format', 'stream-json'], null],
    [['cat', 'claude'], null],
    [[], null],
  ])('%j has the format %s', (argv, name) => {
    expect(recognizeFormat(argv)).toBe(name)
  })

  test.each([
    [
      'claude',
      ['claude', '-p', 'old', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Edit', '--model', 'm'],
      [
        '-p',
        '--output-format',
        'stream-json',
        '--verbose',
        '--allowedTools',
        'Bash',
        'Edit',
        '--model',
        'm',
        '--resume',
        'ID',
        '--',
        'new',
      ],
    ],
    ['claude', ['claude', '--resume', 'OLD', '--fork-session', '-p', '--', 'old'], ['-p', '--resume', 'ID', '--', 'new']],
    [
      'codex',
      ['codex', 'exec', '--json', '-s', 'workspace-write', 'old'],
      ['exec', '--json', '-s', 'workspace-write', 'resume', 'ID', '--', 'new'],
    ],
    [
      'codex',
      ['codex', '-c', 'a=b', 'exec', '--json', 'resume', '--last', 'old'],
      ['exec', '-c', 'a=b', '--json', 'resume', 'ID', '--', 'new'],
    ],
    [
      'gemini',
      ['gemini', '-p', 'old', '-o', 'stream-json', '--session-id', 'X', '-m', 'flash'],
      ['-o', 'stream-json', '-m', 'flash', '--resume', 'ID', '--prompt=new'],
    ],
    [
      'opencode',
      ['opencode', 'run', '--format', 'json', '--title', 't', '-m', 'a/b', 'old', 'words'],
      ['run', '--format', 'json', '-m', 'a/b', '-s', 'ID', '--', 'new'],
    ],
  ] as const)('%s continues its session: %j', (name, argv, resumed) => {
    const { format, command } = parseKnownCommand(argv, name)
    expect(format.resume(command, 'ID', 'new')).toEqual(resumed)
    expect(command.program).toEqual(argv.slice(0, 1))
  })

  test.each([
    ['claude', ['--', '-x']],
    ['codex', ['--', '-x']],
    ['gemini', ['--prompt=-x']],
    ['opencode', ['--', '-x']],
  ] as const)('%s gets an intent that looks like an option', (name, added) => {
    const { format, command } = parseKnownCommand(ARGV[name], name)
    expect(format.start(command, '-x')).toEqual([...ARGV[name].slice(1), ...added])
  })

  test.each([
    ['claude', ['claude', '-c', '-p', 'x'], true],
    ['claude', ARGV.claude, false],
    ['codex', ['codex', 'exec', 'fork', 'ID', 'x'], true],
    ['codex', ARGV.codex, false],
    ['gemini', ['gemini', '-r', 'latest'], true],
    ['gemini', ARGV.gemini, false],
    ['opencode', ['opencode', 'run', '-c', 'x'], true],
    ['opencode', ARGV.opencode, false],
  ] as const)('%s %j continues an earlier session: %s', (name, argv, isExpected) => {
    const { format, command } = parseKnownCommand(argv, name)
    expect(format.continuesSession(command)).toBe(isExpected)
  })

  test('a program with another name counts if its format is given', () => {
    expect(findProgram(['my-agent', 'claude'], ['claude'])).toBe(-1)
    expect(parseKnownCommand(['my-agent', '-p', 'x'], 'claude').command.program).toEqual(['my-agent'])
  })
})

test.each([
  [['claude', '--no-session-persistence', '-p'], 'claude', true],
  [ARGV.claude, 'claude', false],
  [['codex', 'exec', '--ephemeral'], 'codex', true],
  [ARGV.codex, 'codex', false],
  [ARGV.gemini, 'gemini', false],
  [ARGV.opencode, 'opencode', false],
] as const)('%j as %s keeps no session: %s', (argv, name, isExpected) => {
  const { format, command } = parseKnownCommand(argv, name)
  expect(format.keepsNoSession(command)).toBe(isExpected)
})

test.each([
  [ARGV.codex, 'codex', 'gpt-5'],
  [ARGV.claude, 'claude', null],
  [['claude', '--model=opus', '-p'], 'claude', 'opus'],
  [['gemini', '-m', 'flash'], 'gemini', 'flash'],
  [['opencode', 'run', '-m', 'a/b'], 'opencode', 'a/b'],
] as const)('%j asks %s for the model %s', (argv, name, model) => {
  const { format, command } = parseKnownCommand(argv, name)
  expect(format.model(command)).toBe(model)
})

test.each([
  ['{"error":{"message":"no"}}', 'no'],
  ['{"message":"no"}', 'no'],
  ['plain', 'plain'],
  ['{}', '{}'],
])('the error text of %s is %s', (message, expected) => {
  expect(messageInJson(message)).toBe(expected)
})
