// The tasks of a crew in their own files: YAML and Markdown give the same result, and each error has its line.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readTasks } from '../../../../src/config/crew/tasks.ts'
import { tempDir } from '../../../support/tmp.ts'

async function readTasksOf(name: string, text: string): Promise<unknown> {
  await using dir = await tempDir()
  const file = join(dir.path, name)
  writeFileSync(file, text)
  return await readTasks(file).catch((error: Error) => error.message.replaceAll(dir.path, 'DIR'))
}

const TASKS = [
  { id: 'lexer', title: 'The lexer', text: 'Write it.\n\n```md\n## not: a task\n```', acceptance: '- It has tests.' },
  {
    id: 'parser',
    title: 'The parser',
    text: 'The parser',
    needs: ['lexer', 'ask'],
    reviews: false,
    role: 'implementer',
    verify: { command: 'npm test -- -t parser', timeoutMs: 600_000 },
  },
  { id: 'ask', title: 'Which grammar?', text: 'A or B?', kind: 'human' },
  { title: 'Clean up', text: 'Clean up' },
]

const YAML = `- id: lexer
  title: The lexer
  text: |
    Write it.

    \`\`\`md
    ## not: a task
    \`\`\`
  acceptance: [It has tests.]
- { id: parser, title: The parser, needs: [lexer, ask], reviews: false, role: implementer, verify: npm test -- -t parser }
- { id: ask, title: "Which grammar?", text: A or B?, kind: human }
- { title: Clean up }
`

const MARKDOWN = `# What is to be done

Words before the first task are for people.

## lexer: The lexer

Write it.

\`\`\`md
## not: a task
\`\`\`

### Acceptance

- It has tests.

## parser: The parser
needs: lexer, ask
reviews: no
role: implementer
verify: npm test -- -t parser

## ask: Which grammar? ##
kind: human
A or B?

## Clean up
`

test.each([
  ['a list', 'tasks.yaml', YAML],
  ['a list behind a comment', 'tasks.yml', `# mine\n\n---\n${YAML}`],
  ['a map', 'tasks.yaml', `tasks:\n${YAML.replaceAll(/^/gm, '  ')}`],
  ['Markdown', 'tasks.md', MARKDOWN],
  ['Markdown with CRLF', 'tasks.md', MARKDOWN.replaceAll('\n', '\r\n')],
])('the tasks are read from %s', async (_, name, text) => {
  expect(await readTasksOf(name, text)).toEqual(TASKS)
})

test('a task without a title has the first line of its text as title, truncated if it is long', async () => {
  expect(await readTasksOf('t.yaml', `- ${'x'.repeat(150)}`)).toMatch(/t.yaml:1: /)
  expect(await readTasksOf('t.yaml', `- text: ${'x'.repeat(150)}`)).toMatchObject([{ title: `${'x'.repeat(99)}…` }])
})

describe('a list in brackets', () => {
  const list = [
    { id: 'LIN-123', text: 'x', priority: 3 },
    { id: 'b', text: 'y', needs: ['LIN-123'] },
  ]
  const expected = [
    { id: 'LIN-123', title: 'x', text: 'x', priority: 3 },
    { id: 'b', title: 'y', text: 'y', needs: ['LIN-123'] },
  ]

  test.each([
    ['JSON', JSON.stringify(list)],
    ['JSON over lines', JSON.stringify(list, null, 2)],
    ['JSON with its key', JSON.stringify({ tasks: list })],
    ['YAML', '---\n# the tasks\n[{ id: LIN-123, text: x, priority: 3 },\n{ id: b, text: y, needs: LIN-123 }] # that is all\n'],
  ])('is read from %s', async (_, text) => {
    expect(await readTasksOf('t.json', text)).toEqual(expected)
  })

  test('with an error is refused with the line of the error', async () => {
    expect(await readTasksOf('t.json', '[\n  { "text": "x" },\n  { "txet": "y" }\n]')).toMatch(
      /^DIR\/t.json:3: unknown key `tasks.1.txet`; did you mean `text`\?$/,
    )
    expect(await readTasksOf('t.json', '[\n  { "text": "x" }\n')).toMatch(/^DIR\/t.json:\d: not valid YAML/)
  })
})

describe('agent, model and limits in Markdown', () => {
  test('equal those in YAML', async () => {
    const [written] = (await readTasksOf(
      't.yaml',
      '- { id: a, title: A, text: x, agent: careful, model: anthropic/claude-opus-4, limits: { budgetUsd: 2.5, budgetTokens: 500000, maxSteps: 80, timeout: 30m } }',
    )) as readonly unknown[]
    expect(written).toMatchObject({ limits: { budgetUsd: 2.5, budgetTokens: 500_000, maxSteps: 80, timeoutMs: 1_800_000 } })
    expect(
      await readTasksOf(
        't.md',
        '## a: A\nagent: careful\nmodel: anthropic/claude-opus-4\nlimits: budgetUsd=2.5, budgetTokens=500000 maxSteps=80, timeout=30m\nx\n',
      ),
    ).toEqual([written])
  })

  test.each([
    ['limits: 5', 'DIR/t.md:3: limits: expected limits such as budgetUsd=2, timeout=30m'],
    ['limits: budgetUsd=2 timeout', 'DIR/t.md:3: limits: expected limits such as budgetUsd=2, timeout=30m'],
    ['limits: budgetUsd=much', 'DIR/t.md:3: limits.budgetUsd: must be a number'],
    ['limits: timeout=5', 'DIR/t.md:3: limits.timeout: expected a duration such as 90s, 10m or 1h30m'],
    ['limits: budgett_usd=1', 'DIR/t.md:3: unknown key `limits.budgett_usd`; did you mean `budgetUsd`?'],
    ['limits: memory=1GiB', 'DIR/t.md:3: limits: a task has budgetUsd, budgetTokens, maxSteps and timeout, and no other limits'],
    ['limits: steps=3', 'DIR/t.md:3: unknown key `limits.steps`; known keys are budgetUsd, budgetTokens, maxSteps, timeout'],
  ])('%s is refused with its line', async (line, message) => {
    expect(await readTasksOf('t.md', `# Tasks\n## a: A\n${line}\nx\n`)).toBe(message)
  })
})

