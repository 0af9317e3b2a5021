// The needs of a process, by its facts: asks, holds, ends and silence; and what is not a need.
import { describe, expect, test } from 'vitest'
import { ENDS_MS, needsOf } from '../../../../src/daemon/needs/needs-of.ts'
import { needView } from '../../../../src/daemon/needs/need-view.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { isoTime } from '../../../../src/daemon/views/format-times.ts'
import { NO_CONTEXT, processView } from '../../../../src/daemon/views/process-view.ts'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import type { Ask, AskToolKind } from '../../../../src/kernel/model/asks.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { ExitStatus, Hold, Process } from '../../../../src/kernel/model/process.ts'
import { HOLD_REASONS, type HoldReason } from '../../../../src/kernel/model/words.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'

const UUID = uuidOf(1)
const START_AT = 1_700_000_000_000
const START: readonly FactBody[] = [
  { type: 'process.spawned', pid: 7, spec: specOf({ name: 'writer' }), parentUuid: null, depth: 1, by: 'user' },
  { type: 'process.started', mono: 1_000, attached: true, containment: null },
  { type: 'process.ready', turn: 0 },
  { type: 'process.working', turn: 1, message: null },
]

/** Returns the process after these facts, which are one second apart. */
function processOf(...bodies: readonly FactBody[]): Process {
  const process = bodies.reduce<Process | undefined>(
    (before, body, index) => fold(before, { uuid: UUID, pid: 7, seq: index + 1, at: START_AT + index * 1_000, body }),
    undefined,
  )
  if (!process) throw new Error('no facts')
  return process
}

function viewsOf(process: Process, wall = START_AT + 60_000): NeedView[] {
  const context = { table: new Table(0), wall, mono: 0 }
  const view = processView(process, NO_CONTEXT, 0)
  return needsOf(process, context).map((need) => needView(need, { ...context, top: null, view }))
}
const kindsOf = (process: Process, wall?: number): string[] => viewsOf(process, wall).map(({ kind }) => kind)

const asked = (changes: Partial<Ask> = {}): FactBody => ({
  type: 'process.waiting',
  question: 'q',
  ask: { id: 'q1', kind: 'permission', text: 'npm test\nmore', options: [], callId: null, at: START_AT + 4_000, ...changes },
})
const ofTool = (kind: AskToolKind): Partial<Ask> => ({
  evidence: { source: 'said', tool: { name: 'x', kind, input: null, locations: [] }, diff: [] },
})
const OPTIONS: Ask['options'] = [{ id: 'a', name: 'A', kind: 'choice' }]

describe('an ask', () => {
  test.each<[string, Partial<Ask>]>([
    ['command', ofTool('execute')],
    ['edit', ofTool('edit')],
    ['fetch', ofTool('fetch')],
    ['permission', ofTool('read')],
    ['permission', ofTool('other')],
    ['permission', {}],
    ['plan', { kind: 'plan' }],
    ['choice', { kind: 'question', options: OPTIONS }],
    ['text', { kind: 'question' }],
  ])('is of the kind %s', (kind, ask) => {
    expect(kindsOf(processOf(...START, asked(ask)))).toEqual([kind])
  })

  test('is shown by its first line, with its commands, and ends with the answer', () => {
    const ask = asked({ options: OPTIONS })
    expect(viewsOf(processOf(...START, ask))).toMatchObject([
      {
        uuid: UUID,
        root: UUID,
        rootName: 'writer',
        rank: 1,
        title: 'npm test',
        options: OPTIONS,
        commands: ['reeve answer 7 NUMBER', 'reeve answer 7'],
        ask: { id: 'q1' },
      },
    ])
    expect(kindsOf(processOf(...START, ask, { type: 'process.answered', id: 'q1', option: 'a', text: null, by: 'user' }))).toEqual([])
  })
})

describe('a hold', () => {
  const held = (hold: Partial<Hold>): FactBody => ({
    type: 'process.held',
    hold: { reason: 'loop', by: 'system', at: START_AT, ...hold },
    mono: 2_000,
  })
  const needing: readonly HoldReason[] = ['rate-limit', 'loop', 'breaker', 'context-full', 'credentials', 'supervisor', 'daemon-crash']

  test.each(HOLD_REASONS)('with the reason %s is a need if only the user can end it', (reason) => {
    expect(kindsOf(processOf(...START, held({ reason })))).toEqual(needing.includes(reason) ? ['hold'] : [])
  })

  test('that ends at a known time is not a need', () => {
    expect(kindsOf(processOf(...START, held({ reason: 'rate-limit', until: START_AT + 9_000, wake: true })))).toEqual([])
  })

  test('makes an ask less urgent', () => {
    expect(viewsOf(processOf(...START, asked(), held({ reason: 'user' }))).map(({ kind, rank }) => [kind, rank])).toEqual([
      ['permission', 3],
    ])
  })
})

