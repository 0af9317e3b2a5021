// The inputs of crews in the transcript language, and crew facts as lines of a transcript. `crew c staff=generic:2 gate=human` starts a
// crew; `member w1 of=c id=worker-1` is the daemon's answer to a job; `say c assign_task task=one member=worker-1` is a command; `done c 3
// prepared base=a` is the end of a job; `moved c k to=k2` and `retire k` are the daemon's answers to moved messages and retired members.
import type { Command, LeadCommand } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Line } from './transcript-inputs.ts'
import { kernelSpec, type World } from './world.ts'
import type { Sender } from '../../../src/kernel/model/ids.ts'
import { ROLES, type MemberId, type WorkerRole } from '../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

/** The spec of members of all roles. */
export const MEMBER_SPEC = kernelSpec({ interactive: true, intent: '' })

export const CREW_SPEC: CrewSpec = {
  coordinator: 'engine',
  gate: 'auto',
  merge: 'auto',
  reviews: true,
  maxAttempts: 3,
  maxWorkers: 4,
  staff: [{ role: 'generic', count: 2 }],
  handOver: 0.9,
  stay: false,
  git: { repository: '/r/.git', base: 'base', branch: 'reeve/c' },
  roles: Object.fromEntries(ROLES.map((role) => [role, MEMBER_SPEC])),
}

const CHOICES = ['coordinator', 'gate', 'merge'] as const

function crewSpecOf({ options, words }: Line): CrewSpec {
  const chosen = Object.fromEntries(CHOICES.flatMap((key) => (options.has(key) ? [[key, options.get(key)]] : [])))
  const staff = options
    .get('staff')
    ?.split(',')
    .filter((entry) => entry !== '')
    .map((entry) => ({ role: entry.split(':')[0] as WorkerRole, count: Number(entry.split(':')[1]) }))
  return {
    ...CREW_SPEC,
    ...chosen,
    ...(staff ? { staff } : {}),
    ...(words.includes('stay') ? { stay: true } : {}),
    ...(options.has('max') ? { maxWorkers: Number(options.get('max')) } : {}),
    ...(words.includes('unreviewed') ? { reviews: false } : {}),
    ...(words.includes('nogit') ? { git: null } : {}),
    ...(options.has('attempts') ? { maxAttempts: Number(options.get('attempts')) } : {}),
  }
}

type InputReader = (line: Line, world: World, reply: number) => InputBody

const wordAt = ({ words }: Line, index: number): string => words[index] ?? ''

/** Reads a line of a transcript, by its first word. */
export const CREW_READERS: Readonly<Record<string, InputReader>> = {
  crew: (line, _, reply) => ({
    type: 'spawn',
    reply,
    by: 'user',
    uuid: wordAt(line, 1),
    parent: null,
    spec: kernelSpec({ driver: 'crew', agent: 'crew', model: null, name: line.options.get('named') ?? null, crew: crewSpecOf(line) }),
  }),
  member: (line, world, reply) => {
    const crew = line.options.get('of') ?? ''
    const id = line.options.get('id') as MemberId
    const role = world.row(crew)?.crew?.members.find((member) => member.id === id)?.role ?? 'generic'
    return {
      type: 'spawn',
      reply,
      by: 'system',
      uuid: wordAt(line, 1),
      parent: crew,
      spec: { ...MEMBER_SPEC, restart: { type: 'transient' }, childId: id, member: { crew, id, role } },
    }
  },
  say: (line, world, reply) => ({
    type: 'crew',
    reply,
    by: (line.options.get('by') ?? 'user') as Sender,
    uuid: wordAt(line, 1),
    command: commandOf(line),
    ...callOf(line, world),
    ...(line.options.has('via') ? { via: line.options.get('via') ?? '' } : {}),
  }),
  done: (line, world, reply) => {
    const crew = world.row(wordAt(line, 1))?.crew
    const job = crew?.jobs.find((job) => String(job.job) === wordAt(line, 2)) ?? crew?.jobs.find(({ type }) => type === wordAt(line, 2))
    return {
      type: 'crew',
      reply,
      by: 'system',
      uuid: wordAt(line, 1),
      command: { type: 'job_done', job: job?.job ?? 0, result: resultOf(line, world, job) },
    }
  },
  // `moved c k,c to=k2 all` moves the messages that wait for k, and then those that the crew keeps.
  moved: (line, world) => {
    const recipients = wordAt(line, 2)
      .split(',')
      .map((uuid) => {
        const process = world.row(uuid)
        if (!process) throw new Error(`no process is called ${uuid}`)
        const texts = (world.journal.get(uuid) ?? []).flatMap(({ body }) => (body.type === 'process.queue' ? [body] : []))
        return {
          process,
          messages: process.queue.flatMap(({ id }) =>
            texts.filter((message) => message.id === id).map(({ from: sender, text }) => ({ id, from: sender, text })),
          ),
        }
      })
    return {
      type: 'crewMoved',
      uuid: wordAt(line, 1),
      from: recipients,
      to: line.options.get('to') ?? null,
      all: line.words.includes('all'),
    }
  },
  retire: (line, world) => {
    const endedRow = world.row(wordAt(line, 1))
    if (!endedRow) throw new Error(`no process is called ${wordAt(line, 1)}`)
    return { type: 'retire', uuid: endedRow.uuid, endedRow, by: 'system', reason: 'the crew is done' }
  },
}