describe('the ids of issue trackers', () => {
  test('are valid, and a number may have a `#`', async () => {
    expect(
      await readTasksOf('t.yaml', '- { id: GH42, text: x }\n- { id: "#12", text: y, needs: [GH42] }\n- { id: 13, text: z, needs: "#12" }'),
    ).toMatchObject([{ id: 'GH42' }, { id: '12', needs: ['GH42'] }, { id: '13', needs: ['12'] }])
    expect(await readTasksOf('t.md', '## LIN-1: One\n\n## #12: Two\nneeds: LIN-1, #11\npriority: -2\n\n## #11: Three\n')).toMatchObject([
      { id: 'LIN-1' },
      { id: '12', needs: ['LIN-1', '11'], priority: -2 },
      { id: '11' },
    ])
  })

  test('are refused if two differ only in case', async () => {
    expect(await readTasksOf('t.yaml', '- { id: GH42, text: x }\n- { id: gh42, text: y }')).toBe(
      'DIR/t.yaml:2: tasks.1.id: the ids GH42 and gh42 differ only in case',
    )
  })
})

describe('an error has its file and line', () => {
  test.each([
    ['a misspelt key', 't.yaml', '- text: x\n- txet: y', /^DIR\/t.yaml:2: unknown key `tasks.1.txet`; did you mean `text`\?$/],
    [
      'a misspelt limit',
      't.yaml',
      '- text: x\n- { text: y, limits: { budgett_usd: 1 } }',
      'DIR/t.yaml:2: unknown key `tasks.1.limits.budgett_usd`; did you mean `budgetUsd`?',
    ],
    [
      'a misspelt limit in JSON',
      't.json',
      '[{ "text": "x",\n"limits": { "budgetUds": 1 } }]',
      'DIR/t.json:2: unknown key `tasks.0.limits.budgetUds`; did you mean `budgetUsd`?',
    ],
    [
      'an unknown limit',
      't.yaml',
      '- { text: y, limits: { money: 1 } }',
      'DIR/t.yaml:1: unknown key `tasks.0.limits.money`; known keys are budgetUsd, budgetTokens, maxSteps, timeout',
    ],
    [
      'a timeout without a unit',
      't.yaml',
      '- { text: y, limits: { timeout: 5 } }',
      'DIR/t.yaml:1: tasks.0.limits.timeout: expected a duration such as 90s, 10m or 1h30m',
    ],
    [
      'a timeout of a command without a unit',
      't.yaml',
      '- { text: y, verify: { command: x, timeout: 5 } }',
      'DIR/t.yaml:1: tasks.0.verify.timeout: expected a duration such as 90s, 10m or 1h30m, at most one day',
    ],
    [
      'a need for an unknown task',
      't.yaml',
      'tasks:\n  - { id: a, text: x }\n  - { text: y, needs: [b] }',
      'DIR/t.yaml:3: tasks.1.needs: there is no task `b`; there are a',
    ],
    ['an empty file', 't.yaml', '', /^DIR\/t.yaml:1: tasks: /],
    ['invalid YAML', 't.yaml', 'tasks: [', /^DIR\/t.yaml:1: not valid YAML: /],
    [
      'a file without a task',
      't.md',
      '# Only a title\n',
      'DIR/t.md:1: the file has no task: each task begins with a line `## Title` or `## id: Title`',
    ],
    ['an id that is used twice', 't.md', '## a: One\n\n## a: Two\n', 'DIR/t.md:3: the id a is used twice'],
    [
      'tasks that wait for each other',
      't.md',
      '## a: One\nneeds: b\n\n## b: Two\nneeds: a\n',
      'DIR/t.md:1: tasks wait for each other: a needs b needs a',
    ],
    ['an unknown kind', 't.md', '## a: One\nneeds: a\nkind: robot\n', /^DIR\/t.md:3: kind: must be one of work, human$/],
    [
      'a need for an unknown task in Markdown',
      't.md',
      '## a: One\n\ntext\n\n## Two\nneeds: b\n',
      'DIR/t.md:5: there is no task `b`; there are a',
    ],
  ])('%s', async (_, name, text, message) => {
    const found = await readTasksOf(name, text)
    if (typeof message === 'string') expect(found).toBe(message)
    else expect(found).toMatch(message)
  })

  test('unless the file is missing', async () => {
    await expect(readTasks('/nowhere/tasks.md')).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: '/nowhere/tasks.md: the file does not exist',
    })
  })
})
