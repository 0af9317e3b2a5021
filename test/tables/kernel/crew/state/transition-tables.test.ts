// Every cell of the tables of crews: phases, task states, permitted issuers, and effects of releasing a task.
import { describe, expect, test } from 'vitest'
import { COMMAND_ISSUERS } from '../../../../../src/kernel/model/crew/commands.ts'
import { nextPhase, PHASE_TABLE, type PhaseEvent } from '../../../../../src/kernel/crew/state/phases.ts'
import { nextState, TASK_STATE_TABLE, type TaskEvent } from '../../../../../src/kernel/crew/state/task-states.ts'
import { KernelError } from '../../../../../src/kernel/model/errors.ts'
import { senderOfMember, playAct } from '../../../../support/crew-world/regular-work.ts'
import { memberOf, USER, refusalCode, taskOf, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { Command } from '../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId, Phase, TaskState } from '../../../../../src/kernel/model/crew/words.ts'

type Grid = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Draws a table with a row per state and a column per event. A dot means illegal. */
function drawTable(table: Grid): string {
  const events = Object.keys(Object.values(table)[0] ?? {})
  const header = ['', ...events].join(' | ')
  return `\n${[header, ...Object.entries(table).map(([state, row]) => [state, ...events.map((event) => (row[event] === 'illegal' ? '.' : row[event]))].join(' | '))].join('\n')}\n`
}

function errorCodeOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof KernelError) return error.code
    throw error
  }
  return 'allowed'
}

test('the table of phases has these cells', () => {
  expect(drawTable(PHASE_TABLE)).toMatchInlineSnapshot(`
    "
     | assign | review | report | deny | commit | differ | release | back | resume
    idle | implementing | reviewing | . | . | . | . | . | . | awaiting_review
    implementing | . | . | awaiting_review | . | . | . | idle | . | .
    awaiting_review | . | reviewing | . | addressing_feedback | committing | . | idle | . | .
    addressing_feedback | . | . | awaiting_review | . | . | . | idle | . | .
    reviewing | . | . | . | . | . | . | idle | awaiting_review | .
    committing | . | . | . | . | . | awaiting_review | idle | . | .
    "
  `)
  for (const phase of Object.keys(PHASE_TABLE) as Phase[]) {
    for (const event of Object.keys(PHASE_TABLE[phase]) as PhaseEvent[]) {
      const cell = PHASE_TABLE[phase][event]
      if (cell === 'illegal')
        expect(
          errorCodeOf(() => nextPhase(phase, event)),
          `${phase} ${event}`,
        ).toBe('CONFLICT')
      else expect(nextPhase(phase, event)).toBe(cell)
    }
  }
})

test('the table of task states has these cells', () => {
  expect(drawTable(TASK_STATE_TABLE)).toMatchInlineSnapshot(`
    "
     | assign | report | review | unreview | failVerify | deny | approve | ask | pass | commit | committed | differ | requeue | done | fail | cancel | retry | reopen
    queued | implementing | . | . | . | . | . | . | waiting | . | . | . | . | . | done | failed | cancelled | . | .
    implementing | . | awaiting_review | . | . | . | . | . | . | . | . | . | . | queued | done | failed | cancelled | . | .
    awaiting_review | . | . | in_review | . | addressing_feedback | . | . | waiting | approved | . | . | . | queued | done | failed | cancelled | . | .
    in_review | . | . | . | awaiting_review | . | addressing_feedback | approved | . | . | . | . | . | queued | done | failed | cancelled | . | .
    addressing_feedback | . | awaiting_review | . | . | . | . | . | . | . | . | . | . | queued | done | failed | cancelled | . | .
    approved | . | . | . | . | . | . | . | waiting | approved | committing | . | . | queued | done | failed | cancelled | . | .
    waiting | . | . | in_review | . | . | addressing_feedback | approved | . | approved | . | . | . | queued | done | failed | cancelled | . | .
    committing | . | . | . | . | . | . | . | . | . | . | merging | awaiting_review | queued | done | failed | . | . | .
    merging | . | . | . | . | . | . | . | . | . | . | . | . | queued | done | failed | . | . | .
    done | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | queued
    failed | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | queued | .
    cancelled | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | . | queued | .
    "
  `)
  for (const state of Object.keys(TASK_STATE_TABLE) as TaskState[]) {
    for (const event of Object.keys(TASK_STATE_TABLE[state]) as TaskEvent[]) {
      const cell = TASK_STATE_TABLE[state][event]
      if (cell === 'illegal')
        expect(
          errorCodeOf(() => nextState(state, event)),
          `${state} ${event}`,
        ).toBe('CONFLICT')
      else expect(nextState(state, event)).toBe(cell)
    }
  }
})

