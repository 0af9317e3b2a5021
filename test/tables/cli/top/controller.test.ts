// What each key of `reeve top` does, with a few rows and needs.
import { beforeEach, describe, expect, test } from 'vitest'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import type { AskView } from '../../../../src/api/views/process.ts'
import type { RowView } from '../../../../src/index.ts'
import { Controller } from '../../../../src/cli/top/controller.ts'
import type { Outcome } from '../../../../src/cli/top/dialogs.ts'
import { TopModel } from '../../../../src/cli/top/model.ts'
import { rowOf } from '../../../support/faces/rows.ts'

const SUMS = { live: 4, working: 3, asking: 1, held: 0, failed: 0, todayUsd: 1.5, reservedUsd: 0 }
const uuidOf = (pid: number): string => `01a20000-0000-7000-8000-00000000000${pid}`
type Why = NonNullable<RowView['why']>
const why = (kind: Why['kind'], can: NonNullable<Why['can']>): Why => ({ kind, text: kind, since: '', can })
const BUDGET = { limit: 'budgetUsd', used: 4, reserved: 0, of: 5, warnAt: 0.8 } as const
const ROWS: readonly RowView[] = [
  rowOf({ uuid: uuidOf(1), pid: 1, name: 'fix', kind: 'crew', step: 7, why: why('work', ['interrupt']) }),
  rowOf({
    uuid: uuidOf(2),
    pid: 2,
    name: 'fix.worker',
    parent: uuidOf(1),
    asks: 1,
    attention: 6,
    step: 3,
    unseen: true,
    why: why('ask', ['answer']),
  }),
  rowOf({ uuid: uuidOf(3), pid: 3, name: 'helper', parent: uuidOf(2) }),
  rowOf({
    uuid: uuidOf(4),
    pid: 4,
    name: 'docs',
    status: 'suspended',
    forks: 'no',
    budget: BUDGET,
    attention: 4,
    why: why('hold:user', ['resume']),
  }),
  rowOf({ uuid: uuidOf(5), pid: 5, name: 'old', status: 'completed', endedAt: '2026-11-20T10:01:00.000Z' }),
]

const option = (kind: AskView['options'][number]['kind']): AskView['options'][number] => ({ id: kind, name: kind.replace('_', ' '), kind })
const ASK = { id: 'q1', hash: 'h1', text: 'bash: git push', options: [option('allow_once'), option('reject_once')] } as unknown as AskView
const needOf = (pid: number, ask: AskView | null = null): NeedView =>
  ({
    id: `n${pid}${ask?.id ?? ''}`,
    uuid: uuidOf(pid),
    pid,
    name: `p${pid}`,
    kind: ask ? 'command' : 'hold',
    title: 'git push',
    ask,
  }) as unknown as NeedView

let model: TopModel
let controller: Controller
let mono: number

beforeEach(() => {
  mono = 1_000
  model = new TopModel()
  model.onRows({ type: 'reset', cursor: 'a.1', seq: 1, now: '2026-11-20T10:02:00.000Z', rows: ROWS, sums: SUMS, needs: [] }, mono, 0)
  model.onNeeds([needOf(2, ASK), needOf(4)], mono)
  controller = new Controller(model, () => mono)
  mono += 1_000
})

const NAMES: Readonly<Record<string, string>> = {
  Up: 'up',
  Down: 'down',
  Left: 'left',
  Right: 'right',
  Esc: 'escape',
  Enter: 'return',
  Tab: 'tab',
}

/** Types keys, given with spaces between them; `␣` is the space key. Returns what the last one gave. */
function type(keys: string): Outcome | null {
  let outcome: Outcome | null = null
  for (const key of keys.split(' ')) {
    const name = NAMES[key]
    outcome = controller.onKey(
      name === undefined ? { sequence: key === '␣' ? ' ' : key, ...(key === '␣' ? { name: 'space' } : {}) } : { name },
    )
  }
  return outcome
}

