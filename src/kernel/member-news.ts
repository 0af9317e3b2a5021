// What the facts of a member's process mean for its crew: a table from facts to what the crew is told (crewing.ts says it).
// Owns when a crew hears of a member. Must never decide what follows. Test: test/tables/crewing.test.ts.
import { predecessorsOf } from '../crew/finding.ts'
import { spentSince } from './spent.ts'
import type { SystemCommand } from '../crew/commands.ts'
import type { MemberId } from '../crew/types.ts'
import type { FactBody, FactType } from './facts.ts'
import type { Hold, Process, QueuedMessage, Sender } from './types.ts'

type BodyOf<T extends FactType> = Extract<FactBody, { type: T }>
interface Change {
  /** undefined: it is spawned */
  readonly before: Process | undefined
  readonly after: Process
  readonly member: MemberId
  /** the share of its context at which its crew wants to know of it */
  readonly handOver: number | null
  /** messages that its crew keeps for it */
  readonly kept: number
}
type Row<T extends FactType> = (change: Change, body: BodyOf<T>) => SystemCommand | readonly SystemCommand[] | null

const ROWS: { readonly [T in FactType]?: Row<T> } = {
  'process.spawned': present,
  'process.resumed': present,
  'process.started': present,
  'process.incoming': ({ member }, { turn, from }) => begun(member, turn, [from]),
  'message.taken': ({ before, member }, { id, turn }) => (turn === 0 ? null : begun(member, turn, (before?.queue ?? []).filter((one) => one.id === id).map(({ from }) => from))),
  'process.ready': ended,
  'process.held': held,
  'process.released': held,
  'model.finished': filled,
  'usage.reported': filled,
  'call.finished': filled,
  'context.window': filled,
}

/** The name of a message in the queue of a crew: it keeps what is for a member that is not there. */
export function keptFor(member: MemberId, id: string): string {
  return `${member}/${id}`
}

/** What it keeps for a member, or kept for one in whose place that stands. */
export function keptOf(crew: Process | undefined, member: MemberId): readonly QueuedMessage[] {
  if (!crew?.crew || crew.queue.length === 0) return []
  const names = [...predecessorsOf(crew.crew, member).map(({ id }) => id), member].map((id) => keptFor(id, ''))
  return crew.queue.filter(({ id }) => names.some((name) => id.startsWith(name)))
}

/** What its crew is to hear of a fact. */
export function newsOf(change: Omit<Change, 'member'>, body: FactBody): readonly SystemCommand[] {
  const { member } = change.after.spec
  const row = ROWS[body.type] as Row<FactType> | undefined
  const news = member && row ? row({ ...change, member: member.id }, body) : null
  return news === null ? [] : [news].flat()
}

/** What a crew that begins has to know of a member that lives already: somebody brought it back before. */
export function presenceOf(process: Process, crew: Process): readonly SystemCommand[] {
  const member = process.spec.member?.id
  return member === undefined || process.life.state === 'zombie' ? [] : present({ before: undefined, after: process, member, handOver: null, kept: keptOf(crew, member).length })
}

/** A turn that was on goes on in another incarnation; a pause may have ended with the last one. */
function present({ after, member, kept }: Change): readonly SystemCommand[] {
  const { uuid, progress, queue } = after
  return [{ type: 'member_on', member, uuid, turn: progress.turnOpen ? progress.turn : null, queued: queue.length + kept }, heldNews(after, member)]
}

function begun(member: MemberId, turn: number, from: readonly Sender[]): SystemCommand {
  return { type: 'turn_begun', member, turn, from }
}

/** Ready in the middle of a turn is no end of it. */
function ended({ after, member }: Change, { turn, outcome, result, error }: BodyOf<'process.ready'>): SystemCommand | null {
  if (outcome === undefined) return null
  const said = { ...(result === undefined ? {} : { text: result }), ...(error === undefined ? {} : { error }) }
  return { type: 'turn_ended', member, turn, outcome, ...said, queued: after.queue.length, spent: spentSince(after.usage, after.progress.before) }
}

/** The daemon's own orderly stop is no pause. */
function held({ before, after, member }: Change): SystemCommand | null {
  const is = isPaused(after)
  return is === (before !== undefined && isPaused(before)) ? null : heldNews(after, member)
}

function heldNews(process: Process, member: MemberId): SystemCommand {
  const [hold] = holdsOf(process)
  return { type: 'member_held', member, held: hold !== undefined, ...(hold ? { reason: hold.reason } : {}) }
}

function isPaused(process: Process): boolean {
  return holdsOf(process).length > 0
}

function holdsOf({ life }: Process): readonly Hold[] {
  return life.state === 'running' ? life.holds.filter(({ reason }) => reason !== 'daemon-shutdown') : []
}

function filled({ before, after, member, handOver }: Change): SystemCommand | null {
  const share = shareOf(after)
  if (handOver === null || share < handOver || (before !== undefined && shareOf(before) >= handOver)) return null
  return { type: 'member_full', member, share }
}

function shareOf({ usage, context }: Process): number {
  return usage.contextTokens / (context?.window ?? Infinity)
}
