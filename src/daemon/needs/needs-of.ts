// Finds the needs of a process, which wait for the user. They come from asks, blocked merges, holds that only the user ends, unseen ends,
// and silences. Reads process rows only, never a journal. A program without a protocol for questions never appears to ask. Pure.
// Test: test/tables/daemon/needs/needs-of.test.ts.
import { hash } from 'node:crypto'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { findBlockingLimit } from '../../kernel/decide/limits/enforce-limits.ts'
import type { PendingAsk } from '../../kernel/model/asks.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { AskedFor } from '../../kernel/model/crew/words.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Hold, Process } from '../../kernel/model/process.ts'
import { isLiving } from '../../kernel/model/status.ts'
import type { HoldReason } from '../../kernel/model/words.ts'
import { isSeen } from '../../kernel/state/attention.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import { compareNeeds, rankOf } from './order.ts'
import type { NeedKind, Urgency } from './order.ts'

export interface Need extends Urgency {
  readonly kind: NeedKind
  readonly process: Process
  readonly ask?: PendingAsk
  readonly hold?: Hold
  /** of a crew's question */
  readonly task?: Task
}

/** The end of a process counts as a need for this time, in ms. */
export const ENDS_MS = 7 * 24 * 3_600_000

/** The kind of a crew's question. */
const KIND_BY_ASKED: Readonly<Record<AskedFor, NeedKind>> = { human: 'human-task', gate: 'gate', review: 'review' }

/** Whether only the user ends a hold. The others end with their cause, or the user has added them. */
const NEEDS_USER: Readonly<Record<HoldReason, boolean>> = {
  user: false,
  subtree: false,
  'disk-full': false,
  'daemon-shutdown': false,
  budget: true,
  'rate-limit': true,
  loop: true,
  breaker: true,
  'context-full': true,
  credentials: true,
  supervisor: true,
  'daemon-crash': true,
}

export interface NeedsContext {
  readonly table: LiveTable
  /** the wall time now, in ms */
  readonly wall: number
  /** the monotonic time now, in ms */
  readonly mono: number
  /** the wall time up to which ends count as seen, in ms; absent: none */
  readonly seenUntil?: number
}

/** All needs of a process, the most urgent first. */
export function needsOf(process: Process, context: NeedsContext): readonly Need[] {
  const found = isLiving(process)
    ? [...askNeeds(process), ...mergeNeeds(process), ...holdNeeds(process, context), ...silenceNeeds(process)]
    : endNeeds(process, context)
  return found.sort(compareNeeds)
}

function askNeeds(process: Process): Need[] {
  const suspended = isHeld(process)
  return openAsks(process).map((ask) => {
    const task = process.crew?.tasks.find((candidate) => candidate.ask?.id === ask.id)
    const kind = task?.ask ? KIND_BY_ASKED[task.ask.for] : kindOf(ask)
    return makeNeed(process, kind, { key: ask.id, at: ask.at, isSuspended: suspended, ask, ...(task ? { task } : {}) })
  })
}

function isHeld({ life }: Process): boolean {
  return life.state === 'running' && life.holds.length > 0
}

/** The kind of an ask, by the call that it is about. */
function kindOf({ kind, evidence, options }: PendingAsk): NeedKind {
  if (kind === 'plan') return 'plan'
  if (kind === 'question') return options.length === 0 ? 'text' : 'choice'
  switch (evidence?.tool.kind) {
    case 'execute':
      return 'command'
    case 'edit':
      return 'edit'
    case 'fetch':
      return 'fetch'
    default:
      return 'permission'
  }
}

/** The tasks of a crew that cannot be merged before the user changes something. */
function mergeNeeds(process: Process): Need[] {
  const tasks = process.crew?.tasks.filter(({ landing }) => landing?.blocked !== undefined) ?? []
  return tasks.map((task) =>
    makeNeed(process, 'merge', { key: task.id, at: task.times.started ?? task.times.added, isSuspended: isHeld(process), task }),
  )
}

function holdNeeds(process: Process, { table, mono }: NeedsContext): Need[] {
  const { life } = process
  if (life.state !== 'running') return []
  const holds = life.holds.filter((hold) => NEEDS_USER[hold.reason] && !endsByItself(hold))
  return holds.flatMap((hold) => {
    // A budget of an ancestor is a need of this ancestor's process, which is held as well.
    const reached = hold.reason === 'budget' ? findBlockingLimit(table, process, mono) : null
    if (hold.reason === 'budget' && (reached === null || reached.shouldWait)) return []
    if (reached !== null && reached.scope !== 'home' && reached.scope.uuid !== process.uuid && isHeldIn(table, reached.scope.uuid))
      return []
    return [makeNeed(process, 'hold', { key: hold.reason, at: hold.at, isSuspended: true, hold })]
  })
}

function endsByItself({ until, wake, reason }: Hold): boolean {
  return wake === true || (reason === 'budget' && until !== undefined)
}

function isHeldIn(table: LiveTable, uuid: Uuid): boolean {
  const process = table.get(uuid)
  return process !== undefined && isHeld(process)
}

/** A liveness problem. A process that waits for an answer has an ask, which is the need. */
function silenceNeeds(process: Process): Need[] {
  const { liveness } = process
  if (!liveness || liveness.word === 'waiting') return []
  return [makeNeed(process, 'silent', { key: liveness.word, at: liveness.since, isSuspended: false })]
}

/** The end of a process without a parent, unless the user or a parent caused the end, or the user has seen it. */
function endNeeds(process: Process, { wall, seenUntil = -1 }: NeedsContext): Need[] {
  const { life, clock, parentUuid } = process
  if ((life.state !== 'zombie' && life.state !== 'dead') || parentUuid !== null || clock.exitedAt === null) return []
  const { cause, code } = life.exit
  if (clock.exitedAt <= seenUntil) return []
  if (cause === 'person' || cause === 'parent' || isSeen(process, clock.exitedAt) || clock.exitedAt < wall - ENDS_MS) return []
  const kind = cause === 'agent' && code === 0 ? 'finished' : 'failed'
  return [makeNeed(process, kind, { key: String(process.pid), at: clock.exitedAt, isSuspended: false })]
}

function makeNeed(
  process: Process,
  kind: NeedKind,
  { key, isSuspended, at, ...parts }: { readonly key: string; readonly isSuspended: boolean } & Pick<Need, 'at' | 'ask' | 'hold' | 'task'>,
): Need {
  return { id: idOf(process.uuid, kind, key), kind, rank: rankOf(kind, { isSuspended }), process, at, ...parts }
}

/** The length of an id in hexadecimal digits. */
const ID_DIGITS = 16

/** Returns the id of a need, which stays the same while the need exists. */
function idOf(uuid: Uuid, kind: NeedKind, key: string): string {
  return hash('sha256', JSON.stringify([uuid, kind, key])).slice(0, ID_DIGITS)
}