/** Types keys, and loads the evidence into the panel before the last one. Returns the command line of the action that the last one gave. */
function commandOf(keys: string): string | null {
  const last = keys.lastIndexOf(' ')
  if (last > 0) type(keys.slice(0, last))
  model.peekContent = { key: model.peekKey, lines: ['evidence'] }
  const outcome = type(keys.slice(last + 1))
  return outcome?.type === 'action' ? outcome.action.command : null
}

const selectedName = (): string | null | undefined => model.selectedRow?.name
const visibleNames = (): (string | null | undefined)[] => model.lines().map(({ uuid }) => model.rows.get(uuid)?.name)

describe('moving', () => {
  test.each([
    ['j', 'fix.worker'],
    ['Down Down', 'helper'],
    ['G', 'docs'],
    ['G g g', 'fix'],
    ['j j h', 'fix.worker'],
    ['2', 'docs'],
    ['n', 'fix.worker'],
    ['N', 'docs'],
    ['n n n', 'fix.worker'],
  ])('the keys %s select %s', (keys, expected) => {
    type(keys)
    expect(selectedName()).toBe(expected)
  })

  test('rows fold and unfold; a need below a fold is shown', () => {
    type('h')
    expect(visibleNames()).toEqual(['fix', 'docs'])
    type('1')
    expect([visibleNames(), selectedName(), model.shownTab]).toEqual([['fix', 'fix.worker', 'helper', 'docs'], 'fix.worker', 'need'])
    type('g g - -')
    expect(visibleNames()).toEqual(['fix', 'docs'])
    type('*')
    expect(visibleNames()).toHaveLength(4)
  })

  test('ended processes that do not need the user are shown on request', () => {
    type('e')
    expect(visibleNames()).toContain('old')
    type('e')
    expect(visibleNames()).not.toContain('old')
  })

  test('the filter applies while it is typed, and Esc brings the old one back', () => {
    type('/ d o')
    expect(visibleNames()).toEqual(['docs'])
    type('Esc')
    expect(visibleNames()).toHaveLength(4)
    type('/ d o c Enter')
    expect([model.dialog, visibleNames()]).toEqual([null, ['docs']])
    type('Esc')
    expect(visibleNames()).toHaveLength(4)
  })
})

describe('Tab', () => {
  const backTab = (): unknown => controller.onKey({ name: 'tab', shift: true, sequence: '\x1b[Z' })

  test('moves between the table, the needs and the panel, in which the keys of a list then move', () => {
    type('Tab')
    expect([model.area, model.selectedNeed?.id, model.shownTab]).toEqual(['needs', 'n2q1', 'need'])
    type('j')
    expect(selectedName()).toBe('docs')
    type('j k')
    expect(selectedName(), 'the last need is an end').toBe('fix.worker')
    type('Tab')
    expect(model.area).toBe('peek')
    model.peekContent = { key: model.peekKey, lines: Array<string>(50).fill('line') }
    type('j j')
    expect([model.peek?.scroll, selectedName()]).toEqual([2, 'fix.worker'])
    type('Right')
    expect(model.shownTab).toBe('steps')
    type('Tab')
    expect(model.area).toBe('table')
    backTab()
    expect(model.area).toBe('peek')
  })

  test('skips what is not on the screen', () => {
    model.onNeeds([], mono)
    expect([type('Tab'), model.area, model.notice?.text]).toEqual([null, 'table', 'no other part is shown; Space opens the panel'])
    type('␣ Tab')
    expect(model.area).toBe('peek')
    type('Esc')
    expect([model.area, model.peek]).toEqual(['table', null])
    type('␣')
    expect(model.area, 'a panel that opens does not take the keys').toBe('table')
  })

  test('Esc returns from the needs to the table', () => {
    type('Tab Esc')
    expect([model.area, model.shownTab]).toEqual(['table', 'need'])
  })

  test('moves between the choices of a question, and Enter chooses', () => {
    type('1 r')
    expect(type('Enter'), 'nothing is selected yet').toBeNull()
    type('Tab Tab')
    expect(model.dialog?.command).toBe('reeve answer p2 2')
    backTab()
    expect(commandOf('Enter')).toBe('reeve answer p2 1')
  })

  test('moves between the results of the palette', () => {
    type(': f i x Tab Enter')
    expect(selectedName()).toBe('fix.worker')
  })
})

