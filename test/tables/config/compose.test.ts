// The agents of a reeve.yaml: all keys of a node, and the message for each mistake with its line.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findCompose, loadConfig } from '../../../src/config/config.ts'
import { pathsFrom } from '../../../src/config/paths.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'

async function readPlan(yaml: string, chosen: readonly string[] = [], file?: string): Promise<unknown> {
  await using dir = await tempDir()
  writeFileSync(join(dir.path, 'reeve.yaml'), yaml)
  try {
    return JSON.parse(
      JSON.stringify(await findCompose(dir.path, file === undefined ? undefined : join(dir.path, file), chosen)).replaceAll(
        dir.path,
        'DIR',
      ),
    )
  } catch (error) {
    return (error as Error).message.replaceAll(dir.path, 'DIR')
  }
}

const namesIn = (plan: unknown): string[] => (plan as { nodes: { name: string }[] }).nodes.map(({ name }) => name)

test('every key of a node is read', async () => {
  expect(
    await readPlan(`
agents:
  plan:
    agent: architect
    model: anthropic/claude-sonnet-5
    intent: Plan it.
    permissions: allow
    allow: [read]
    deny: [bash]
    mcp: [github]
  build:
    intent: "Build this: {{ nodes.plan.result }}"
    depends_on: { plan: completed }
    limits: { budgetUsd: 2, timeout: 30m }
    retries: 2
    worktree: true
    cwd: app
  check: { command: [npm, test], depends_on: [build] }
`),
  ).toEqual({
    file: 'DIR/reeve.yaml',
    nodes: [
      {
        name: 'plan',
        needs: [],
        retries: 0,
        worktree: false,
        cwd: 'DIR',
        agent: 'architect',
        model: 'anthropic/claude-sonnet-5',
        intent: 'Plan it.',
        permissions: 'allow',
        allow: ['read'],
        deny: ['bash'],
        mcp: ['github'],
      },
      {
        name: 'build',
        needs: ['plan'],
        retries: 2,
        worktree: true,
        cwd: 'DIR/app',
        intent: 'Build this: {{ nodes.plan.result }}',
        limits: { budgetUsd: 2, timeoutMs: 1_800_000 },
      },
      { name: 'check', needs: ['build'], retries: 0, worktree: false, cwd: 'DIR', argv: ['npm', 'test'] },
    ],
  })
})

test('chosen nodes come with their dependencies, in the order of the file', async () => {
  const yaml = 'agents: { d: { intent: d, depends_on: [c] }, a: { intent: a }, b: { intent: b }, c: { intent: c, depends_on: [a] } }'
  expect(namesIn(await readPlan(yaml, ['c']))).toEqual(['a', 'c'])
  expect(namesIn(await readPlan(yaml, ['d', 'b']))).toEqual(['d', 'a', 'b', 'c'])
  expect(namesIn(await readPlan(yaml))).toEqual(['d', 'a', 'b', 'c'])
  expect(await readPlan(yaml, ['cc'])).toBe('there is no node `cc`; did you mean `c`?')
})

