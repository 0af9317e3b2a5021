// The open items of a crew: what the user still has to do, with the commands for it. They follow from the crew's view and from
// git's report.
import { expect, test } from 'vitest'
import { openItems } from '../../../../src/daemon/crew/open-items.ts'
import type { ReportGitView } from '../../../../src/api/views/crew-report.ts'
import type { CrewTaskView, CrewView } from '../../../../src/api/views/crew.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'

const timeAfter = (seconds: number): string => new Date(1_700_000_000_000 + seconds * 1_000).toISOString()
const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]

const git: ReportGitView = {
  branch: { name: 'reeve/fix', commit: C, commits: 2, base: A, taken: false },
  unmerged: [],
  salvaged: [],
  worktrees: [],
}

type OpenTask = Pick<CrewTaskView, 'id' | 'title' | 'state' | 'reason'> & Partial<Pick<CrewTaskView, 'byWord' | 'merged'>>
const makeCrew = (tasks: readonly OpenTask[], changes: Partial<CrewView> = {}): CrewView =>
  ({
    uuid: 'x',
    name: 'fix',
    status: 'ready',
    asks: [],
    waitsFor: [],
    note: null,
    exitedAt: timeAfter(9),
    resumable: false,
    exit: { code: 0, reason: 'completed' },
    tasks,
    ...changes,
  }) as unknown as CrewView