describe('permitted issuers', () => {
  const newWorld = (): CrewWorld => startedWorld({ coordinator: 'agent', gate: 'coordinator' })
  const issuers = [
    ['the user', 'lead', USER],
    ['the coordinator', 'lead', senderOfMember({ id: 'coordinator', turn: 0 })],
    ['a worker', 'worker', senderOfMember({ id: 'worker-1', turn: 0 })],
    ['the kernel', 'system', { type: 'system' }],
  ] as const

  for (const [issuerName, role, issuer] of issuers) {
    test(`${issuerName} is refused the commands of other roles, and nothing changes`, () => {
      for (const [type, allowedRole] of Object.entries(COMMAND_ISSUERS)) {
        const world = newWorld()
        const before = world.crew
        // A command of the right role can be refused for other reasons; a command of another role always for this one.
        if (allowedRole === role) continue
        if (issuer.type === 'system') expect(() => world.submit({ type } as Command, issuer), type).toThrow('was refused')
        else expect(refusalCode(world, { type } as Command, issuer), type).toBe('PERMISSION')
        expect(world.crew).toBe(before)
        if (issuer.type !== 'system') expect(world.lastRefusal?.hint, 'there is a hint').not.toBe('')
      }
    })
  }

  test('a member that has left or was replaced may not issue commands', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    world.submit({ type: 'replace_worker', member: 'worker-1', summary: 'half' }, USER)
    expect(refusalCode(world, { type: 'signal_ready' }, senderOfMember({ id: 'worker-1', turn: 1 }))).toBe('LATE')
    world.submit({ type: 'member_gone', member: 'worker-2', cause: 'agent', reason: 'it died' })
    expect(refusalCode(world, { type: 'signal_ready' }, senderOfMember({ id: 'worker-2', turn: 1 }))).toBe('LATE')
    expect(refusalCode(world, { type: 'signal_ready' }, senderOfMember({ id: 'worker-77', turn: 1 }))).toBe('NOT_FOUND')
  })
})

