// Which actions a row allows, which of them end a wait, how an action is taken back, and where the cause of a wait is shown.
import { describe, expect, test } from 'vitest'
import type { RowView } from '../../../src/api/views/rows.ts'
import { allowsVerb, helpfulVerbs, isPauseUndone, isRowVerb, obstacleTo, undoOf, type RowVerb } from '../../../src/faces/row-verbs.ts'
import { limitLink, waitLink } from '../../../src/faces/wait-links.ts'
import { BIRTH, rowMap, rowOf } from '../../support/faces/rows.ts'

type Why = NonNullable<RowView['why']>
const VERBS: readonly RowVerb[] = [
  'pauseOrResume',
  'resumeWith',
  'pauseNow',
  'interrupt',
  'message',
  'raiseBudget',
  'fork',
  'stop',
  'kill',
  'markSeen',
  'snooze',
]
const why = (kind: Why['kind'], can?: Why['can'], on?: string): Why => ({
  kind,
  text: 'a reason',
  since: BIRTH,
  ...(can ? { can } : {}),
  ...(on === undefined ? {} : { on }),
})
const BUDGET = { limit: 'budgetUsd', used: 5, reserved: 0, of: 5, warnAt: 0.8 } as const
const ENDED = { state: 'dead', activity: null, endedAt: BIRTH, forks: 'no', why: null } as const
const held = (reason: Why, more: Partial<RowView> = {}): RowView =>
  rowOf({ status: 'suspended', why: reason, attention: 4, forks: 'no', ...more })

describe('a row allows', () => {
  test.each<[string, RowView, string]>([
    ['working', rowOf({ why: why('model', ['interrupt', 'stop']) }), 'pauseOrResume pauseNow interrupt message stop kill'],
    [
      'working with a budget',
      rowOf({ why: why('model', ['interrupt', 'stop']), budget: BUDGET }),
      'pauseOrResume pauseNow interrupt message stop kill',
    ],
    [
      'a plain command',
      rowOf({ kind: 'command', driver: 'command', forks: 'no', why: why('work', ['stop']) }),
      'pauseOrResume pauseNow stop kill',
    ],
    ['ready', rowOf({ status: 'ready', step: 2, why: why('message', ['send', 'stop']) }), 'pauseOrResume pauseNow message fork stop kill'],
    ['paused', held(why('hold:user', ['resume']), { attention: 0 }), 'pauseOrResume resumeWith message stop kill'],
    [
      'held by its budget',
      held(why('hold:budget', ['resume']), { budget: BUDGET }),
      'pauseOrResume resumeWith message raiseBudget stop kill snooze',
    ],
    ['waits for room in a budget', held(why('budget-room', []), { attention: 0 }), 'message stop kill'],
    ['held by a full disk', held(why('disk', ['doctor']), { attention: 0 }), 'message stop kill'],
    ['stopping', rowOf({ status: 'stopping', forks: 'no', why: why('stop', ['kill']) }), 'kill'],
    ['ended, with programs left', rowOf({ state: 'zombie', status: 'zombie', forks: 'no', why: why('guardian', ['kill']) }), 'kill'],
    ['ended, not gone yet', rowOf({ state: 'zombie', status: 'zombie', forks: 'no', why: why('guardian') }), ''],
    ['failed, not seen', rowOf({ ...ENDED, status: 'failed', attention: 3, unseen: true }), 'resumeWith markSeen snooze'],
    ['ended, and cannot go on', rowOf({ ...ENDED, status: 'completed', resumes: false }), ''],
    ['ended, with steps', rowOf({ ...ENDED, status: 'completed', forks: 'any step', step: 3 }), 'resumeWith fork'],
  ])('%s', (_, row, allowed) => {
    expect(VERBS.filter((verb) => allowsVerb(row, verb)).join(' ')).toBe(allowed)
  })
})