test.each<[string, CrewView, ReportGitView | null, readonly string[]]>([
  [
    'a crew whose branch is merged',
    makeCrew([{ id: 'a', title: 'A', state: 'done', reason: null }]),
    { ...git, branch: { ...git.branch, taken: true } },
    [],
  ],
  [
    'an ended crew whose branch is not merged',
    makeCrew([]),
    git,
    ['reeve/fix has 2 commits that are not in your checkout: reeve merge fix'],
  ],
  ['a working crew, whose branch is not listed yet', makeCrew([], { exitedAt: null }), git, []],
  [
    'failed and unfinished tasks',
    makeCrew([
      { id: 'a', title: 'A', state: 'failed', reason: 'needs b, which failed' },
      { id: 'b', title: 'B', state: 'in_review', reason: null },
    ]),
    null,
    [
      'a (A) failed: needs b, which failed: -',
      'b (B) was not finished: it was in review: -',
      'start the crew again; tasks that are done stay done: reeve crew up fix',
    ],
  ],
  [
    'a crew that its time limit ended',
    makeCrew(
      [
        { id: 'a', title: 'A', state: 'failed', reason: 'denied 3 times' },
        { id: 'b', title: 'B', state: 'in_review', reason: null },
        { id: 'c', title: 'C', state: 'queued', reason: null },
      ],
      { resumable: true, exit: { code: 1, reason: 'timed out' } },
    ),
    {
      ...git,
      branch: { ...git.branch, commits: 0 },
      worktrees: [{ member: 'worker-2', uuid: '01920000-0000-7000-8000-0000000000ab', dir: '/w', branch: 'b' }],
    },
    [
      'its time limit ended it; not finished: b (in review), c (queued). Continue it, with the same time limit again: reeve crew resume fix',
      'a (A) failed: denied 3 times. When the crew continues: reeve crew retry fix a',
    ],
  ],
  [
    'a crew with `--stay` that was stopped',
    makeCrew([{ id: 'a', title: 'A', state: 'done', reason: null }], { resumable: true, exit: { code: 143, reason: 'SIGTERM from user' } }),
    null,
    ['it was stopped (SIGTERM from user). Continue it: reeve crew resume fix'],
  ],
  [
    'a task that was marked as done, with its reason',
    makeCrew([{ id: 'a', title: 'A', state: 'done', reason: 'answered in the thread', byWord: 'coordinator' }]),
    null,
    ['a (A) was marked as done by the coordinator, without a review or commit: answered in the thread: reeve crew show fix a'],
  ],
  [
    'a question',
    makeCrew([], {
      exitedAt: null,
      asks: [makeAskView({ text: 'May task-1 be committed?' })],
    }),
    null,
    ['May task-1 be committed?: reeve answer fix'],
  ],
  [
    'a crew that waits for the user, while some of its tasks wait for others',
    makeCrew(
      ['a', 'b', 'c'].map((id) => ({ id, title: id.toUpperCase(), state: 'queued', reason: null })),
      {
        exitedAt: null,
        waitsFor: [
          'a "A" waits for b',
          'a "A waits for b" waits for b, c',
          '3 tasks wait for b (a, c, d)',
          'a "A" waits for a worker',
          'b "A" is in review with worker-1, which is paused',
        ],
      },
    ),
    null,
    ['a "A" waits for a worker: -', 'b "A" is in review with worker-1, which is paused: -'],
  ],
  [
    'a held crew',
    makeCrew([], { exitedAt: null, status: 'suspended', note: 'paused: daemon-crash', waitsFor: ['a "A" waits for b'] }),
    null,
    ['paused: daemon-crash: reeve crew resume fix'],
  ],
  [
    "a commit on a task's branch and on a member's branch, which is listed once",
    makeCrew([]),
    {
      ...git,
      branch: { ...git.branch, commits: 0 },
      unmerged: [
        { name: 'reeve/fix.worker-1', commit: B, commits: 1 },
        { name: 'reeve/fix.task-1', commit: B, commits: 1 },
      ],
    },
    ['reeve/fix.task-1 has 1 commit that is not in reeve/fix: git merge reeve/fix.task-1'],
  ],
  [
    'an earlier attempt at a task that has landed, which must not be merged',
    makeCrew([
      { id: 'a', title: 'A', state: 'done', reason: null, merged: C },
      { id: 'a-b', title: 'B', state: 'done', reason: null, merged: null },
    ]),
    {
      ...git,
      branch: { ...git.branch, commits: 0 },
      unmerged: [
        { name: 'reeve/fix.a-2', commit: B, commits: 1 },
        { name: 'reeve/fix.a-b', commit: A, commits: 1 },
      ],
    },
    [
      'reeve/fix.a-2 has an earlier attempt at a; a has landed with other commits: git branch -D reeve/fix.a-2',
      'reeve/fix.a-b has 1 commit that is not in reeve/fix: git merge reeve/fix.a-b',
    ],
  ],
  [
    "a commit that only a worker's branch has, which must be read first because it is not approved",
    makeCrew([]),
    { ...git, branch: { ...git.branch, commits: 0 }, unmerged: [{ name: 'reeve/fix.worker-1', commit: B, commits: 1 }] },
    ['reeve/fix.worker-1 has 1 commit that is not in reeve/fix: git log -p reeve/fix..reeve/fix.worker-1'],
  ],
  [
    'files that were under review when the crew ended',
    makeCrew([]),
    {
      ...git,
      branch: { ...git.branch, commits: 0 },
      salvaged: [{ ref: 'refs/reeve/review/fix/a', commit: B, at: timeAfter(1), subject: 'x' }],
    },
    ['refs/reeve/review/fix/a has files that were reported but not committed: git show refs/reeve/review/fix/a'],
  ],
  [
    'files that were saved to a ref',
    makeCrew([]),
    {
      ...git,
      branch: { ...git.branch, commits: 0 },
      salvaged: [{ ref: 'refs/reeve/salvage/1', commit: B, at: timeAfter(1), subject: 'reeve: what was not committed' }],
    },
    ['refs/reeve/salvage/1 has files that were not committed: git show refs/reeve/salvage/1'],
  ],
  [
    'salvaged files, and a worktree that stays',
    makeCrew([], { exitedAt: null }),
    {
      ...git,
      salvaged: [{ ref: 'refs/reeve/salvage/fix/worker-1-1', commit: B, at: timeAfter(1), subject: 'reeve: what worker-1 left of a' }],
      worktrees: [{ member: 'worker-2', uuid: '01920000-0000-7000-8000-0000000000ab', dir: '/w', branch: 'b' }],
    },
    [
      'refs/reeve/salvage/fix/worker-1-1 has files that were not committed (what worker-1 left of a): git show refs/reeve/salvage/fix/worker-1-1',
      'worker-2 still has its worktree /w: reeve rm 000000ab',
    ],
  ],
])('what the user still has to do for %s', (_, view, gitView, expected) => {
  expect(openItems(view, gitView, 'reeve crew up fix').map(({ what, how }) => `${what}: ${how ?? '-'}`)).toEqual(expected)
})