describe("the effects of releasing a worker's task", () => {
  /** The states in which the implementer holds the task. */
  const STATES: readonly TaskState[] = [
    'implementing',
    'awaiting_review',
    'in_review',
    'addressing_feedback',
    'approved',
    'waiting',
    'committing',
  ]

  /** A world with a task in this state, whose implementer is worker-1. */
  function worldInState(state: TaskState): CrewWorld {
    const gate = state === 'approved' ? 'coordinator' : state === 'waiting' ? 'human' : 'auto'
    const world = startedWorld({ coordinator: 'agent', gate, staff: [{ role: 'generic', count: 3 }] })
    const submitAs = (command: Command, issuer: 'worker-1' | 'worker-2' | null = null): void => {
      expect(world.submit(command, issuer ? senderOfMember(world.requireProcess(issuer)) : USER), world.lastRefusal?.message).not.toBeNull()
    }
    const beginTurn = (issuer: MemberId): void => {
      while (world.jobs.length > 0) playAct(world)
      const proc = world.requireProcess(issuer)
      proc.turn += 1
      world.submit({ type: 'turn_begun', member: issuer, turn: proc.turn, from: ['coordinator'] })
    }
    submitAs({ type: 'assign_task', task: 'one', member: 'worker-1' })
    beginTurn('worker-1')
    if (state === 'implementing') return world
    submitAs({ type: 'report_implementation_complete', summary: 's' }, 'worker-1')
    if (state === 'awaiting_review') return world
    submitAs({ type: 'assign_review', task: 'one', member: 'worker-2' })
    beginTurn('worker-2')
    if (state === 'in_review') return world
    submitAs({ type: 'report_review_verdict', verdict: state === 'addressing_feedback' ? 'DENIED' : 'APPROVED', comments: 'c' }, 'worker-2')
    return world
  }

  const BACK = { state: 'queued', implementer: null, reviewer: null, prepared: false } as const
  const actions: readonly (readonly [string, Command, object])[] = [
    ['retire', { type: 'retire_worker', member: 'worker-1', reason: 'r' }, BACK],
    ['stop', { type: 'stop_worker', member: 'worker-1', reason: 'r' }, BACK],
    ['cancel', { type: 'cancel_task', task: 'one', reason: 'r', requeue: true }, BACK],
    ['lose', { type: 'member_gone', member: 'worker-1', cause: 'agent', reason: 'r' }, BACK],
    ['replace', { type: 'replace_worker', member: 'worker-1', summary: 's' }, { implementer: 'worker-4', prepared: false }],
    ['pause', { type: 'member_held', member: 'worker-1', held: true }, { implementer: 'worker-1', prepared: true }],
  ]

  for (const [action, command, then] of actions) {
    test.each(STATES)(`of the action ${action}, for a task in the state %s`, (state) => {
      const world = worldInState(state)
      expect(taskOf(world)).toMatchObject({ state, implementer: 'worker-1' })
      const { phase } = memberOf(world, 'worker-1')
      const issuer = command.type === 'member_gone' || command.type === 'member_held' ? { type: 'system' as const } : USER
      if (state === 'committing' && ['retire', 'stop', 'cancel', 'replace'].includes(action)) {
        const before = world.crew
        expect(refusalCode(world, command)).toBe('CONFLICT')
        return expect(world.crew).toBe(before)
      }
      // A lost member no longer has a process.
      if (action === 'lose') world.requireProcess('worker-1').isAlive = false
      expect(world.submit(command, issuer)).not.toBeNull()
      const outlives = action === 'lose' && ['approved', 'waiting', 'committing'].includes(state)
      // A denial counts as a failed attempt, too.
      const expectedAttempts = (state === 'addressing_feedback' ? 1 : 0) + (action === 'lose' && !outlives ? 1 : 0)
      expect(taskOf(world)).toMatchObject({ ...(outlives ? { state, implementer: 'worker-1' } : then), attempts: expectedAttempts })
      const unchanged = action === 'pause'
      expect(memberOf(world, 'worker-1')).toMatchObject(unchanged ? { phase, task: 'one', held: true } : { phase: 'idle', task: null })
      if (action === 'replace')
        expect(memberOf(world, 'worker-4')).toMatchObject({ phase, task: 'one', heirOf: 'worker-1', state: 'starting' })
      if (action === 'replace') expect(taskOf(world).state).toBe(state)
      if (action === 'cancel') expect(memberOf(world, 'worker-1').cleanup).toBe('one')
      if (action === 'lose')
        expect(world.crew.jobs.map(({ type }) => type)).toEqual(outlives ? (state === 'committing' ? ['check'] : []) : ['salvage'])
      // The reviewer of the task becomes free, too.
      if (state === 'in_review') expect(memberOf(world, 'worker-2').phase).toBe(unchanged || action === 'replace' ? 'reviewing' : 'idle')
    })
  }

  test.each([['retire_worker'], ['stop_worker'], ['lost']] as const)('%s of a reviewer lets another worker review', (ending) => {
    const world = worldInState('in_review')
    if (ending === 'lost') {
      world.requireProcess('worker-2').isAlive = false
      world.submit({ type: 'member_gone', member: 'worker-2', cause: 'agent', reason: 'r' })
    } else {
      world.submit({ type: ending, member: 'worker-2', reason: 'r' }, USER)
    }
    expect(taskOf(world)).toMatchObject({
      state: 'awaiting_review',
      implementer: 'worker-1',
      reviewer: null,
      attempts: 0,
      unreviewed: 1,
    })
    expect(memberOf(world, 'worker-1').phase).toBe('awaiting_review')
    expect(world.submit({ type: 'assign_review', task: 'one', member: 'worker-3' }, USER)).not.toBeNull()
  })
})
