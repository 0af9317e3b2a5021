// The text of the report of a crew for the user.
import { expect, test } from 'vitest'
import { crewReportText } from '../../../../src/cli/print/crew-report.ts'
import { unattributedUsage, toUsageView } from '../../../../src/daemon/crew/report.ts'
import type { CrewReportView, ReportGitView, ReportTaskView } from '../../../../src/api/views/crew-report.ts'

const timeAfter = (seconds: number): string => new Date(1_700_000_000_000 + seconds * 1_000).toISOString()
const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]

const makeTask = (changes: Partial<ReportTaskView>): ReportTaskView => ({
  id: 'task-1',
  kind: 'work',
  title: 'A lexer',
  state: 'done',
  needs: [],
  implementer: 'worker-1',
  implementers: ['worker-1'],
  reviewer: 'worker-2',
  attempts: 0,
  denials: 0,
  base: A,
  commit: B,
  merged: B,
  conflict: null,
  reason: null,
  byWord: null,
  addedAt: timeAfter(0),
  startedAt: timeAfter(1),
  endedAt: timeAfter(90),
  reviewers: ['worker-2'],
  tries: [{ member: 'worker-1', startedAt: timeAfter(1), endedAt: timeAfter(90), outcome: 'done', reason: null }],
  verdicts: [{ by: 'worker-2', at: timeAfter(60), verdict: 'APPROVED', comments: '' }],
  checks: [],
  note: null,
  usage: toUsageView({ inputTokens: 1_200, outputTokens: 300, costUsd: 0.2 }),
  workedMs: 70_000,
  waitedMs: 20_000,
  askedMs: 0,
  ...changes,
})

const git: ReportGitView = {
  branch: { name: 'reeve/fix', commit: C, commits: 2, base: A, taken: false },
  unmerged: [],
  salvaged: [],
  worktrees: [],
}

const makeReport = (changes: Partial<CrewReportView>): CrewReportView => {
  const { tasks = [makeTask({})] } = changes
  const usage = toUsageView({ inputTokens: 1_500, outputTokens: 300, costUsd: 0.25 })
  return {
    version: 1,
    uuid: '01920000-0000-7000-8000-0000000000ab',
    name: 'fix',
    status: 'completed',
    coordinator: 'engine',
    gate: 'auto',
    merge: 'auto',
    reviews: true,
    createdAt: timeAfter(0),
    exitedAt: timeAfter(100),
    elapsedMs: 100_000,
    ending: { outcome: 'completed', summary: 'all tasks are done' },
    tasks,
    git,
    problems: [],
    open: [],
    members: [
      {
        id: 'worker-1',
        role: 'generic',
        uuid: 'x',
        agent: 'default',
        model: 'anthropic/claude',
        status: 'retired',
        setup: null,
        leave: { how: 'retired', reason: '' },
        usage,
      },
    ],
    totals: {
      tasks: { done: tasks.length },
      commits: 1,
      attempts: 0,
      denials: 0,
      usage,
      apart: unattributedUsage(
        usage,
        tasks.map((task) => task.usage),
      ),
    },
    ...changes,
  }
}

test('the report shows one task completely', () => {
  expect(crewReportText(makeReport({})).join('\n')).toMatchInlineSnapshot(`
    "# Crew fix: completed

    1 of 1 task done, 1 commit, 1m 40s, $0.25.

    > all tasks are done

    Branch \`reeve/fix\`: 2 commits since \`aaaaaaaaaa\`, now at \`cccccccccc\`.

    ## For you

    Nothing is left to do.

    ## Tasks

    | Task | State | Implementer | Reviewer | Commit | Input | Output | Cache read | Cache write | Cost | Worked | Waited |
    | --- | --- | --- | --- | --- | --: | --: | --: | --: | --: | --: | --: |
    | task-1 | done | worker-1 | worker-2 | \`bbbbbbbbbb\` | 1.2k | 300 | 0 | 0 | $0.20 | 1m 10s | 20s |
    | about no task |  |  |  |  | 300 | 0 | 0 | 0 | $0.0500 |  |  |
    | **all** |  |  |  |  | 1.5k | 300 | 0 | 0 | $0.25 |  |  |

    ### task-1: A lexer

    done (began at \`aaaaaaaaaa\`)

    - worker-1: done after 1m 29s

    **APPROVED** by worker-2

    ## Members

    | Member | Role | Agent | Model | Status | Input | Output | Cache read | Cache write | Cost |
    | --- | --- | --- | --- | --- | --: | --: | --: | --: | --: |
    | worker-1 | generic | default | anthropic/claude | retired | 1.5k | 300 | 0 | 0 | $0.25 |"
  `)
})