describe('an end', () => {
  const exited = (exit: Partial<ExitStatus> = {}): FactBody => ({
    type: 'process.exited',
    exit: { code: 0, reason: 'completed', cause: 'agent', ...exit },
    mono: 9_000,
  })

  test.each<[string, Partial<ExitStatus>, string[]]>([
    ['success', {}, ['finished']],
    ['a failure', { code: 1, reason: 'exit code 1' }, ['failed']],
    ['a limit', { code: 1, reason: 'budget', cause: 'limit' }, ['failed']],
    ['the death of the daemon', { code: 1, reason: 'interrupted', cause: 'daemon' }, ['failed']],
    ['a stop by the user', { code: 1, reason: 'SIGTERM', cause: 'person' }, []],
    ['a stop by a parent', { code: 1, reason: 'SIGTERM', cause: 'parent' }, []],
  ])('by %s is a need unless the user or a parent requested it', (_, exit, kinds) => {
    expect(kindsOf(processOf(...START, exited(exit)))).toEqual(kinds)
  })

  test('is not a need once it was seen, or after a week', () => {
    const ended = [...START, exited()]
    expect(kindsOf(processOf(...ended, { type: 'process.seen', by: 'user' }))).toEqual([])
    expect(kindsOf(processOf(...ended), START_AT + 4_000 + ENDS_MS)).toEqual(['finished'])
    expect(kindsOf(processOf(...ended), START_AT + 4_001 + ENDS_MS)).toEqual([])
  })

  test('is not a need if it is not later than the time up to which ends count as seen', () => {
    const process = processOf(...START, exited())
    const kindsSeenUntil = (seenUntil: number): string[] =>
      needsOf(process, { table: new Table(0), wall: START_AT + 60_000, mono: 0, seenUntil }).map(({ kind }) => kind)
    expect([kindsSeenUntil(START_AT + 3_999), kindsSeenUntil(START_AT + 4_000)]).toEqual([['finished'], []])
  })

  test('of a child is not a need', () => {
    const [spawned, ...rest] = START
    const child = { ...spawned, parentUuid: uuidOf(2) } as FactBody
    expect(kindsOf(processOf(child, ...rest, exited()))).toEqual([])
  })
})

test('a silent process is a need; waiting for an answer adds no second need', () => {
  const changed = (word: 'silent' | 'waiting'): FactBody => ({ type: 'liveness.changed', word, since: START_AT, evidence: 'in step 1' })
  expect(viewsOf(processOf(...START, changed('silent')))).toMatchObject([{ kind: 'silent', title: expect.stringContaining('in step 1') }])
  expect(kindsOf(processOf(...START, asked(), changed('waiting')))).toEqual(['permission'])
})

test('a snooze applies to the asks before it, not to later ones; it ends with an answer, with a snooze until null, or at its time', () => {
  const until = START_AT + 3_600_000
  const snoozed: FactBody = { type: 'process.snoozed', until, by: 'user' }
  const later = asked({ id: 'q2', at: START_AT + 6_000 })
  const snoozesOf = (...bodies: readonly FactBody[]): boolean[] =>
    viewsOf(processOf(...START, ...bodies)).map(({ snoozedUntil }) => snoozedUntil !== null)
  expect(snoozesOf(asked(), snoozed)).toEqual([true])
  expect(snoozesOf(asked(), snoozed, later)).toEqual([true, false])
  expect(snoozesOf(asked(), snoozed, later, { type: 'process.answered', id: 'q2', option: null, text: 'x', by: 'user' })).toEqual([false])
  expect(snoozesOf(asked(), snoozed, { type: 'process.snoozed', until: null, by: 'user' })).toEqual([false])
  expect(viewsOf(processOf(...START, asked(), snoozed), until).map(({ snoozedUntil }) => snoozedUntil)).toEqual([null])
})

test('an ask is no need while its answer can be taken back; then it has its old place, neither seen nor put off', () => {
  const answer: FactBody = { type: 'process.answered', id: 'q1', option: null, text: 'x', by: 'user', delivery: { at: 0, dueMono: 0 } }
  const snoozed: FactBody = { type: 'process.snoozed', until: START_AT + 3_600_000, by: 'user' }
  const before: readonly FactBody[] = [...START, asked(), snoozed, answer]
  expect(kindsOf(processOf(...before))).toEqual([])
  const seen: FactBody = { type: 'process.seen', by: 'user' }
  const again = processOf(...before, seen, { type: 'process.unanswered', id: 'q1', by: 'user' })
  expect(viewsOf(again)).toMatchObject([{ kind: 'permission', at: isoTime(START_AT + 4_000), seen: false, snoozedUntil: null }])
  const putOff = processOf(...before, snoozed, { type: 'process.unanswered', id: 'q1', by: 'user' })
  expect(viewsOf(putOff)).toMatchObject([{ kind: 'permission', snoozedUntil: null }])
  expect(kindsOf(processOf(...before, { type: 'process.delivered', id: 'q1' }))).toEqual([])
})

test('a need keeps its id, and each need has its own', () => {
  const process = processOf(...START, asked(), asked({ id: 'q2' }))
  const ids = viewsOf(process).map(({ id }) => id)
  expect(new Set(ids).size).toBe(2)
  expect(viewsOf(process, START_AT + 999_000).map(({ id }) => id)).toEqual(ids)
})