describe('while the daemon does not answer', () => {
  test.each(['p', 's', 'm', 'f', 'R', 'G Z', 'w', '.', '1 a'])('the keys %s request nothing', (keys) => {
    mono += 12_000
    expect([commandOf(keys), model.dialog, model.notice?.text]).toEqual([
      null,
      null,
      'nothing was done: the daemon has not answered for 13s',
    ])
  })

  test.each([
    [40_000, '41s'],
    [7_200_000, '2h 00m'],
    [93_600_000, '1d 2h'],
  ])('for %i ms, keys still request nothing, until the daemon answers again', (ms, expected) => {
    model.isLinkUp = false
    mono += ms
    expect([commandOf('i'), model.notice?.text]).toEqual([null, `nothing was done: the daemon has not answered for ${expected}`])
    model.onRows({ type: 'alive', cursor: 'a.1', seq: 1, now: '2026-11-21T10:02:00.000Z' }, mono, 0)
    expect(commandOf('i')).toBe('reeve kill -s INT fix')
  })

  test('a text that was typed stays, and is sent when the daemon answers again', () => {
    type('j m h i')
    model.isLinkUp = false
    expect(commandOf('Enter')).toBeNull()
    expect([model.dialog?.editor?.text, model.notice?.text]).toEqual(['hi', 'nothing was done: the daemon has not answered for 1s'])
    model.isLinkUp = true
    expect(commandOf('Enter')).toBe('reeve send fix.worker hi')
  })

  test('the screen can be moved in, and left', () => {
    mono += 12_000
    type('j ␣ Tab Tab ?')
    expect([selectedName(), model.dialog?.title]).toEqual(['fix.worker', 'keys'])
    type('Esc')
    expect(type('q')).toEqual({ type: 'leave' })
  })
})

describe('with --read-only', () => {
  beforeEach(() => {
    model.isReadOnly = true
  })

  test.each(['p', 'P', 's', 'K', 'j m', 'f', 'i', 'G b', 'G R', 'G L', 'Z', 'w', 'j .', '1 a', '1 A', '1 d', '1 D', '1 r'])(
    'the keys %s change nothing',
    (keys) => {
      expect([commandOf(keys), model.dialog, model.notice?.text]).toEqual([
        null,
        null,
        'nothing was done: this screen only reads (--read-only)',
      ])
    },
  )

  test('the help and the palette have only what works', () => {
    type('?')
    const help = model.dialog?.lines.join('\n') ?? ''
    expect([help.includes('filter'), help.includes('kill'), help.includes('resume')]).toEqual([true, false, false])
    type('q : p a u s e')
    expect(model.dialog?.lines).toEqual(['  nothing has this name'])
  })

  test('what only the screen does works, and so do copies', () => {
    type('j ␣')
    expect(model.shownTab).toBe('need')
    type('x')
    expect(model.tagged.size).toBe(1)
    type('g g')
    expect(type('Y')).toEqual({ type: 'copy', text: uuidOf(1) })
  })
})

