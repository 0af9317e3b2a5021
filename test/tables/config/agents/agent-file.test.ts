// Agent files: reeve's format and Claude Code's, and the messages for invalid files.
import { describe, expect, test } from 'vitest'
import { parseAgent, type AgentDefinition, type AgentSource } from '../../../../src/config/agents/agent-file.ts'

function agentOf(text: string, source: AgentSource = 'project', file = '/p/file.md'): AgentDefinition {
  const parsed = parseAgent(text, file, source)
  if (!parsed.ok) throw new Error(`${parsed.problem.line}: ${parsed.problem.message}`)
  return parsed.value
}

function problemOf(text: string, source: AgentSource = 'project', file = '/p/file.md'): string {
  const parsed = parseAgent(text, file, source)
  return parsed.ok ? 'it was accepted' : `${parsed.problem.line}: ${parsed.problem.message}`
}

const agentFileText = (...lines: string[]): string => ['---', ...lines, '---', 'Be kind.'].join('\n')

describe("reeve's format", () => {
  test('has every key of an agent file', () => {
    const text = agentFileText(
      'name: tester',
      'description: Writes tests',
      'driver: native',
      'model: openai/gpt-5',
      'tools: [read, bash]',
      'deny: write, edit',
      'limits: { maxSteps: 9, timeout: 1h30m, budgetUsd: 0.5, budgetTokens: 1000 }',
      'mcp: [github, { local: { command: ./server } }]',
      'restart: permanent',
    )
    expect(agentOf(text)).toEqual({
      name: 'tester',
      description: 'Writes tests',
      driver: 'native',
      command: null,
      format: null,
      permissions: null,
      mode: null,
      gateway: null,
      graceMs: null,
      model: 'openai/gpt-5',
      fallback: null,
      effort: null,
      tools: ['read', 'bash'],
      deny: ['write', 'edit'],
      mcp: { names: ['github'], definitions: [{ name: 'local', source: '/p/file.md', kind: 'stdio', argv: ['./server'], env: {} }] },
      limits: { maxSteps: 9, timeoutMs: 5_400_000, budgetUsd: 0.5, budgetTokens: 1000 },
      system: 'Be kind.',
      source: 'project',
      file: '/p/file.md',
      restart: 'permanent',
      unsupported: [],
    })
  })

  test('may have an empty front matter: the name is that of the file, everything else the default', () => {
    expect(agentOf('---\n---\n')).toEqual({
      name: 'file',
      description: '',
      driver: 'native',
      command: null,
      format: null,
      permissions: null,
      mode: null,
      gateway: null,
      graceMs: null,
      model: null,
      fallback: null,
      effort: null,
      tools: null,
      deny: [],
      mcp: null,
      limits: {},
      system: null,
      source: 'project',
      file: '/p/file.md',
      unsupported: [],
    })
  })

  test('may have lines that end in CRLF, a byte order mark, and lines of dashes in its text', () => {
    expect(agentOf('\uFEFF---\r\nname: x\r\n---\r\nfirst\r\n---\r\nlast\r\n')).toMatchObject({ name: 'x', system: 'first\n---\nlast' })
  })

  test.each([
    ['no front matter', 'Be kind.', '1: the front matter is missing: the first line must be `---`, and another `---` must end it'],
    [
      'front matter without an end',
      '---\nname: x\n',
      '1: the front matter is missing: the first line must be `---`, and another `---` must end it',
    ],
    ['an unknown key', agentFileText('name: x', 'modle: a/b'), '3: unknown key `modle`; did you mean `model`?'],
    [
      'an unknown limit',
      agentFileText('limits:', '  maxSteps: 1', '  budgetUSD: 1'),
      '4: unknown key `limits.budgetUSD`; did you mean `budgetUsd`?',
    ],
    ['an unknown tool', agentFileText('tools: [read, Bash]'), '2: tools: there is no tool `Bash`; did you mean `bash`?'],
    [
      'a tool that resembles no other',
      agentFileText('tools: fetch_the_web'),
      '2: tools: there is no tool `fetch_the_web`; there are read, write, edit, ls, glob, grep, bash, skill and mcp__SERVER__TOOL',
    ],
    [
      'permissions that the driver cannot enforce',
      agentFileText('driver: command', 'command: [claude, -p]', 'permissions: deny'),
      '4: permissions: the driver command does not support it: set the flags of the program in `command`',
    ],
    [
      "a server with the name of reeve's own",
      agentFileText('mcp: { reeve: { command: x } }'),
      "2: mcp: reeve: is not a valid name: the name is reserved for reeve's own server (`reeve: true` gives it to an agent); choose another name",
    ],
    ['a server without a command', agentFileText('mcp: { gh: { args: [x] } }'), '2: mcp: gh: it has neither a command nor a url'],
    ['a model without a provider', agentFileText('model: gpt-5'), '2: model: expected provider/name, script:FILE or replay:UUID'],
    [
      'a duration without a unit',
      agentFileText('limits: { timeout: "90" }'),
      '2: limits.timeout: expected a duration such as 90s, 10m or 1h30m',
    ],
    [
      'an action for a limit that always refuses',
      agentFileText('limits: { maxMessages: 5, actions: { maxSteps: suspend, maxMessages: suspend, maxDepth: terminate } }'),
      '2: limits.actions: maxMessages, maxDepth: this limit always refuses, its action cannot be chosen',
    ],
    ['a limit of no steps', agentFileText('name: x', 'limits: { maxSteps: 0 }'), '3: limits.maxSteps: must be at least 1'],
    [
      'a name with a slash',
      agentFileText('name: a/b'),
      '2: name: expected a name of up to 64 letters, digits, dots, dashes and underscores',
    ],
    ['the reserved name `command`', agentFileText('name: command'), '1: the name `command` is reserved for `reeve run -- CMD`'],
    [
      'an external agent without its program',
      agentFileText('name: x', 'driver: acp'),
      '3: driver: acp needs a `command`: the list of its program and arguments',
    ],
    [
      'a key that its driver does not support',
      agentFileText('driver: acp', 'command: [x]', 'effort: high'),
      '4: effort: the driver acp does not support it',
    ],
    [
      'a permission for a command',
      agentFileText('driver: command', 'command: [x]', 'permissions: allow'),
      '4: permissions: the driver command does not support it: set the flags of the program in `command`',
    ],
    [
      'a table of tools for a native agent',
      agentFileText('permissions: { tools: { bash: ask } }'),
      '2: permissions: a native agent has no `tools` here: write the names as `allow`, `ask` or `deny`',
    ],
    [
      'rules for an external agent',
      agentFileText('driver: acp', 'command: [x]', 'permissions: { allow: ["bash(npm test)"] }'),
      '4: permissions: an external agent has no rules for calls: give its tools a policy with `tools`',
    ],
    [
      'a rule for a tool that does not exist',
      agentFileText('permissions: { deny: [bahs] }'),
      '2: permissions: there is no tool `bahs`; did you mean `bash`?',
    ],
    [
      'a rule that cannot be enforced',
      agentFileText('permissions: { deny: ["read(.env)"] }'),
      '2: permissions: `read(.env)` cannot be enforced by a pattern: limit the directories that it may read with `read:PATH`',
    ],
    ['a grace for a native agent, which ends at once', agentFileText('grace: 3s'), '2: grace: the driver native does not support it'],
    ['a grace without a unit', agentFileText('driver: acp', 'command: [x]', 'grace: 3'), '4: grace: must be a text'],
    [
      'a model for a command line',
      agentFileText('driver: command', 'command: [x]', 'model: a/b'),
      '4: model: the driver command does not support it',
    ],
    [
      'an unknown permission',
      agentFileText('driver: acp', 'command: [x]', 'permissions: maybe'),
      '4: permissions: expected ask, allow, deny, plan, agent, { default: …, allow: […], ask: […], deny: […] }, or { default: …, tools: { NAME: … } }',
    ],
    [
      'broken YAML',
      agentFileText('name: x', 'tools: [read'),
      '3: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  ])('is refused: %s', (_, text, message) => {
    expect(problemOf(text)).toBe(message)
  })

  test('can describe an agent that speaks ACP', () => {
    const text = agentFileText(
      'driver: acp',
      'command: [my-agent, --acp]',
      'model: opus',
      'mode: plan',
      'grace: 1.5s',
      'deny: [bash]',
      'permissions: { default: allow, tools: { execute: ask } }',
    )
    expect(agentOf(text)).toMatchObject({
      driver: 'acp',
      command: ['my-agent', '--acp'],
      format: null,
      model: 'opus',
      mode: 'plan',
      graceMs: 1_500,
      deny: ['bash'],
      permissions: { default: 'allow', tools: { execute: 'ask' } },
      unsupported: [],
    })
    expect(agentOf(agentFileText('driver: acp', 'command: [x]', 'permissions: deny')).permissions).toEqual({ default: 'deny' })
    expect(agentOf(agentFileText('driver: acp', 'command: [x]', 'permissions: { tools: { read: allow } }')).permissions).toEqual({
      default: 'ask',
      tools: { read: 'allow' },
    })
  })

  test('can describe an agent that is configured by its command line', () => {
    expect(agentOf(agentFileText('driver: command', 'command: [my-claude, -p]', 'format: claude'))).toMatchObject({
      driver: 'command',
      command: ['my-claude', '-p'],
      format: 'claude',
    })
  })
})

describe("Claude Code's format", () => {
  test.each([
    ['the names of tools may be one text with commas', 'tools: Read, Grep,Bash', { tools: ['read', 'grep', 'bash'], unsupported: [] }],
    ['the names of tools may be a list', 'tools: [Read, MultiEdit, Edit]', { tools: ['read', 'edit'], unsupported: [] }],
    ['without a list all are allowed', 'color: red', { tools: null, unsupported: [] }],
    ['unknown tools are reported, and grant nothing', 'tools: WebFetch', { tools: [], unsupported: ['tools: WebFetch is not supported'] }],
    [
      'tools of MCP servers have the same names',
      'tools: Read, mcp__x__y, mcp__z',
      { tools: ['read', 'mcp__x__y', 'mcp__z'], unsupported: [] },
    ],
    [
      'a pattern does not become the whole tool',
      'tools: Read, Bash(git add:*, git commit:*)',
      { tools: ['read'], unsupported: ['tools: Bash(git add:*, git commit:*) is not supported'] },
    ],
    ['denied tools have their own key', 'disallowedTools: Bash, Write', { tools: null, deny: ['bash', 'write'], unsupported: [] }],
    ['`sonnet` is a model of Anthropic', 'model: sonnet', { model: 'anthropic/claude-sonnet-5', unsupported: [] }],
    ['`opus` is a model of Anthropic', 'model: opus', { model: 'anthropic/claude-opus-5-5', unsupported: [] }],
    ['`haiku` is a model of Anthropic', 'model: haiku', { model: 'anthropic/claude-haiku-4-5', unsupported: [] }],
    ['`inherit` is the default model', 'model: inherit', { model: null, unsupported: [] }],
    [
      'a whole name of a Claude model is kept',
      'model: claude-sonnet-4-5-20250929',
      { model: 'anthropic/claude-sonnet-4-5-20250929', unsupported: [] },
    ],
    [
      'another model is reported, and replaced by the default',
      'model: gpt',
      { model: null, unsupported: ['model: gpt is not known; the default model is used'] },
    ],
    ['`maxTurns` limits the steps', 'maxTurns: 7', { limits: { maxSteps: 7 }, unsupported: [] }],
    ['an invalid `maxTurns` is listed', 'maxTurns: many', { limits: {}, unsupported: ['maxTurns: many is not supported'] }],
    ['other keys are reported', 'permissionMode: plan', { unsupported: ['permissionMode is not supported'] }],
  ])('%s', (_, line, expected) => {
    expect(agentOf(agentFileText('name: x', line), 'claude')).toMatchObject(expected)
  })

  test('front matter that is not YAML is read line by line', () => {
    const text = agentFileText(
      'name: reviewer',
      'description: Use it when: code was written. Examples: <example>user: "hi"</example>',
      'tools: Read',
      'model: opus',
    )
    expect(agentOf(text, 'claude')).toMatchObject({
      name: 'reviewer',
      description: 'Use it when: code was written. Examples: <example>user: "hi"</example>',
      tools: ['read'],
      model: 'anthropic/claude-opus-5-5',
    })
  })
})
