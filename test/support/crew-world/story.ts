// Brings a crew to where a test begins, and tells what came of a command, as lines that are read as a diff: what was said, the facts,
// and what is to be done. Used by test/tables/crew-*.test.ts.
import { add, moveOn } from './life.ts'
import { specOf, World } from './world.ts'
import type { Act, By, Command, NewTask } from '../../../src/crew/commands.ts'
import type { CrewFact } from '../../../src/crew/facts.ts'
import type { CrewSpec, Member, MemberId, Task, TaskState } from '../../../src/crew/types.ts'

export const PERSON: By = { type: 'person' }

/** A crew that has begun, with its staff there and these tasks. */
export function up(more: Partial<CrewSpec> = {}, tasks: readonly NewTask[] = [{ id: 'one', title: 'the first', text: 'Do it.' }]): World {
  const world = new World(specOf(more))
  world.say({ type: 'begin' })
  while (world.jobs.some(({ type }) => type === 'spawn')) moveOn(world)
  if (tasks.length > 0) add(world, tasks)
  return world
}

/** Everybody does what is right until it is so. */
export function until(world: World, so: () => boolean): World {
  for (let steps = 0; !so(); steps += 1) {
    if (steps > 500 || !moveOn(world)) throw new Error(`it does not come to that:\n${world.log.slice(-30).join('\n')}`)
  }
  return world
}

export function untilTask(world: World, state: TaskState, id = 'one'): World {
  return until(world, () => taskOf(world, id).state === state)
}

export function taskOf({ crew }: World, id = 'one'): Task {
  const task = crew.tasks.find((one) => one.id === id)
  if (!task) throw new Error(`no task ${id}`)
  return task
}

export function memberOf({ crew }: World, id: MemberId): Member {
  const member = crew.members.find((one) => one.id === id)
  if (!member) throw new Error(`no member ${id}`)
  return member
}

/** What happens meanwhile, in short lines. */
export function told(world: World, act: () => unknown): string {
  const from = world.journal.length
  const acts = world.acts.length
  act()
  const facts = world.journal.slice(from).filter(({ type }) => type !== 'crew.heard' && type !== 'crew.sent').map(factLine)
  const done = world.acts.slice(acts).filter(({ type }) => type !== 'job' && type !== 'warn').map(actLine)
  return `\n${[...facts, ...done].join('\n')}\n`
}

function factLine({ type, ...rest }: CrewFact): string {
  return [type, ...Object.entries(rest).filter(([name]) => !['text', 'question', 'options', 'spent', 'queued', 'seq'].includes(name)).map(([name, value]) => (name === 'job' && typeof value === 'object' ? jobWords(value) : wordOf(value)))].join(' ')
}

function jobWords(job: object): string {
  const { type, member, task, force, from } = job as { type: string; member: string; task?: string; force?: boolean; from?: string | null }
  return [type, member, task, force ? 'force' : '', from ? `from ${from}` : ''].filter(Boolean).join(' ')
}

function wordOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'type' in value) return String((value as { type: string }).type)
  return typeof value === 'string' ? (value.includes(' ') ? `"${value.slice(0, 90)}"` : value) : JSON.stringify(value)
}

function actLine(act: Act): string {
  switch (act.type) {
    case 'message': return `  -> ${act.from} to ${act.to}: ${act.text.split('\n')[0]?.slice(0, 110)}`
    case 'stop': return `  -> ${act.how} ${act.member}`
    case 'mask': return `  -> ${act.on ? 'mask' : 'unmask'} ${act.member}`
    case 'interrupt': return `  -> interrupt ${act.member}`
    case 'move': return `  -> queue of ${act.from.join(', ')} to ${act.to ?? 'its senders'}`
    case 'ask': return `  -> ask ${act.id}: ${act.question.slice(0, 110)} [${act.options.join(', ')}]`
    case 'unask': return `  -> unask ${act.id}`
    case 'notify': return `  -> notify: ${act.text.slice(0, 110)}`
    case 'end': return `  -> end ${act.outcome}: ${act.summary}`
    case 'job':
    case 'warn': return `  -> ${act.type}`
  }
}

/** The code of the refusal; null: it was not refused. */
export function refused(world: World, command: Command, by: By = PERSON): string | null {
  return world.say(command, by) === null ? (world.refusal?.code ?? null) : null
}
