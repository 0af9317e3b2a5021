// The command line that started a crew, and the hint for a command that a crew refuses because it has ended.
import { describe, expect, test } from 'vitest'
import { continueHint, crewUpCommandLine } from '../../../../../src/daemon/crew/up/restart-command.ts'
import { parseCommandLine } from '../../../../../src/cli/input/args.ts'
import { CREW_VERBS } from '../../../../../src/cli/table/crew.ts'
import type { CrewUpBody } from '../../../../../src/api/views/crew-up.ts'
import type { Process } from '../../../../../src/kernel/model/process.ts'

const BODIES: readonly CrewUpBody[] = [
  { cwd: '/src/app', crew: 'fix' },
  { cwd: '/a b', name: "it's", tasks: '/a b/tasks.md', workers: 3, agent: 'claude', model: 'script:/w.yaml' },
  {
    cwd: '/x',
    workers: { implementer: 2, reviewer: 1 },
    coordinator: 'lead',
    gate: 'human',
    merge: 'leave',
    permissions: 'allow',
    maxAttempts: 2,
    maxWorkers: 5,
    reviews: false,
    worktrees: false,
    verify: { command: 'npm test' },
    limits: { budgetUsd: 2.5, budgetTokens: 1_000, timeoutMs: 60_000 },
  },
  { cwd: '/x', verify: false, file: '/x/other.yaml' },
  { cwd: '/x', setup: { command: 'npm ci' }, copy: ['.env', 'a b'] },
  { cwd: '/x', setup: false },
]

describe('the command line', () => {
  test('contains every field of the request', () => {
    expect(BODIES.map(crewUpCommandLine)).toEqual([
      'reeve crew up --cwd /src/app fix',
      "reeve crew up --cwd '/a b' --name 'it'\\''s' --tasks '/a b/tasks.md' --workers 3 --agent claude --model script:/w.yaml",
      "reeve crew up --cwd /x --workers implementer=2,reviewer=1 --coordinator lead --gate human --merge leave --permissions allow --max-attempts 2 --max-workers 5 --no-reviews --no-worktrees --verify 'npm test' --budget-usd 2.5 --budget-tokens 1000 --timeout 60000ms",
      'reeve crew up --cwd /x --file /x/other.yaml --verify off',
      "reeve crew up --cwd /x --setup 'npm ci' --copy .env --copy 'a b'",
      'reeve crew up --cwd /x --setup off',
    ])
  })

  test.each(BODIES)('of %j is accepted by the verb', (body) => {
    const commandWords =
      (crewUpCommandLine(body) ?? '')
        .match(/'(?:[^']|'\\'')*'|[^\s']+/g)
        ?.map((word) => word.replace(/^'([^]*)'$/, '$1').replaceAll("'\\''", "'")) ?? []
    const args = parseCommandLine(commandWords.slice(3), CREW_VERBS['crew']?.parts?.['up']?.flags ?? {}, false)
    expect([args.text('cwd'), args.text('name'), args.text('tasks'), args.words[0]]).toEqual([body.cwd, body.name, body.tasks, body.crew])
  })

  test.each<CrewUpBody>([
    { cwd: '/x', tasks: [{ text: 'x' }] },
    { cwd: '/x', coordinator: { agent: 'a' } },
    { cwd: '/x', handOver: null },
    { cwd: '/x', verify: { command: ['a', 'b'] } },
    { cwd: '/x', setup: { command: 'npm ci', timeoutMs: 5 } },
    { cwd: '/x', limits: { maxSteps: 3 } },
  ])('does not exist for %j', (body) => {
    expect(crewUpCommandLine(body)).toBeNull()
  })
})

describe('the hint', () => {
  const crewProcess = (spec: object, hasEnded: boolean): Process =>
    ({
      spec: { name: 'fix', crew: spec },
      crew: { ending: hasEnded ? { outcome: 'failed', summary: 's', ended: hasEnded } : null },
      retiredAt: null,
    }) as unknown as Process
  test.each<[string, Process, string, string]>([
    [
      'for a retry in a completed crew names the command that starts the crew again',
      crewProcess({ again: 'reeve crew up fix' }, true),
      'retry_task',
      '`reeve crew up fix` takes over the done tasks and does the rest.',
    ],
    [
      'for a retry in a crew that a program started names the call',
      crewProcess({}, true),
      'retry_task',
      'The same call of `crews.up` takes over the done tasks and does the rest.',
    ],
    [
      'for a reopening in a completed crew names the command that starts the crew again with `--stay`',
      crewProcess({ again: 'reeve crew up fix' }, true),
      'reopen_task',
      '`reeve crew up fix --stay -d` takes over the done tasks; then `reeve crew reopen fix lexer --comments …` reopens the task.',
    ],
    [
      'for a retry in a stopped crew names the command that resumes the crew',
      crewProcess({ again: 'reeve crew up fix' }, false),
      'retry_task',
      '`reeve crew resume fix` continues it; then repeat the command.',
    ],
  ])('%s', (_, process, message, hint) => {
    expect(continueHint(process, message, 'lexer')).toBe(hint)
  })
})