test.each<[string, RowView, string]>([
  [
    'a budget',
    held(why('hold:budget', ['resume']), { budget: BUDGET, unseen: true }),
    'raiseBudget pauseOrResume resumeWith stop markSeen snooze',
  ],
  [
    'its own budget, if the limit is known',
    held({ ...why('hold:budget', ['resume']), limit: 'budgetUsd' }, { budget: BUDGET }),
    'raiseBudget pauseOrResume resumeWith stop snooze',
  ],
  [
    'a limit without money',
    held({ ...why('hold:budget', ['resume']), limit: 'maxSteps' }, { budget: BUDGET }),
    'pauseOrResume resumeWith stop snooze',
  ],
  ['the budget of another process', held(why('hold:budget', ['resume'], 'c'), { budget: BUDGET }), 'pauseOrResume resumeWith stop snooze'],
  [
    'the budget of the home',
    held({ ...why('hold:budget', ['resume']), limit: 'dailyUsd' }, { budget: BUDGET }),
    'pauseOrResume resumeWith stop snooze',
  ],
  [
    'the budget of the home, after a restart of the daemon',
    held({ ...why('hold:budget', ['resume']), until: BIRTH }, { budget: BUDGET }),
    'pauseOrResume resumeWith stop snooze',
  ],
  ['a loop', held(why('hold:loop', ['resume', 'send', 'stop'])), 'pauseOrResume resumeWith message stop snooze'],
  ['a silence', rowOf({ attention: 2, why: why('model', ['interrupt', 'stop']) }), 'interrupt stop snooze'],
  ['a failure', rowOf({ ...ENDED, status: 'failed', attention: 3, unseen: true }), 'resumeWith markSeen snooze'],
])('what ends the need of %s', (_, row, verbs) => {
  expect(helpfulVerbs(row).join(' ')).toBe(verbs)
})

describe('taken back is', () => {
  const uuid = rowOf().uuid
  const GRANDPARENT = rowOf({ uuid: 'g' })
  const PARENT = rowOf({ uuid: 'p', under: 'g' })
  const PAUSED = { status: 'suspended' } as const
  const below: Partial<RowView> = { under: 'p' }

  test.each<[string, RowView, RowView[], string | null]>([
    ['a pause', rowOf(), [], 'resume {"subtree":true,"only":true}'],
    ['a pause, which releases nothing above', rowOf(below), [{ ...PARENT, ...PAUSED }], 'resume {"subtree":true,"only":true}'],
    ['a resume after a pause', held(why('hold:user'), below), [GRANDPARENT, PARENT], 'pause {"subtree":false}'],
    ['a resume after a pause with all below', held(why('hold:subtree', ['resume'], uuid)), [], 'pause {"subtree":true}'],
    ['no resume after a pause of a tree above', held(why('hold:subtree', ['resume'], 'another')), [], null],
    ['no resume that also wakes the parent', held(why('hold:user'), below), [GRANDPARENT, { ...PARENT, ...PAUSED }], null],
    ['no resume that also wakes the grandparent', held(why('hold:user'), below), [{ ...GRANDPARENT, ...PAUSED }, PARENT], null],
    [
      'no resume that also wakes the process above an ended parent',
      held(why('hold:user'), { parent: 'p', under: 'g' }),
      [{ ...GRANDPARENT, ...PAUSED }],
      null,
    ],
    ['no resume after a hold of its own', held(why('hold:loop', ['resume'])), [], null],
  ])('%s', (_, row, above, expected) => {
    const undo = undoOf(row, rowMap(row, ...above))
    expect(undo && `${undo.verb} ${JSON.stringify(undo.body)}`).toBe(expected)
  })

  test.each<[string, boolean, RowView[], RowView[]]>([
    ['a pause of several', true, [rowOf(), rowOf({ uuid: 'o' })], []],
    ['a pause of a process and of one below it', true, [PARENT, rowOf(below)], [GRANDPARENT]],
    ['no pause of a process that was held', false, [rowOf(), { ...PARENT, ...PAUSED }], []],
    ['no pause below a process that was held', false, [rowOf(below)], [{ ...GRANDPARENT, ...PAUSED }, PARENT]],
  ])('%s together', (_, expected, targets, above) => {
    expect(isPauseUndone(targets, rowMap(...targets, ...above))).toBe(expected)
  })
})

test('the cause of a wait is a process of the list, or a task of the crew above', () => {
  const crew = rowOf({ uuid: 'c', kind: 'crew', name: 'fix' })
  const worker = rowOf({ uuid: 'w', parent: 'c' })
  const rows = rowMap(crew, worker)
  const linkOf = (on?: string): string | null => waitLink({ ...worker, why: why('task', [], on) }, rows)?.address ?? null
  expect([linkOf('c'), linkOf('lexer'), linkOf('w'), linkOf()]).toEqual(['/p/c', '/p/c/board/lexer', null, null])
  expect(waitLink({ ...crew, why: why('node', [], 'gone') }, rows)).toBe(null)
  // A process that is not in the list is no task.
  expect(waitLink({ ...worker, why: why('hold:subtree', [], 'gone') }, rows)).toBe(null)
})