describe('the commands of actions', () => {
  test.each([
    ['p', 'reeve pause --subtree fix'],
    ['G p', 'reeve resume --subtree docs'],
    ['x x p', 'reeve pause --subtree fix fix.worker'],
    ['G x g g x p', 'reeve pause --subtree docs fix'],
    ['P', 'reeve pause --subtree --now fix'],
    ['i', 'reeve kill -s INT fix'],
    ['1 a', 'reeve answer p2 1'],
    ['1 d', 'reeve answer p2 2'],
    ['1 r 2', 'reeve answer p2 2'],
    ['j m h i Enter', 'reeve send fix.worker hi'],
    ['G b 5 Enter', 'reeve resume --budget-usd +5 docs'],
    ['f Enter', 'reeve resume fix --fork --from-step 6'],
    ['z [ [ f Enter', 'reeve resume fix --fork --from-step 5'],
    ['G x g g x p', 'reeve pause --subtree docs fix'],
    ['e G x g g x P', 'reeve pause --subtree --now fix'],
    ['G R g o Enter', 'reeve resume --message go docs'],
    ['j .', 'reeve needs --seen fix.worker'],
    ['w', 'reeve open fix'],
    ['G Z Enter', 'reeve needs --snooze 1h docs'],
    ['x x G x Z Enter', 'reeve needs --snooze 1h fix.worker; reeve needs --snooze 1h docs'],
    ['G L 2 0 Enter', 'reeve resume --max-steps +20 docs'],
  ])('the keys %s give `%s`', (keys, expected) => {
    expect(commandOf(keys)).toBe(expected)
    expect(model.dialog).toBeNull()
  })

  test.each([
    ['1 A', 'the question has no such option; r lists its options'],
    ['a', 'the selected process asks nothing; n goes to the next question'],
    ['L', 'fix runs: p pauses it, and then L changes a limit'],
    ['G f', 'docs cannot be forked: it has no history that another process can continue'],
    ['R', 'fix runs: m writes a message'],
    ['m', 'fix takes no messages: it is a crew'],
    ['e G m', 'old has ended: R resumes it with a message'],
    ['Z', 'fix needs nothing that can be put off'],
    ['e G K', 'old has ended'],
    ['G P', 'docs is suspended already'],
    ['b', 'fix has no budget in USD, or another limit is nearer'],
  ])('the keys %s give no action, but the reason: %s', (keys, expected) => {
    const last = keys.lastIndexOf(' ')
    if (last > 0) type(keys.slice(0, last))
    model.peekContent = { key: model.peekKey, lines: ['evidence'] }
    expect([type(keys.slice(last + 1)), model.notice?.text]).toEqual([null, expected])
  })

  test.each(['G b x Enter', 'G b Enter', 'j m Enter', 'G L Enter', 'G Z x Enter'])('after the keys %s the dialog stays open', (keys) => {
    expect(commandOf(keys)).toBeNull()
    expect(model.dialog).not.toBeNull()
  })
})

describe('a key that is pressed again before its action has an answer', () => {
  test.each([
    ['i', 'i', 'reeve kill -s INT fix'],
    ['p', 'p', 'reeve pause --subtree fix'],
    ['1 a', 'a', 'reeve answer p2 1'],
    ['f Enter', 'f Enter', 'reeve resume fix --fork --from-step 6'],
  ])('%s and then %s request it once', (keys, again, command) => {
    expect(commandOf(keys)).toBe(command)
    expect([commandOf(again), model.notice?.text]).toEqual([null, `not requested again: ${command} has no answer yet`])
    if (model.dialog) type('Esc')
    // `reeve top` removes it when the daemon has answered.
    model.underWay.delete(command)
    expect(commandOf(again)).toBe(command)
  })

  test('another process can be interrupted meanwhile', () => {
    expect(commandOf('i')).toBe('reeve kill -s INT fix')
    expect(commandOf('j j P')).toBe('reeve pause --subtree --now helper')
  })
})

test('a question that has just appeared takes no key', () => {
  model.onNeeds([], mono)
  model.onNeeds([needOf(2, ASK)], mono)
  expect(commandOf('1 a')).toBeNull()
  mono += 400
  expect(commandOf('a')).toBe('reeve answer p2 1')
})

test('each of several questions of one process can be selected', () => {
  const other = { ...ASK, id: 'q2', hash: 'h2' }
  model.onNeeds([needOf(2, ASK), needOf(2, other)], mono)
  mono += 1_000
  type('2')
  expect([model.selectedNeed?.ask?.id, selectedName()]).toEqual(['q2', 'fix.worker'])
  type('n')
  expect(model.selectedNeed?.ask?.id).toBe('q1')
  type('n')
  expect(model.selectedNeed?.ask?.id).toBe('q2')
})

test('an answer needs its evidence on the screen', () => {
  type('1')
  expect([type('a'), model.notice?.text]).toEqual([null, 'this is what it asks: press the key again'])
  model.peekContent = { key: model.peekKey, lines: ['evidence'] }
  model.onNeeds([needOf(2, { ...ASK, hash: 'changed' })], mono - 1_000)
  expect(type('a'), 'the question has changed').toBeNull()
})