test('the report shows a denial, a lost attempt, a conflict, a decision of the user, and inexact figures', () => {
  const troubledTask = makeTask({
    id: 'parser',
    title: 'Parse | `it`\n# now',
    state: 'waiting',
    implementers: ['worker-1', 'worker-3'],
    reviewers: [],
    needs: ['lexer'],
    attempts: 2,
    denials: 1,
    merged: null,
    conflict: 'task-9',
    reason: 'conflicts in *a.ts*',
    askedMs: 61_000,
    note: 'the author is reeve',
    usage: toUsageView({ costUsd: 0.01, unpriced: true, estimated: true }),
    tries: [
      { member: 'worker-1', startedAt: timeAfter(0), endedAt: timeAfter(5), outcome: 'requeued', reason: 'it was lost' },
      { member: 'worker-3', startedAt: timeAfter(6), endedAt: null, outcome: null, reason: null },
    ],
    verdicts: [{ by: null, at: timeAfter(3), verdict: 'DENIED', comments: 'two things:\n# tests\n\u001b[31mred' }],
  })
  const text = crewReportText(
    makeReport({
      tasks: [troubledTask],
      ending: null,
      status: 'waiting',
      git: null,
      problems: ['the repository /r is gone'],
      members: [],
      open: [
        { what: 'task-9 failed: `rm`', how: null },
        { what: 'a question', how: 'reeve answer fix' },
      ],
      totals: {
        tasks: { waiting: 1 },
        commits: 0,
        attempts: 2,
        denials: 1,
        usage: toUsageView({ unpriced: true, estimated: true }),
        apart: toUsageView({}),
      },
    }),
  )
  expect(text.join('\n')).toMatchInlineSnapshot(`
    "# Crew fix: waiting

    0 of 1 task done, 0 commits, 1 denial, 1 lost or failed attempt, 1m 40s, ~?.

    Not known: the repository /r is gone.

    ## For you

    - task-9 failed: \\\`rm\\\`
    - a question: \`reeve answer fix\`

    ## Tasks

    | Task | State | Implementer | Reviewer | Commit | Input | Output | Cache read | Cache write | Cost | Worked | Waited |
    | --- | --- | --- | --- | --- | --: | --: | --: | --: | --: | --: | --: |
    | parser | waiting | worker-1, worker-3 | - | \`bbbbbbbbbb\` in conflict: task-9 | 0 | 0 | 0 | 0 | ~$0.0100+ | 1m 10s | 20s |
    | about no task |  |  |  |  | 0 | 0 | 0 | 0 | $0.00 |  |  |
    | **all** |  |  |  |  | 0 | 0 | 0 | 0 | ~? |  |  |

    ### parser: Parse \\| \\\`it\\\` \\# now

    waiting: conflicts in \\*a.ts\\* (needs lexer; began at \`aaaaaaaaaa\`; the user was asked for 1m 01s)

    Note about its commit: the author is reeve.

    - worker-1: requeued after 5s: it was lost
    - worker-3: still has it

    **DENIED** by the user:

    > two things:
    > # tests
    > red

    A cost with \`+\`, or \`?\`: the price of some calls is unknown, so the cost is higher.

    A cost with \`~\`: some calls were cut off, so their cost is estimated."
  `)
})

test('a finished task without a change is marked, if the repository shows that', () => {
  const taskRows = (changes: Partial<ReportTaskView>, reportChanges: Partial<CrewReportView> = {}): string | undefined =>
    crewReportText(makeReport({ tasks: [makeTask({ commit: null, merged: null, ...changes })], ...reportChanges })).find((line) =>
      line.startsWith('| task-1'),
    )
  expect(taskRows({})).toContain('| worker-2 | changed nothing |')
  for (const otherChanges of [{ state: 'failed' }, { kind: 'human' }, { byWord: 'coordinator' }] as const)
    expect(taskRows(otherChanges)).toContain('| worker-2 | - |')
  expect(taskRows({}, { git: null })).toContain('| worker-2 | - |')
})

test('tasks that were only marked as done are counted separately', () => {
  const taskByWord = makeTask({
    id: 'b',
    implementer: null,
    implementers: [],
    tries: [],
    verdicts: [],
    commit: null,
    merged: null,
    base: null,
    reason: 'not needed',
    byWord: 'coordinator',
  })
  const text = crewReportText(
    makeReport({
      tasks: [makeTask({}), taskByWord],
      totals: { tasks: { done: 2 }, commits: 1, attempts: 0, denials: 0, usage: toUsageView({}), apart: toUsageView({}) },
    }),
  )
  expect(text[2]).toBe('2 of 2 tasks done (1 unchecked), 1 commit, 1m 40s, $0.00.')
})

test('the report shows the output of a setup command, after success and failure', () => {
  const [member] = makeReport({}).members
  if (!member) throw new Error('the report has no member')
  const setup = { at: timeAfter(1), ok: true, command: 'npm ci', code: 0, ms: 3_000, output: 'added 7 packages\n', copied: 0, skipped: [] }
  const setupText = (changes: Partial<typeof setup>): string =>
    crewReportText(makeReport({ members: [{ ...member, setup: { ...setup, ...changes } }] }))
      .slice(-4)
      .join('\n')
  expect(setupText({})).toBe('\nSetup of worker-1: npm ci took 3s\n\n> added 7 packages')
  expect(setupText({ ok: false, code: 1, output: 'no network' })).toBe('\nSetup of worker-1: npm ci failed (1) after 3s\n\n> no network')
  expect(
    crewReportText(
      makeReport({
        members: [{ ...member, setup: { ...setup, output: Array.from({ length: 50 }, (_, line) => `line ${line}`).join('\n') } }],
      }),
    )
      .slice(-21)
      .join('\n'),
  ).toMatch(/^> \[…\]\n> line 30\n[^]*> line 49$/)
})

test('the report of a crew without tasks is short', () => {
  expect(
    crewReportText(
      makeReport({
        tasks: [],
        members: [],
        git: null,
        totals: { tasks: {}, commits: 0, attempts: 0, denials: 0, usage: toUsageView({}), apart: toUsageView({}) },
      }),
    ).slice(0, 9),
  ).toEqual([
    '# Crew fix: completed',
    '',
    '0 of 0 tasks done, 0 commits, 1m 40s, $0.00.',
    '',
    '> all tasks are done',
    '',
    '## For you',
    '',
    'Nothing is left to do.',
  ])
})