test.each([
  ['a file without agents', 'defaultAgent: x', 'DIR/reeve.yaml has no `agents`'],
  [
    'an unknown key',
    'agents:\n  a:\n    intent: x\n    retires: 1',
    'DIR/reeve.yaml:4: unknown key `agents.a.retires`; did you mean `retries`?',
  ],
  [
    'an unknown limit',
    'agents:\n  a:\n    intent: x\n    limits:\n      timout: 5m',
    'DIR/reeve.yaml:5: unknown key `agents.a.limits.timout`; did you mean `timeout`?',
  ],
  [
    'a duration without a unit',
    'agents:\n  a:\n    intent: x\n    limits: { timeout: "5" }',
    'DIR/reeve.yaml:4: agents.a.limits.timeout: expected a duration such as 90s, 10m or 1h30m',
  ],
  [
    'a dependency on an unknown node',
    'agents:\n  build: { intent: x }\n  test:\n    intent: y\n    depends_on:\n      biuld: completed',
    'DIR/reeve.yaml:6: agents.test.depends_on.biuld: there is no node `biuld`; did you mean `build`?',
  ],
  [
    'a dependency on an unknown node, in a list',
    'agents:\n  a: { intent: x }\n  b:\n    intent: y\n    depends_on:\n      - a\n      - zz',
    'DIR/reeve.yaml:7: agents.b.depends_on.1: there is no node `zz`; there are a, b',
  ],
  [
    'an unknown condition',
    'agents: { a: { intent: x }, b: { intent: y, depends_on: { a: started } } }',
    'DIR/reeve.yaml:1: agents.b.depends_on: expected { NODE: completed }, or a list of nodes',
  ],
  [
    'a cycle',
    'agents:\n  a: { intent: x, depends_on: [c] }\n  b: { intent: x, depends_on: [a] }\n  c: { intent: x, depends_on: [b] }',
    'DIR/reeve.yaml:2: agents.a.depends_on: a cycle: a needs c needs b needs a',
  ],
  ['a node that needs itself', 'agents:\n  a: { intent: x, depends_on: [a] }', 'DIR/reeve.yaml:2: agents.a.depends_on: a cycle: a needs a'],
  [
    'a result of a node that is not a dependency',
    'agents:\n  a: { intent: x }\n  b: { intent: "so: {{ nodes.a.result }}" }',
    'DIR/reeve.yaml:3: agents.b.intent: it refers to `a`, but does not depend on it: add it to `depends_on`',
  ],
  [
    'a result of the node itself',
    'agents: { a: { intent: "{{nodes.a.result}}" } }',
    'DIR/reeve.yaml:1: agents.a.intent: it refers to `a`, but does not depend on it: add it to `depends_on`',
  ],
  [
    'an unknown field of a result',
    'agents: { a: { intent: x }, b: { intent: "{{ nodes.a.output }}", depends_on: [a] } }',
    'DIR/reeve.yaml:1: agents.b.intent: a node has no `output`; it has result, uuid, cwd, branch',
  ],
  [
    'an incomplete reference',
    'agents: { a: { intent: x }, b: { intent: "{{ nodes.a }}", depends_on: [a] } }',
    'DIR/reeve.yaml:1: agents.b.intent: a result is written as {{ nodes.NAME.result }}',
  ],
  [
    'a result in a text for a shell',
    'agents:\n  a: { intent: x }\n  b:\n    depends_on: [a]\n    command: [sh, -c, "echo {{ nodes.a.result }}"]',
    /^DIR\/reeve.yaml:5: agents.b.command.2: a result must be an argument of its own, or a shell could run its text/,
  ],
  ['a node without intent and command', 'agents: { a: { agent: x } }', 'DIR/reeve.yaml:1: agents.a: it needs an `intent` or a `command`'],
  [
    'a node that is an agent and a command',
    'agents: { a: { agent: x, command: [y] } }',
    'DIR/reeve.yaml:1: agents.a: it is a command and an agent at once: use `command` without `agent` and `intent`',
  ],
  ['a negative number of retries', 'agents: { a: { intent: x, retries: -1 } }', 'DIR/reeve.yaml:1: agents.a.retries: must be at least 0'],
  ['an invalid name', 'agents: { "a b": { intent: x } }', /^DIR\/reeve.yaml:1: agents/],
  ['an empty map of agents', 'agents: {}', 'DIR/reeve.yaml:1: agents: expected 1 to 200 agents'],
  ['a list of agents', 'agents: [a]', 'DIR/reeve.yaml:1: agents: must be an object with keys and values'],
])('%s is refused with the line', async (_, yaml, message) => {
  const result = await readPlan(yaml)
  if (typeof message === 'string') expect(result).toBe(message)
  else expect(result).toMatch(message)
})

test('a result may come from an indirect dependency, and may be an argument; other braces stay', async () => {
  const plan = await readPlan(
    'agents: { a: { intent: "{{ user.name }}" }, b: { intent: x, depends_on: [a] }, c: { command: [echo, "{{ nodes.a.result }}"], depends_on: [b] } }',
  )
  expect(namesIn(plan)).toEqual(['a', 'b', 'c'])
})

test('the example of the documentation is valid', async () => {
  const [, example = ''] = /```yaml\n(# reeve.yaml\n[\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/reference/compose.md'), 'utf8')) ?? []
  expect(namesIn(await readPlan(example))).toEqual(['plan', 'build', 'docs', 'test'])
})

test('a missing file and a directory without a file are errors', async () => {
  expect(await readPlan('agents: { a: { intent: x } }', [], 'other.yaml')).toBe('DIR/other.yaml: the file does not exist')
  await using dir = await tempDir()
  await expect(findCompose(dir.path, undefined)).rejects.toThrow(/there is no reeve.yaml in/)
})

test('the agents are not a part of the configuration', async () => {
  await using dir = await tempDir()
  writeFileSync(
    join(dir.path, 'reeve.yaml'),
    'defaultAgent: x\nagents: { a: { intent: x } }\ncrews: { c: { workers: 1, tasks: [{ text: do it }] } }',
  )
  const config = await loadConfig({ paths: pathsFrom(testEnv(join(dir.path, 'home'))), cwd: dir.path })
  expect(config.defaultAgent).toBe('x')
  expect(config).not.toHaveProperty('agents')
})
