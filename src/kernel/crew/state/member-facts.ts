// Translates facts of a member's process into commands for its crew, which apply-command.ts applies. Has the list of facts that a crew
// learns of. Must never decide their consequences. Test: test/tables/kernel/decide/crew-process/apply-command.test.ts.
import { keptMessages } from './kept-messages.ts'
import { HOLDS } from '../../model/holds.ts'
import { usageSince } from '../../model/usage-totals.ts'
import type { SystemCommand } from '../../model/crew/commands.ts'
import type { FactBody, FactType, BodyOf } from '../../model/facts.ts'
import type { Hold, Process } from '../../model/process.ts'
import type { Sender } from '../../model/ids.ts'
import type { HoldReason } from '../../model/words.ts'
import type { MemberId } from '../../model/crew/words.ts'

interface Change {
  /** undefined when the process is being spawned */
  readonly before: Process | undefined
  readonly after: Process
  readonly member: MemberId
  /** the share of used context, from 0 to 1, from which the crew is notified; null: never */
  readonly handOver: number | null
  /** the member's task has limits, so the crew needs the member's usage */
  readonly isLimited: boolean
  /** number of messages that the crew keeps for the member */
  readonly keptCount: number
}
type Translator<T extends FactType> = (change: Change, body: BodyOf<T>) => SystemCommand | readonly SystemCommand[] | null

const COMMANDS_BY_FACT: { readonly [T in FactType]?: Translator<T> } = {
  'process.spawned': onAlive,
  'process.resumed': onAlive,
  'process.started': onAlive,
  'process.incoming': ({ member }, { turn, from }) => turnBegunCommand(member, turn, [from]),
  'message.taken': ({ before, member }, { id, turn }) =>
    turn === 0
      ? null
      : turnBegunCommand(
          member,
          turn,
          (before?.queue ?? []).filter((message) => message.id === id).map(({ from }) => from),
        ),
  'process.ready': onReady,
  'process.held': onHold,
  'process.released': onHold,
  'model.finished': onUsage,
  'usage.reported': onUsage,
  'call.finished': onUsage,
  'context.window': onUsage,
}

/** The commands for the crew that follow from a fact of a member's process. */
export function crewCommandsFor(change: Omit<Change, 'member'>, body: FactBody): readonly SystemCommand[] {
  const { member } = change.after.spec
  const translate = COMMANDS_BY_FACT[body.type] as Translator<FactType> | undefined
  const commands = member && translate ? translate({ ...change, member: member.id }, body) : null
  return commands === null ? [] : [commands].flat()
}

/** The commands that report a member to its starting crew, if the member was resumed before the crew. */
export function presenceCommands(process: Process, crew: Process): readonly SystemCommand[] {
  const member = process.spec.member?.id
  return member === undefined || process.life.state === 'zombie'
    ? []
    : onAlive({ before: undefined, after: process, member, handOver: null, isLimited: false, keptCount: keptMessages(crew, member).length })
}

/** Reports a process as alive. An open turn continues in the new incarnation. A pause may have ended with the previous incarnation. */
function onAlive({ after, member, keptCount }: Change): readonly SystemCommand[] {
  const { uuid, progress, queue } = after
  return [
    { type: 'member_running', member, uuid, turn: progress.turnOpen ? progress.turn : null, queued: queue.length + keptCount },
    heldCommand(after, member),
  ]
}

function turnBegunCommand(member: MemberId, turn: number, from: readonly Sender[]): SystemCommand {
  return { type: 'turn_begun', member, turn, from }
}

/** Reports the end of a turn. A `process.ready` without an outcome comes in the middle of a turn: null. */
function onReady({ after, member }: Change, { turn, outcome, result, error }: BodyOf<'process.ready'>): SystemCommand | null {
  if (outcome === undefined) return null
  const texts = { ...(result === undefined ? {} : { text: result }), ...(error === undefined ? {} : { error }) }
  return {
    type: 'turn_ended',
    member,
    turn,
    outcome,
    ...texts,
    queued: after.queue.length,
    spent: usageSince(after.usage, after.progress.before),
  }
}

/** Reports a change of the pause; null without a change. The hold of an orderly daemon shutdown is not a pause. */
function onHold({ before, after, member }: Change): SystemCommand | null {
  return crewReasonOf(holdOf(after), after) === (before && crewReasonOf(holdOf(before), before)) ? null : heldCommand(after, member)
}

function heldCommand(process: Process, member: MemberId): SystemCommand {
  const hold = holdOf(process)
  const reason = crewReasonOf(hold, process)
  if (!hold || reason === undefined) return { type: 'member_held', member, held: false }
  const note = HOLDS[reason].hasNote === 'crew' ? process.note : null
  return { type: 'member_held', member, held: true, reason, ...(hold.wake ? { wakes: true } : {}), ...(note === null ? {} : { note }) }
}

/** The hold to report. The member's own holds come before the hold of an ancestor's subtree. */
function holdOf(process: Process): Hold | undefined {
  const holds = holdsOf(process)
  return holds.find((hold) => crewReasonOf(hold, process) !== 'subtree') ?? holds[0]
}

/** The reason of a hold as the crew sees it. `subtree` means that an ancestor is paused, and the coordinator with it. */
function crewReasonOf(hold: Hold | undefined, { uuid }: Process): HoldReason | undefined {
  return hold?.reason === 'subtree' && hold.root === uuid ? 'user' : hold?.reason
}

function holdsOf({ life }: Process): readonly Hold[] {
  return life.state === 'running' ? life.holds.filter(({ reason }) => reason !== 'daemon-shutdown') : []
}

function onUsage(change: Change): readonly SystemCommand[] {
  const { after, member, isLimited } = change
  const contextFull = contextFullCommand(change)
  const usageCommands: SystemCommand[] =
    isLimited && after.progress.turnOpen ? [{ type: 'member_usage', member, spent: usageSince(after.usage, after.progress.before) }] : []
  return [...usageCommands, ...(contextFull ? [contextFull] : [])]
}

function contextFullCommand({ before, after, member, handOver }: Change): SystemCommand | null {
  const share = contextShareOf(after)
  if (handOver === null || share < handOver || (before !== undefined && contextShareOf(before) >= handOver)) return null
  return { type: 'member_context_full', member, share }
}

function contextShareOf({ usage, context }: Process): number {
  return usage.contextTokens / (context?.window ?? Infinity)
}