/** Reads the incarnation and turn of a member's call; the default is the current ones. */
function callOf(
  { options }: Line,
  world: World,
): { readonly call?: { readonly pid: number; readonly turn: number | null; readonly id: string | null } } {
  const sender = options.get('by') ?? ''
  if (!sender.startsWith('agent:')) return {}
  const process = world.row(sender.slice('agent:'.length))
  return {
    call: {
      pid: Number(options.get('pid') ?? process?.pid),
      turn: Number(options.get('turn') ?? process?.progress.turn),
      id: options.get('call') ?? null,
    },
  }
}

/** The fields of commands that are lists. */
const LISTS: ReadonlySet<string> = new Set(['needs'])

/** The options are the command's fields; `say c add_task id=one` has a default title and text. */
function commandOf(line: Line): Command {
  const type = wordAt(line, 2) as LeadCommand['type']
  const fields = Object.fromEntries(
    [...line.options]
      .filter(([key]) => !['by', 'via', 'pid', 'turn', 'call'].includes(key))
      .map(([key, value]) => [key, LISTS.has(key) ? value.split(',') : value === 'true' ? true : value === 'false' ? false : value]),
  )
  const task = type === 'add_task' ? { title: `the ${line.options.get('id')}`, text: `do ${line.options.get('id')}` } : {}
  return { type, ...task, ...fields } as unknown as Command
}

function resultOf({ words, options }: Line, world: World, job: Job | undefined): JobResult {
  const facts = world.journal.get(words[1] ?? '') ?? []
  const read = (job && 'read' in job ? job.read : []).flatMap((seq) =>
    facts.filter((fact) => fact.seq === seq).map(({ body }) => body as CrewFact),
  )
  switch (words[3] ?? words[2]) {
    case 'prepared':
    case 'prepare':
      return { type: 'prepared', base: options.get('base') ?? 'base', read }
    case 'park':
      return { type: 'parked' }
    case 'brief':
      return { type: 'briefed', dir: '/w', branch: 'b', head: 'head', read }
    case 'commit':
      return { type: 'committed', commit: options.get('commit') ?? null, dirty: words.includes('dirty') }
    case 'check':
      return { type: 'checked', files: [], tasks: [] }
    case 'merge':
      return { type: 'merged', merged: options.get('merged') ?? 'merged' }
    case 'conflict':
      return { type: 'conflict', files: (options.get('files') ?? '').split(',') }
    case 'reset':
    case 'salvage':
      return { type: 'salvaged', ref: null }
    default:
      return { type: 'error', error: options.get('error') ?? 'it broke' }
  }
}

/** Formats a crew fact for a transcript, without its texts. */
export function crewText(body: CrewFact): string {
  const hidden: ReadonlySet<string> = new Set(['type', 'text', 'title', 'acceptance', 'note', 'spent', 'by'])
  return Object.entries(body)
    .filter(([key]) => !hidden.has(key))
    .map(([key, value]) =>
      key === 'job' && typeof value === 'object'
        ? jobText(value as Job)
        : Array.isArray(value)
          ? `${key} ${value.join(' ')}`.trim()
          : typeof value === 'object' && value !== null
            ? `${key} ${(value as JobResult).type}`
            : key === 'task' || key === 'member'
              ? String(value)
              : `${key} ${value}`,
    )
    .join(', ')
}

export function jobText({ job, type, member, ...rest }: Job): string {
  return `${job} ${type} ${member}${'task' in rest ? ` ${rest.task}` : ''}`
}
