// Asks: an agent wants a permission or an answer, and a person gives it.
// Owns how an ask is answered: while the process is held the answer is recorded, and told at the release (pausing.ts).
// Must never let an agent answer: an ask is a person's to decide. Test: test/tables/asking.test.ts.
import { KernelError } from './errors.ts'
import { freezeDrained } from './pausing.ts'
import { isEnding, isLiving, isSuspended } from './status.ts'
import type { InputOf } from './inputs.ts'
import type { Ack, Report } from './reports.ts'
import type { Process, Sender } from './types.ts'
import type { Work } from './work.ts'

/** One way to answer an ask. `choice` is one of several that nobody has sorted into yes and no. */
export interface AskOption {
  readonly id: string
  readonly name: string
  readonly kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'choice'
}

/** What an agent wants to know of a person before it goes on. */
export interface Ask {
  /** unique among what the process asks */
  readonly id: string
  readonly kind: 'permission' | 'question'
  readonly text: string
  /** none: it is answered by a text */
  readonly options: readonly AskOption[]
  /** the tool call that it is about */
  readonly callId: string | null
  /** wall time in ms */
  readonly at: number
}

export interface Answer {
  readonly option: string | null
  readonly text: string | null
  readonly by: Sender
}

/** An ask of a process; its answer stands here while it waits for the end of a pause. */
export type PendingAsk = Ask & { readonly answer?: Answer }

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>

/** asks that one process may have open */
const MAX_ASKS = 32
const MAX_OPTIONS = 64
const TEXT_CHARS = 4_000
const NAME_CHARS = 200

export function waiting(work: Work, process: Process, { ask }: ReportOf<'waiting'>): Ack {
  const { life, asks = [] } = process
  const asked = asks.some(({ id }) => id === ask.id)
  if (life.state !== 'running' || (life.activity !== 'working' && life.activity !== 'waiting') || asked) return 'late'
  if (asks.length >= MAX_ASKS) throw new KernelError('RESOURCE_EXHAUSTED', `process ${process.pid} asks ${asks.length} things already`)
  const bounded = withinLimits(ask)
  freezeDrained(work, work.emit(process.uuid, { type: 'process.waiting', question: bounded.text, ask: bounded }))
  return 'ok'
}

function withinLimits({ id, kind, text, options, callId, at }: Ask): Ask {
  const few = options.slice(0, MAX_OPTIONS).map((option) => ({ id: option.id, name: clip(option.name, NAME_CHARS), kind: option.kind }))
  return { id, kind, text: clip(text, TEXT_CHARS), options: few, callId, at }
}

function clip(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1)}…` : text
}

export function unasked(work: Work, process: Process, { id }: ReportOf<'unasked'>): Ack {
  if (!process.asks?.some((ask) => ask.id === id)) return 'late'
  work.emit(process.uuid, { type: 'process.unasked', id })
  return 'ok'
}

export function answer(work: Work, input: InputOf<'answer'>): void {
  const { uuid, by, text } = input
  const process = work.get(uuid)
  if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? uuid} has ended`)
  if (by.startsWith('agent:')) throw new KernelError('PERMISSION', 'what a process asks is for a person to answer')
  if (isEnding(process)) throw new KernelError('INVALID', `process ${process.pid} is stopping`)
  const { id, options } = askedOf(process, input.id)
  const option = checkOption(process, input, options)
  work.emit(uuid, { type: 'process.answered', id, option, text, by })
  const held = isSuspended(process)
  if (process.spec.crew) work.news.push({ type: 'answered', uuid, id, option, text })
  else if (!held) work.effect({ type: 'driver.answer', uuid, pid: process.pid, id, option, text })
  const note = held && !process.spec.crew ? 'it is suspended: the answer is kept, and told when it goes on' : null
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note } })
}

/** What is asked and not answered. */
export function openAsks({ asks = [] }: Pick<Process, 'asks'>): readonly PendingAsk[] {
  return asks.filter((ask) => ask.answer === undefined)
}

function askedOf(process: Process, id: string | null): Ask {
  const open = openAsks(process)
  const asks = open.map(({ id: known, text, options }) => ({ id: known, text, options }))
  const [first] = open
  if (!first) throw new KernelError('INVALID', `process ${process.pid} asks nothing`, { asks })
  const ids = open.map((ask) => ask.id).join(', ')
  if (id === null && open.length > 1) throw new KernelError('INVALID', `process ${process.pid} asks ${open.length} things, say which: ${ids}`, { asks })
  const found = id === null ? first : open.find((ask) => ask.id === id)
  if (!found) throw new KernelError('INVALID', `process ${process.pid} does not ask "${id}"; it asks ${ids}`, { asks })
  return found
}

function checkOption({ pid }: Process, { option, text }: InputOf<'answer'>, options: Ask['options']): string | null {
  const ids = options.map(({ id }) => id)
  if (ids.length === 0) {
    if (option !== null || text === null) throw new KernelError('INVALID', `process ${pid} wants a text for an answer`, { options })
    return null
  }
  if (option === null || !ids.includes(option)) {
    throw new KernelError('INVALID', `process ${pid} wants one of ${ids.join(', ')}${option === null ? '' : `, not "${option}"`}`, { options })
  }
  return option
}
