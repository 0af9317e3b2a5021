// What an action costs, as text: the rows of a dry run, and the line after the action.
import { expect, test } from 'vitest'
import { stakesLines, stakesSummary } from '../../../../../src/cli/print/details/stakes-text.ts'
import type { StakesView } from '../../../../../src/api/views/stakes.ts'

const NOW = Date.parse('2026-01-01T00:00:40Z')
const since = '2026-01-01T00:00:02Z'
const helper = { uuid: 'h', pid: 6, name: 'helper' }

const stakesView = (changes: Partial<StakesView> = {}): StakesView => ({
  version: 1,
  uuid: 'a',
  pid: 5,
  name: 'fix',
  status: 'working',
  action: 'stop',
  subtree: false,
  refused: null,
  inFlight: [],
  unrecorded: null,
  unmerged: [],
  queue: 0,
  messagesLost: 0,
  children: { goOn: [], end: [] },
  task: null,
  run: null,
  restart: 'stays',
  kept: { step: 43, resumable: true, worktree: null, salvage: null },
  notes: [],
  ...changes,
})

const FULL = stakesView({
  inFlight: [
    { uuid: 'a', what: 'bash npm\ttest', since, effect: 'once', becomes: 'interrupted' },
    { uuid: 'a', what: 'read a.ts', since: null, effect: 'read', becomes: 'repeated' },
  ],
  unrecorded: { files: 2, added: 10, removed: 3 },
  unmerged: [{ branch: 'reeve/fix', commits: 1 }],
  queue: 3,
  messagesLost: 1,
  children: { goOn: [helper], end: [helper, helper] },
  task: { id: 'lexer', becomes: 'awaiting_review', worker: 'worker-5' },
  run: { blocks: ['build', 'test'] },
  restart: 'comes back',
  kept: { step: 43, resumable: true, worktree: '/w', salvage: null },
  notes: ['It blocks SIGTERM.'],
})

test('a dry run has a row for each cost', () => {
  expect(stakesLines(FULL, NOW).join('\n')).toMatchInlineSnapshot(`
    "PID 5 (fix) would end
      in flight  bash npm test, for 38s: interrupted; it may or may not have happened
                 read a.ts: a resume makes it again
      files      2 files not recorded, +10 -3; they stay in the worktree
      branch     reeve/fix has 1 commit that no other branch has
      messages   3 messages queued, 1 lost
      children   end: PID 6 (helper), PID 6 (helper)
                 goes on: PID 6 (helper)
      task       lexer becomes awaiting review (worker-5)
      run        build, test cannot start any more
      restart    it is started again
      kept       43 steps, its worktree, \`reeve resume 5\` continues
      note       It blocks SIGTERM."
  `)
  expect(stakesLines(stakesView({ kept: { step: null, resumable: false, worktree: null, salvage: null } }), NOW)).toEqual([
    'PID 5 (fix) would end',
    '  kept       nothing to continue',
  ])
})

test('a refused action has its reason; a removal says where files without a commit are saved', () => {
  expect(stakesLines(stakesView({ refused: 'process 5 has ended' }), NOW)).toEqual(['PID 5 (fix): refused, because process 5 has ended'])
  const kept = { step: null, resumable: false, worktree: null, salvage: 'refs/reeve/salvage/a' }
  expect(stakesLines(stakesView({ action: 'remove', kept, unrecorded: { files: 1, added: 1, removed: 0 } }), NOW).join('\n'))
    .toMatchInlineSnapshot(`
      "PID 5 (fix) would be removed
        files      1 file not committed, +1 -0; they are saved to refs/reeve/salvage/a"
    `)
})

test('the line after an action says what was lost and what is kept; after the end of a plain command there is no line', () => {
  expect(stakesSummary(FULL, NOW)).toMatchInlineSnapshot(
    `"  interrupted: bash npm test, for 38s; 1 message lost; task lexer becomes awaiting review (worker-5); cannot start any more: build, test; kept: 43 steps, its worktree, \`reeve resume 5\` continues"`,
  )
  expect(stakesSummary(stakesView(), NOW)).toBe('  kept: 43 steps, `reeve resume 5` continues')
  const kept = { step: null, resumable: false, worktree: null, salvage: null }
  // The user asked for the end of the command, so that is not stated as a loss.
  const command = { uuid: 'a', what: 'the command make', since, effect: null, becomes: 'interrupted' } as const
  expect(stakesSummary(stakesView({ kept, inFlight: [command] }), NOW), 'a plain command').toBeNull()
})
