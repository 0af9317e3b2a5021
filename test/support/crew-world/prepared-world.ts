// Brings a crew to the state in which a test starts, and prints the facts and acts of commands as transcript lines.
// Used mainly by test/tables/kernel/crew.
import { addTasks, playAct } from './regular-work.ts'
import { crewSpecOf, CrewWorld } from './world.ts'
import type { Act, Issuer, Command, NewTask } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact } from '../../../src/kernel/model/crew/facts.ts'
import type { Member, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { MemberId, TaskState } from '../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

export const USER: Issuer = { type: 'user' }

/** A started crew with its initial members and these tasks. */
export function startedWorld(
  overrides: Partial<CrewSpec> = {},
  tasks: readonly NewTask[] = [{ id: 'one', title: 'the first', text: 'Do it.' }],
): CrewWorld {
  const world = new CrewWorld(crewSpecOf(overrides))
  world.submit({ type: 'begin' })
  while (world.jobs.some(({ type }) => type === 'spawn')) playAct(world)
  if (tasks.length > 0) addTasks(world, tasks)
  return world
}

/** Runs the world without faults until the condition holds. */
export function runUntil(world: CrewWorld, isReached: () => boolean): CrewWorld {
  for (let steps = 0; !isReached(); steps += 1) {
    if (steps > 500 || !playAct(world)) throw new Error(`the condition was not reached:\n${world.log.slice(-30).join('\n')}`)
  }
  return world
}

/** Runs until the task has this state. If the state is `committing`, its worker has also received the request to commit. */
export function runUntilTask(world: CrewWorld, state: TaskState, id = 'one'): CrewWorld {
  return runUntil(
    world,
    () => taskOf(world, id).state === state && (state !== 'committing' || !world.jobs.some(({ type }) => type === 'check')),
  )
}

export function taskOf({ crew }: CrewWorld, id = 'one'): Task {
  const task = crew.tasks.find((candidate) => candidate.id === id)
  if (!task) throw new Error(`no task ${id}`)
  return task
}

export function memberOf({ crew }: CrewWorld, id: MemberId): Member {
  const member = crew.members.find((candidate) => candidate.id === id)
  if (!member) throw new Error(`no member ${id}`)
  return member
}

/** Returns the facts and acts of a step, as short lines. */
export function transcriptOf(world: CrewWorld, act: () => unknown): string {
  const factCount = world.journal.length
  const actCount = world.acts.length
  act()
  const facts = world.journal
    .slice(factCount)
    .filter(({ type }) => type !== 'crew.heard' && type !== 'crew.sent')
    .map(factLine)
  const actLines = world.acts
    .slice(actCount)
    .filter(({ type }) => type !== 'job' && type !== 'warn')
    .map(actLine)
  return `\n${[...facts, ...actLines].join('\n')}\n`
}

function factLine({ type, ...rest }: CrewFact): string {
  return [
    type,
    ...Object.entries(rest)
      .filter(([name]) => !['text', 'question', 'options', 'spent', 'queued', 'seq'].includes(name))
      .map(([name, value]) => (name === 'job' && typeof value === 'object' ? jobText(value) : textOf(value))),
  ].join(' ')
}

function jobText(job: object): string {
  const { type, member, task, force, from } = job as { type: string; member: string; task?: string; force?: boolean; from?: string | null }
  return [type, member, task, force ? 'force' : '', from ? `from ${from}` : ''].filter(Boolean).join(' ')
}

function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'type' in value) return String((value as { type: string }).type)
  return typeof value === 'string' ? (value.includes(' ') ? `"${value.slice(0, 90)}"` : value) : JSON.stringify(value)
}

function actLine(act: Act): string {
  switch (act.type) {
    case 'message':
      return `  -> ${act.from} to ${act.to}: ${act.text.split('\n')[0]?.slice(0, 110)}`
    case 'retire':
      return `  -> retire ${act.member}, which has ended`
    case 'stop':
      return `  -> ${act.how} ${act.member}`
    case 'mask':
      return `  -> ${act.on ? 'mask' : 'unmask'} ${act.member}`
    case 'interrupt':
      return `  -> interrupt ${act.member}`
    case 'move':
      return `  -> queue of ${act.from.join(', ')} to ${act.to ?? 'its senders'}`
    case 'ask':
      return `  -> ask ${act.id}: ${act.question.slice(0, 110)} [${act.options.join(', ')}]`
    case 'unask':
      return `  -> unask ${act.id}`
    case 'notify':
      return `  -> notify: ${act.text.slice(0, 110)}`
    case 'hold':
      return '  -> hold'
    case 'end':
      return `  -> end ${act.outcome}: ${act.summary}`
    case 'job':
    case 'warn':
      return `  -> ${act.type}`
  }
}

/** The error code of a refusal; null when the command was accepted. */
export function refusalCode(world: CrewWorld, command: Command, by: Issuer = USER): string | null {
  return world.submit(command, by) === null ? (world.lastRefusal?.code ?? null) : null
}