test.each<[string, Partial<Why>, string | null]>([
  ['its own', { limit: 'maxSteps' }, '/p/w/limits: Change its limit …'],
  ['not known after a restart of the daemon', {}, '/p/w/limits: Change its limit …'],
  ['of a process above', { limit: 'budgetUsd', on: 'c' }, '/p/c/limits: Change the limit of fix …'],
  ['of a process above that is not in the list', { limit: 'budgetUsd', on: 'gone' }, '/p/w/limits: See the limits above it'],
  ['of the home, after a restart of the daemon', { until: BIRTH }, '/cost: See the budget of the home'],
  ['of the home', { limit: 'monthlyUsd' }, '/cost: See the budget of the home'],
  ['none', { kind: 'hold:loop' }, null],
])('the way to a limit that holds a process and is %s', (_, cause, expected) => {
  const worker = rowOf({ uuid: 'w', parent: 'c', why: { ...why('hold:budget', ['resume']), ...cause } })
  const link = limitLink(worker, rowMap(rowOf({ uuid: 'c', kind: 'crew', name: 'fix' }), worker))
  expect(link && `${link.address}: ${link.text}`).toBe(expected)
})

describe('the words for what is not possible', () => {
  const COMPLETED = { status: 'completed', endedAt: BIRTH } as const
  const HELD = { status: 'suspended' } as const
  const STOPPING = { status: 'stopping' } as const

  test.each<[RowVerb, string, Partial<RowView>, string | null]>([
    ['pauseOrResume', 'working', {}, null],
    ['pauseOrResume', 'held by the disk', { ...HELD, why: why('disk', ['doctor']) }, 'fix waits for something that no resume ends'],
    ['pauseOrResume', 'ended', COMPLETED, 'fix has ended'],
    ['pauseOrResume', 'stopping', STOPPING, 'fix is being stopped'],
    ['resumeWith', 'paused', { ...HELD, why: why('hold:user', ['resume']) }, null],
    ['resumeWith', 'running', {}, 'fix runs: m writes a message'],
    ['resumeWith', 'held by the disk', { ...HELD, why: why('disk', ['doctor']) }, 'fix waits for something that no resume ends'],
    ['resumeWith', 'ended without a history', { ...COMPLETED, resumes: false }, 'fix cannot be resumed: it has no history to continue'],
    ['pauseNow', 'suspended', HELD, 'fix is suspended already'],
    ['interrupt', 'ready', { status: 'ready' }, 'fix has no turn that can be interrupted now'],
    ['message', 'a crew', { kind: 'crew' }, 'fix takes no messages: it is a crew'],
    ['message', 'ended', COMPLETED, 'fix has ended: R resumes it with a message'],
    ['message', 'ended for ever', { ...COMPLETED, resumes: false }, 'fix has ended'],
    ['raiseBudget', 'suspended', { ...HELD, budget: BUDGET }, null],
    ['raiseBudget', 'running', { budget: BUDGET }, 'fix runs: its budget can be raised while it is suspended; p pauses it'],
    ['raiseBudget', 'without a budget', HELD, 'fix has no budget in USD, or another limit is nearer'],
    ['fork', 'after a step', { step: 2 }, null],
    ['fork', 'in its first step', { step: 1 }, 'fix cannot be forked yet: it has finished no step'],
    ['fork', 'without a history', { step: 9, forks: 'no' }, 'fix cannot be forked: it has no history that another process can continue'],
    ['stop', 'stopping', STOPPING, 'fix is being stopped'],
    ['kill', 'ended', COMPLETED, 'fix has ended'],
    ['markSeen', 'seen', {}, 'fix has nothing that you have not seen'],
    ['snooze', 'not in need of the user', {}, 'fix needs nothing that can be put off'],
    ['snooze', 'asking', { attention: 6 }, null],
  ])('%s: a process that is %s', (verb, _, fields, expected) => {
    expect(obstacleTo(verb, rowOf({ name: 'fix', ...fields }))).toBe(expected)
  })

  test('only actions on processes have any', () => {
    expect([...VERBS, 'copyUuid', 'filter', 'toString'].filter((action) => !isRowVerb(action))).toEqual(['copyUuid', 'filter', 'toString'])
  })
})
