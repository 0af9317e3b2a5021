// Crews in files: every key, and each error with its line.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findCrew } from '../../../../src/config/config.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { testEnv } from '../../../support/env.ts'
import { tempDir } from '../../../support/tmp.ts'

async function readCrew(name: string | undefined, yaml: string, file?: string): Promise<unknown> {
  await using dir = await tempDir()
  writeFileSync(join(dir.path, file ?? 'reeve.yaml'), yaml)
  try {
    const options = {
      cwd: dir.path,
      paths: pathsFrom(testEnv(join(dir.path, 'home'))),
      ...(file === undefined ? {} : { file: join(dir.path, file) }),
    }
    return JSON.parse(JSON.stringify(await findCrew(name, options)).replaceAll(dir.path, 'DIR'))
  } catch (error) {
    return (error as Error).message.replaceAll(dir.path, 'DIR')
  }
}

test('every key of a crew is read', async () => {
  expect(
    await readCrew(
      'fix',
      `
crews:
  fix:
    coordinator: { agent: lead, model: anthropic/claude-opus-5-5, limits: { budgetUsd: 3 } }
    workers:
      implementer: 2
      reviewer: { count: 1, agent: claude, model: sonnet, permissions: allow, limits: { budgetUsd: 2, timeout: 1h }, verify: false }
    agent: coder
    model: ollama/qwen3
    permissions: ask
    limits: { budgetUsd: 20 }
    gate: human
    merge: leave
    reviews: false
    worktrees: true
    stay: true
    max_attempts: 2
    max_workers: 5
    hand_over: 0.8
    verify: { command: [npm, test], timeout: 90s }
    setup: npm ci
    copy: [.env, config/*.local]
    cwd: src
    tasks:
      - { id: lexer, title: The lexer, text: "Write it.", acceptance: [It has tests., They pass.] }
      - { text: "Use it\\nin the parser.", needs: lexer, reviews: false, role: researcher, verify: make }
      - { title: "Which one?", kind: human, needs: [lexer] }
`,
    ),
  ).toEqual({
    name: 'fix',
    file: 'DIR/reeve.yaml',
    crew: {
      coordinator: { agent: 'lead', model: 'anthropic/claude-opus-5-5', limits: { budgetUsd: 3 } },
      workers: {
        implementer: { count: 2 },
        reviewer: {
          count: 1,
          agent: 'claude',
          model: 'sonnet',
          permissions: 'allow',
          limits: { budgetUsd: 2, timeoutMs: 3_600_000 },
          verify: false,
        },
      },
      agent: 'coder',
      model: 'ollama/qwen3',
      permissions: 'ask',
      limits: { budgetUsd: 20 },
      gate: 'human',
      merge: 'leave',
      reviews: false,
      worktrees: true,
      stay: true,
      maxAttempts: 2,
      maxWorkers: 5,
      handOver: 0.8,
      verify: { command: ['npm', 'test'], timeoutMs: 90_000 },
      setup: { command: 'npm ci', timeoutMs: 600_000 },
      copy: ['.env', 'config/*.local'],
      cwd: 'DIR/src',
      tasks: [
        { id: 'lexer', title: 'The lexer', text: 'Write it.', acceptance: '- It has tests.\n- They pass.' },
        {
          title: 'Use it',
          text: 'Use it\nin the parser.',
          needs: ['lexer'],
          reviews: false,
          role: 'researcher',
          verify: { command: 'make', timeoutMs: 600_000 },
        },
        { title: 'Which one?', text: 'Which one?', kind: 'human', needs: ['lexer'] },
      ],
    },
  })
})

describe('a short form is read', () => {
  test.each([
    ['coordinator: engine', { coordinator: null }],
    ['coordinator: lead', { coordinator: { agent: 'lead' } }],
    ['workers: 3', { workers: { generic: { count: 3 } } }],
    ['workers: { reviewer: {} }', { workers: { reviewer: { count: 1 } } }],
    ['tasks: todo/tasks.md', { tasks: 'DIR/todo/tasks.md' }],
    ['hand_over: "off"', { handOver: null }],
    ['', {}],
  ])('%j', async (line, crew) => {
    expect(await readCrew(undefined, `crews: { x: { ${line} } }`)).toEqual({ name: 'x', file: 'DIR/reeve.yaml', crew })
  })
})

