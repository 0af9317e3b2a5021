// Every cell of the tables of crews: phases, states of tasks, who may say what, and what becomes of a worker's work.
import { describe, expect, test } from 'vitest'
import { MAY } from '../../src/crew/commands.ts'
import { EFFECTS } from '../../src/crew/effects.ts'
import { nextPhase, PHASES, type PhaseEvent } from '../../src/crew/phases.ts'
import { nextState, TASKS, type TaskEvent } from '../../src/crew/tasks.ts'
import { KernelError } from '../../src/kernel/errors.ts'
import { byMember, moveOn } from '../support/crew-world/life.ts'
import { memberOf, PERSON, refused, taskOf, untilTask, up } from '../support/crew-world/story.ts'
import type { Command } from '../../src/crew/commands.ts'
import type { MemberId, Phase, TaskState } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

type Grid = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Rows of states, columns of events; a dot is illegal. */
function drawn(table: Grid): string {
  const events = Object.keys(Object.values(table)[0] ?? {})
  const head = ['', ...events].join(' | ')
  return `\n${[head, ...Object.entries(table).map(([state, row]) => [state, ...events.map((event) => (row[event] === 'illegal' ? '.' : row[event]))].join(' | '))].join('\n')}\n`
}

function refusedBy(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof KernelError) return error.code
    throw error
  }
  return 'allowed'
}

test('phases', () => {
  expect(drawn(PHASES)).toMatchInlineSnapshot(`
    "
     | assign | review | report | deny | commit | release
    idle | implementing | reviewing | . | . | . | .
    implementing | . | . | awaiting_review | . | . | idle
    awaiting_review | . | . | . | addressing_feedback | committing | idle
    addressing_feedback | . | . | awaiting_review | . | . | idle
    reviewing | . | . | . | . | . | idle
    committing | . | . | . | . | . | idle
    "
  `)
  for (const phase of Object.keys(PHASES) as Phase[]) {
    for (const event of Object.keys(PHASES[phase]) as PhaseEvent[]) {
      const cell = PHASES[phase][event]
      if (cell === 'illegal') expect(refusedBy(() => nextPhase(phase, event)), `${phase} ${event}`).toBe('CONFLICT')
      else expect(nextPhase(phase, event)).toBe(cell)
    }
  }
})

test('states of a task', () => {
  expect(drawn(TASKS)).toMatchInlineSnapshot(`
    "
     | assign | report | review | unreview | deny | approve | ask | pass | commit | committed | requeue | done | fail | cancel
    queued | implementing | . | . | . | . | . | waiting | . | . | . | . | done | failed | cancelled
    implementing | . | awaiting_review | . | . | . | . | . | . | . | . | queued | done | failed | cancelled
    awaiting_review | . | . | in_review | . | . | . | waiting | approved | . | . | queued | done | failed | cancelled
    in_review | . | . | . | awaiting_review | addressing_feedback | approved | . | . | . | . | queued | done | failed | cancelled
    addressing_feedback | . | awaiting_review | . | . | . | . | . | . | . | . | queued | done | failed | cancelled
    approved | . | . | . | . | . | . | waiting | approved | committing | . | queued | done | failed | cancelled
    waiting | . | . | . | . | addressing_feedback | approved | . | approved | . | . | queued | done | failed | cancelled
    committing | . | . | . | . | . | . | . | . | . | merging | queued | done | failed | .
    merging | . | . | . | . | . | . | . | . | . | . | queued | done | failed | .
    done | . | . | . | . | . | . | . | . | . | . | . | . | . | .
    failed | . | . | . | . | . | . | . | . | . | . | . | . | . | .
    cancelled | . | . | . | . | . | . | . | . | . | . | . | . | . | .
    "
  `)
  for (const state of Object.keys(TASKS) as TaskState[]) {
    for (const event of Object.keys(TASKS[state]) as TaskEvent[]) {
      const cell = TASKS[state][event]
      if (cell === 'illegal') expect(refusedBy(() => nextState(state, event)), `${state} ${event}`).toBe('CONFLICT')
      else expect(nextState(state, event)).toBe(cell)
    }
  }
})

describe('who may say what', () => {
  const world = (): World => up({ coordinator: 'agent', gate: 'coordinator' })
  const speakers = [
    ['a person', 'lead', PERSON],
    ['the coordinator', 'lead', byMember({ id: 'coordinator', turn: 0 })],
    ['a worker', 'worker', byMember({ id: 'worker-1', turn: 0 })],
    ['the kernel', 'system', { type: 'system' }],
  ] as const

  for (const [who, speaks, by] of speakers) {
    test(`${who} is refused what others say, and nothing is changed`, () => {
      for (const [type, speaker] of Object.entries(MAY)) {
        const one = world()
        const before = one.crew
        // Whose it is may be refused for other reasons; that of others always for this one.
        if (speaker === speaks) continue
        if (by.type === 'system') expect(() => one.say({ type } as Command, by), type).toThrow('cannot be refused')
        else expect(refused(one, { type } as Command, by), type).toBe('PERMISSION')
        expect(one.crew).toBe(before)
        if (by.type !== 'system') expect(one.refusal?.hint, 'it says what to do').not.toBe('')
      }
    })
  }

  test('who is gone, or was replaced, says nothing any more', () => {
    const one = untilTask(up(), 'implementing')
    one.say({ type: 'replace_worker', member: 'worker-1', summary: 'half' }, PERSON)
    expect(refused(one, { type: 'signal_ready' }, byMember({ id: 'worker-1', turn: 1 }))).toBe('LATE')
    one.say({ type: 'member_gone', member: 'worker-2', cause: 'agent', reason: 'it died' })
    expect(refused(one, { type: 'signal_ready' }, byMember({ id: 'worker-2', turn: 1 }))).toBe('LATE')
    expect(refused(one, { type: 'signal_ready' }, byMember({ id: 'worker-77', turn: 1 }))).toBe('NOT_FOUND')
  })
})

