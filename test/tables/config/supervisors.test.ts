// Supervisors and restart policies in files: every key, the defaults, and each mistake with its line.
import { expect, test } from 'vitest'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAgent } from '../../../src/config/agents/agent-file.ts'
import { findSupervisor } from '../../../src/config/config.ts'
import { pathsFrom } from '../../../src/config/paths.ts'
import { restartPolicyFrom, supervisorSpecFrom } from '../../../src/kernel/supervise/policy-from-config.ts'
import { testEnv } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'

async function readSupervisor(name: string, yaml: string): Promise<unknown> {
  await using dir = await tempDir()
  writeFileSync(join(dir.path, 'reeve.yaml'), yaml)
  try {
    return JSON.parse(
      JSON.stringify(await findSupervisor(name, dir.path, pathsFrom(testEnv(join(dir.path, 'home'))))).replaceAll(dir.path, 'DIR'),
    )
  } catch (error) {
    return (error as Error).message.replaceAll(dir.path, 'DIR')
  }
}

test('every key of a supervisor is read', async () => {
  expect(
    await readSupervisor(
      'team',
      `
supervisors:
  team:
    strategy: rest_for_one
    maxRestarts: 3
    window: 5m
    backoff: { initial: 2s, max: 1m, factor: 3 }
    limits: { budgetUsd: 20, timeout: 1h }
    children:
      - { id: server, command: [npm, run, dev], restart: always, cwd: web }
      - { id: tests, agent: tester, intent: "Keep them green.", restart: { type: on-failure, maxRestarts: 1 }, onComplete: fresh, limits: { budgetUsd: 5 }, worktree: true }
      - { id: night, supervisor: night }
  night: { children: [] }
`,
    ),
  ).toEqual({
    config: { strategy: 'rest_for_one', maxRestarts: 3, windowMs: 300_000, backoff: { initialMs: 2_000, maxMs: 60_000, factor: 3 } },
    limits: { budgetUsd: 20, timeoutMs: 3_600_000 },
    children: [
      { childId: 'server', argv: ['npm', 'run', 'dev'], restart: 'always', cwd: 'DIR/web' },
      {
        childId: 'tests',
        agent: 'tester',
        intent: 'Keep them green.',
        restart: { type: 'on-failure', maxRestarts: 1, onComplete: 'fresh' },
        limits: { budgetUsd: 5 },
        worktree: true,
        cwd: 'DIR',
      },
      { childId: 'night', supervisor: 'night', cwd: 'DIR' },
    ],
  })
})

test.each([
  ['an unknown supervisor', 'supervisors: { a: {} }', 'there is no supervisor `team` in DIR/reeve.yaml; there are a'],
  ['a file without supervisors', 'defaultAgent: x', 'reeve.yaml has no supervisors'],
  ['an unknown strategy', 'supervisors: { team: { strategy: all } }', /^DIR\/reeve.yaml:1: supervisors.team.strategy: /],
  [
    'an unknown key',
    'supervisors: { team: { maxRestart: 1 } }',
    'DIR/reeve.yaml:1: unknown key `supervisors.team.maxRestart`; did you mean `maxRestarts`?',
  ],
  [
    'a child that is an agent and a command',
    'supervisors: { team: { children: [{ id: a, agent: x, command: [y] }] } }',
    /agent and command at once/,
  ],
  ['a command with an intent', 'supervisors: { team: { children: [{ id: a, intent: x, command: [y] }] } }', /only an agent has an intent/],
  ['a repeated id', 'supervisors: { team: { children: [{ id: a }, { id: a }] } }', /the id a occurs twice/],
  ['a window without a unit', 'supervisors: { team: { window: 5 } }', /^DIR\/reeve.yaml:1: supervisors.team.window: /],
])('%s is refused', async (_, yaml, message) => {
  const result = await readSupervisor('team', yaml)
  if (typeof message === 'string') expect(String(result).endsWith(message), String(result)).toBe(true)
  else expect(result).toMatch(message)
})

test('an agent file may have a complete policy', () => {
  const parsed = parseAgent(
    '---\nrestart: { type: on-failure, maxRestarts: 10, window: 1h, backoff: { initial: 5s } }\n---\nWatch.',
    'watcher.md',
    'project',
  )
  expect(parsed).toMatchObject({
    ok: true,
    value: { restart: { type: 'on-failure', maxRestarts: 10, windowMs: 3_600_000, backoff: { initialMs: 5_000 } } },
  })
  expect(parseAgent('---\nrestart: sometimes\n---\nx', 'x.md', 'project')).toMatchObject({ ok: false, problem: { line: 2 } })
})

test('absent values have their defaults', () => {
  expect(restartPolicyFrom('on-failure')).toEqual({ type: 'transient' })
  expect(restartPolicyFrom({ type: 'always', backoff: { initialMs: 5 } })).toEqual({
    type: 'permanent',
    maxRestarts: 5,
    windowMs: 600_000,
    backoff: { initialMs: 5, maxMs: 60_000, factor: 2 },
  })
  expect(supervisorSpecFrom({ windowMs: 9 })).toEqual({
    strategy: 'one_for_one',
    maxRestarts: 5,
    windowMs: 9,
    backoff: { initialMs: 1_000, maxMs: 60_000, factor: 2 },
  })
})