test('a crew is read from a named file', async () => {
  expect(await readCrew(undefined, 'crews: { only: { workers: 1 } }', 'my-crew.yaml')).toMatchObject({
    name: 'only',
    file: 'DIR/my-crew.yaml',
  })
})

test.each([
  ['a file with two crews, without a name,', undefined, 'crews: { a: {}, b: {} }', 'which crew? DIR/reeve.yaml has a, b'],
  ['an unknown crew', 'c', 'crews: { a: {}, b: {} }', 'there is no crew `c` in DIR/reeve.yaml; there are a, b'],
  ['a file without crews', undefined, 'defaultAgent: x', 'DIR/reeve.yaml has no crews'],
  ['an unknown key', 'a', 'crews:\n  a:\n    gates: auto', 'DIR/reeve.yaml:3: unknown key `crews.a.gates`; did you mean `gate`?'],
  ['an unknown gate', 'a', 'crews:\n  a:\n    gate: never', 'DIR/reeve.yaml:3: crews.a.gate: must be one of auto, coordinator, human'],
  [
    'an unknown role',
    'a',
    'crews:\n  a:\n    workers:\n      tester: 1',
    /DIR\/reeve.yaml:\d: .*generic, implementer, reviewer, researcher/,
  ],
  [
    'a misspelt key of a role',
    'a',
    'crews:\n  a:\n    workers:\n      reviewer: { cuont: 1 }',
    'DIR/reeve.yaml:4: unknown key `crews.a.workers.reviewer.cuont`; did you mean `count`?',
  ],
  [
    'a misspelt limit',
    'a',
    'crews:\n  a:\n    limits: { budgetUds: 1 }',
    'DIR/reeve.yaml:3: unknown key `crews.a.limits.budgetUds`; did you mean `budgetUsd`?',
  ],
  [
    'a misspelt key of the coordinator',
    'a',
    'crews:\n  a:\n    coordinator: { agnet: x }',
    'DIR/reeve.yaml:3: unknown key `crews.a.coordinator.agnet`; did you mean `agent`?',
  ],
  [
    'a misspelt limit of a task',
    'a',
    'crews:\n  a:\n    tasks:\n      - { text: x, limits: { budgett_usd: 1 } }',
    'DIR/reeve.yaml:4: unknown key `crews.a.tasks.0.limits.budgett_usd`; did you mean `budgetUsd`?',
  ],
  [
    'a misspelt key of a task',
    'a',
    'crews:\n  a:\n    tasks:\n      - { txt: x }',
    'DIR/reeve.yaml:4: unknown key `crews.a.tasks.0.txt`; did you mean `text`?',
  ],
  [
    'a need for an unknown task',
    'a',
    'crews:\n  a:\n    tasks:\n      - { id: lexer, text: x }\n      - { text: y, needs: lexr }',
    'DIR/reeve.yaml:5: crews.a.tasks.1.needs: there is no task `lexr`; did you mean `lexer`?',
  ],
  [
    'a cycle of tasks',
    'a',
    'crews:\n  a:\n    tasks:\n      - { id: a, text: x, needs: b }\n      - { id: b, text: y, needs: a }',
    'DIR/reeve.yaml:4: crews.a.tasks.0.needs: tasks wait for each other: a needs b needs a',
  ],
  [
    'a repeated id',
    'a',
    'crews:\n  a:\n    tasks:\n      - { id: a, text: x }\n      - { id: a, text: y }',
    'DIR/reeve.yaml:5: crews.a.tasks.1.id: the id a is used twice',
  ],
  [
    'a task without a text',
    'a',
    'crews:\n  a:\n    tasks:\n      - { id: a }',
    'DIR/reeve.yaml:4: crews.a.tasks.0: a task needs a text or a title',
  ],
  ['a number of workers above the limit', 'a', 'crews:\n  a:\n    workers: 51', /DIR\/reeve.yaml:3: crews.a.workers: /],
])('%s is refused with its place', async (_, name, yaml, message) => {
  const result = await readCrew(name, yaml)
  if (typeof message === 'string') expect(result).toBe(message)
  else expect(result).toMatch(message)
})