describe('what becomes of the work of a worker', () => {
  test('the table', () => {
    expect(drawn(Object.fromEntries(Object.entries(EFFECTS).map(([action, effect]) => [action, { ...effect, counts: effect.counts ? 'a try' : '' }])))).toMatchInlineSnapshot(`
      "
       | task | phase | queue | files | counts
      retire | back | idle | returned | removed | 
      replace | successor | successor | successor | successor | 
      stop | back | idle | kept | kept | 
      cancel | back | idle | kept | reset | 
      pause | unchanged | unchanged | kept | unchanged | 
      lose | back | idle | kept | kept | a try
      "
    `)
  })

  /** The worker that holds the task as its implementer is there in each of these. */
  const STATES: readonly TaskState[] = ['implementing', 'awaiting_review', 'in_review', 'addressing_feedback', 'approved', 'waiting', 'committing']

  /** A task in that state, whose implementer is worker-1; nobody else is told what to do. */
  function at(state: TaskState): World {
    const gate = state === 'approved' ? 'coordinator' : state === 'waiting' ? 'human' : 'auto'
    const world = up({ coordinator: 'agent', gate, staff: [{ role: 'generic', count: 3 }] })
    const say = (command: Command, who: 'worker-1' | 'worker-2' | null = null): void => {
      expect(world.say(command, who ? byMember(world.need(who)) : PERSON), world.refusal?.message).not.toBeNull()
    }
    const work = (who: MemberId): void => {
      while (world.jobs.length > 0) moveOn(world)
      const proc = world.need(who)
      proc.turn += 1
      world.say({ type: 'turn_begun', member: who, turn: proc.turn, from: ['coordinator'] })
    }
    say({ type: 'assign_task', task: 'one', member: 'worker-1' })
    work('worker-1')
    if (state === 'implementing') return world
    say({ type: 'report_implementation_complete', summary: 's' }, 'worker-1')
    if (state === 'awaiting_review') return world
    say({ type: 'assign_review', task: 'one', member: 'worker-2' })
    work('worker-2')
    if (state === 'in_review') return world
    say({ type: 'report_review_verdict', verdict: state === 'addressing_feedback' ? 'DENIED' : 'APPROVED', comments: 'c' }, 'worker-2')
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
    test.each(STATES)(`${action}, of who is %s`, (state) => {
      const world = at(state)
      expect(taskOf(world)).toMatchObject({ state, implementer: 'worker-1' })
      const { phase } = memberOf(world, 'worker-1')
      const by = command.type === 'member_gone' || command.type === 'member_held' ? { type: 'system' as const } : PERSON
      if (state === 'committing' && ['retire', 'stop', 'cancel', 'replace'].includes(action)) {
        const before = world.crew
        expect(refused(world, command)).toBe('CONFLICT')
        return expect(world.crew).toBe(before)
      }
      // Reset is for who lives on; its turn is over first.
      if (action === 'lose') world.need('worker-1').alive = false
      expect(world.say(command, by)).not.toBeNull()
      const outlives = action === 'lose' && ['approved', 'waiting', 'committing'].includes(state)
      // What was denied before is a try, too.
      const tries = (state === 'addressing_feedback' ? 1 : 0) + (action === 'lose' && !outlives ? 1 : 0)
      expect(taskOf(world)).toMatchObject({ ...(outlives ? { state, implementer: 'worker-1' } : then), attempts: tries })
      const unchanged = action === 'pause'
      expect(memberOf(world, 'worker-1')).toMatchObject(unchanged ? { phase, task: 'one', held: true } : { phase: 'idle', task: null })
      if (action === 'replace') expect(memberOf(world, 'worker-4')).toMatchObject({ phase, task: 'one', heirOf: 'worker-1', state: 'starting' })
      if (action === 'replace') expect(taskOf(world).state).toBe(state)
      if (action === 'cancel') expect(memberOf(world, 'worker-1').cleanup).toBe('one')
      if (action === 'lose') expect(world.crew.jobs.map(({ type }) => type)).toEqual(outlives ? (state === 'committing' ? ['commit'] : []) : ['salvage'])
      // Its reviewer is free, too.
      if (state === 'in_review') expect(memberOf(world, 'worker-2').phase).toBe(unchanged || action === 'replace' ? 'reviewing' : 'idle')
    })
  }

  test.each([['retire_worker'], ['stop_worker'], ['lost']] as const)('%s, of a reviewer: another can review', (what) => {
    const world = at('in_review')
    if (what === 'lost') {
      world.need('worker-2').alive = false
      world.say({ type: 'member_gone', member: 'worker-2', cause: 'agent', reason: 'r' })
    } else {
      world.say({ type: what, member: 'worker-2', reason: 'r' }, PERSON)
    }
    expect(taskOf(world)).toMatchObject({ state: 'awaiting_review', implementer: 'worker-1', reviewer: null, attempts: 0, unreviewed: 1 })
    expect(memberOf(world, 'worker-1').phase).toBe('awaiting_review')
    expect(world.say({ type: 'assign_review', task: 'one', member: 'worker-3' }, PERSON)).not.toBeNull()
  })
})