test('a pasted text presses no keys, but an input field takes it', () => {
  controller.onKey({ name: 'paste-start' })
  expect([type('p q x'), model.tagged.size]).toEqual([null, 0])
  controller.onKey({ name: 'paste-end' })
  type('j m')
  controller.onKey({ name: 'paste-start' })
  type('h i')
  controller.onKey({ name: 'paste-end' })
  expect(commandOf('Enter')).toBe('reeve send fix.worker hi')
})

test('a key after g that opens no page counts alone', () => {
  expect(type('g q')).toEqual({ type: 'leave' })
})

describe.each([
  ['s', 'stop', 'reeve kill --subtree --grace 10s fix'],
  ['K', 'kill', 'reeve kill --subtree -s KILL fix'],
])('the key %s, to %s a process,', (key, how, command) => {
  test('shows the costs first, and y confirms after a short time', () => {
    const outcome = type(key)
    expect(outcome).toMatchObject({ type: 'stakes', how, rows: [{ name: 'fix' }] })
    if (outcome?.type !== 'stakes') throw new Error('no request for the costs')
    mono += 1_000
    expect(type('y'), 'before the costs are known').toBeNull()
    outcome.dialog.stakes = ['3 steps']
    expect(type(key), 'the key that opened the dialog').toBeNull()
    expect(commandOf('y')).toBe(command)
    expect(model.dialog).toBeNull()
  })

  test('opens a dialog that takes no key that was meant for something else', () => {
    const outcome = type(key)
    if (outcome?.type === 'stakes') outcome.dialog.stakes = ['3 steps']
    expect(type('y')).toBeNull()
    expect(type('Esc')).toBeNull()
    expect(model.dialog).toBeNull()
  })
})

describe('z shows the steps one by one', () => {
  const shownStep = (): number | null | undefined => model.peek?.at
  test('with [ and ], from the last one to the first', () => {
    type('z')
    expect([model.shownTab, shownStep()]).toEqual(['steps', 7])
    type(']')
    expect(shownStep()).toBe(7)
    type('[ [')
    expect(shownStep()).toBe(5)
    type('[ [ [ [ [ [ [')
    expect(shownStep()).toBe(1)
    type('z ]')
    expect([model.shownTab, shownStep()], 'now, and the next tab').toEqual(['diff', null])
  })

  test('with { and } by the steps that changed files', () => {
    type('z')
    model.peekContent = { key: model.peekKey, lines: [], edits: [2, 4] }
    type('{')
    expect(shownStep()).toBe(4)
    type('{ }')
    expect(shownStep()).toBe(4)
    type('}')
    expect([shownStep(), model.notice?.text]).toEqual([4, 'no other step in this direction changed files; z shows steps one by one'])
  })

  test('another process is shown as it is now, and Esc returns to now', () => {
    type('z Esc')
    expect([model.shownTab, shownStep()]).toEqual(['steps', null])
    type('z j')
    expect(shownStep()).toBeNull()
    type('j')
    expect([type('z'), model.notice?.text]).toEqual([null, 'helper has no steps'])
  })
})

test('the palette offers what is possible for the selected process', () => {
  type('G : f o r k')
  expect(model.dialog?.lines).toEqual(['  nothing has this name'])
})

test('the palette finds a command and a process by parts of their names', () => {
  expect(commandOf(': p a u s e Enter')).toBe('reeve pause --subtree fix')
  type(': h e l p e r Enter')
  expect(selectedName()).toBe('helper')
})

test('the selection stays in its place when its row disappears, and the tags of such rows are removed', () => {
  type('j x')
  expect([selectedName(), [...model.tagged]]).toEqual(['helper', [uuidOf(2)]])
  model.onRows({ type: 'rows', cursor: 'a.2', seq: 2, up: [], gone: [uuidOf(2), uuidOf(3)] }, mono, 0)
  expect([selectedName(), [...model.tagged]]).toEqual(['docs', []])
})

test('q and Ctrl+C leave', () => {
  expect([type('q'), controller.onKey({ name: 'c', ctrl: true })]).toEqual([{ type: 'leave' }, { type: 'leave' }])
})
