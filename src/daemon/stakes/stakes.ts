// Makes the view of what an action would cost: what is lost, what is kept, and what happens to others. Pure: all facts come in a
// `StakesWorld`, and the consequences from the kernel's own decisions (kernel/decide/foresee.ts). States nothing that is not in these
// facts: an unknown value is null, and a note names it. Test: test/tables/daemon/stakes/stakes.test.ts, test/e2e/lifecycle/stakes.test.ts.
import { CAPABILITIES, isExternal, isPlainCommand } from '../../kernel/model/capabilities.ts'
import { composeRunOf, isComposeRun } from '../../kernel/compose/run-row.ts'
import { DRAIN_MS } from '../../kernel/decide/next-deadline.ts'
import { dispositionOf, DEFER_MS } from '../../kernel/model/signals.ts'
import { isLiving, isSuspended, statusOf } from '../../kernel/model/status.ts'
import { isClosed } from '../../kernel/crew/state/task-states.ts'
import { mayRepeatCall } from '../../kernel/decide/close-open-calls.ts'
import { unbegunCalls } from '../../kernel/state/unbegun-calls.ts'
import { resumeModes } from '../../kernel/decide/resume-modes.ts'
import { isoOrNull } from '../views/format-times.ts'
import type { InFlightView, StakesView } from '../../api/views/stakes.ts'
import type { Foreseen } from '../../kernel/decide/foresee.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { StakesAction } from '../../kernel/model/words.ts'

/** The open calls of a process: what each does, and since when. Wall times in ms. */
export interface OpenWork {
  readonly modelSince: number | null
  /** by call id */
  readonly calls: ReadonlyMap<string, { readonly since: number | null; readonly what: string }>
}

export interface FilesAtStake {
  /** files that no record and no commit has; null: unknown */
  readonly unrecorded: { readonly files: number; readonly added: number; readonly removed: number } | null
  readonly unmerged: readonly { readonly branch: string; readonly commits: number }[]
  /** what could not be found out, and why */
  readonly notes: readonly string[]
}

/** All facts that the view is made from. */
export interface StakesWorld {
  readonly action: StakesAction
  readonly subtree: boolean
  readonly process: Process
  /** the living processes below it, parents first */
  readonly below: readonly Process[]
  /** returns a living process */
  readonly row: (uuid: Uuid) => Process | undefined
  /** what the kernel would decide; null: the action changes no living process, or the kernel refuses it */
  readonly foreseen: Foreseen | null
  /** why the action would be refused; null: it would not */
  readonly refused: string | null
  readonly open: ReadonlyMap<Uuid, OpenWork>
  readonly files: FilesAtStake
}

/** The largest number of processes and calls that the view lists. */
const MAX_LISTED = 100

export function stakesOf(world: StakesWorld): StakesView {
  const { action, process, below, refused } = world
  const after = afterOf(world)
  const ending = endingProcesses(world)
  const inFlight = [process, ...below.filter((row) => isTouched(world, row))].flatMap((row) => inFlightOf(world, row))
  const children = childrenOf(world, ending)
  return {
    version: 1,
    uuid: process.uuid,
    pid: process.pid,
    name: process.spec.name,
    status: statusOf(process),
    action,
    subtree: world.subtree,
    refused,
    inFlight: inFlight.slice(0, MAX_LISTED),
    unrecorded: world.files.unrecorded,
    unmerged: world.files.unmerged.map((branch) => ({ ...branch })),
    queue: sum(withTarget(process, ending), ({ queue }) => queue.length),
    messagesLost: messagesLostOf(world, ending),
    children: { goOn: children.goOn.slice(0, MAX_LISTED), end: children.end.slice(0, MAX_LISTED) },
    task: taskOf(world),
    run: runOf(world),
    restart: isEnding(world) && isLiving(after) ? 'comes back' : 'stays',
    kept: keptOf(world, after),
    notes: notesOf(world, { ending, after, children, inFlight }),
  }
}

/** Returns the row of the target after the action. */
function afterOf({ process, foreseen }: StakesWorld): Process {
  return foreseen?.after(process.uuid) ?? process
}

function isEnding({ process, foreseen }: StakesWorld): boolean {
  return foreseen?.ended.has(process.uuid) === true
}

/** Returns the living processes that would end: the target, and those below it. */
function endingProcesses({ process, below, foreseen }: StakesWorld): readonly Process[] {
  return [process, ...below].filter((row) => isLiving(row) && foreseen?.ended.has(row.uuid))
}

function withTarget(process: Process, ending: readonly Process[]): readonly Process[] {
  return ending.includes(process) ? ending : [process, ...ending]
}

function sum<T>(all: readonly T[], valueOf: (one: T) => number): number {
  return all.reduce((total, one) => total + valueOf(one), 0)
}

/** Whether the action ends or pauses a living process. */
function isTouched({ foreseen }: StakesWorld, row: Process): boolean {
  return foreseen?.ended.has(row.uuid) === true || holdCount(foreseen?.after(row.uuid) ?? row) > holdCount(row)
}

function holdCount({ life }: Process): number {
  return life.state === 'running' ? life.holds.length : 0
}

/** Returns the open work of a process: its model call and its tool calls, or its program. */
function inFlightOf(world: StakesWorld, row: Process): InFlightView[] {
  if (!isLiving(row) && world.action !== 'resume') return []
  const { uuid, spec, progress, clock, context } = row
  const open = world.open.get(uuid)
  const unbegun = unbegunCalls(row)
  if (isPlainCommand(spec)) {
    if (row.life.state !== 'running' || !row.life.attached) return []
    const what = `the command ${(spec.argv ?? []).join(' ')}`.slice(0, MAX_WHAT_CHARS)
    return [{ uuid, what, since: isoOrNull(clock.startedAt), effect: null, becomes: callOutcomeOf(world, row, false) }]
  }
  const model = progress.modelOpen ? 'the model call' : context?.compacting === true ? 'the summary of its context' : null
  return [
    ...(model === null
      ? []
      : [
          {
            uuid,
            what: `${model} of step ${progress.step}`,
            since: isoOrNull(open?.modelSince ?? null),
            effect: null,
            becomes: callOutcomeOf(world, row, !isExternal(spec)),
          },
        ]),
    ...progress.openCalls.map((call): InFlightView => {
      const known = open?.calls.get(call.callId)
      const isUnbegun = unbegun.has(call.callId)
      const outcome = callOutcomeOf(world, row, mayRepeatCall(row, call))
      return {
        uuid,
        what: known?.what ?? call.name,
        since: isoOrNull(known?.since ?? null),
        effect: call.effect,
        ...(isUnbegun ? { unbegun: true as const } : {}),
        becomes: !isUnbegun
          ? outcome
          : outcome === 'interrupted'
            ? 'not run'
            : outcome === 'repeated' && call.asked === true
              ? 'asked again'
              : outcome,
      }
    }),
  ]
}

const MAX_WHAT_CHARS = 120

/** What becomes of an open call. `mayRepeat`: the next incarnation makes the call again. */
function callOutcomeOf({ action, foreseen }: StakesWorld, row: Process, mayRepeat: boolean): InFlightView['becomes'] {
  if (foreseen?.ended.has(row.uuid) || !isLiving(row))
    return mayRepeat && resumeModes(foreseen?.after(row.uuid) ?? row).continue === null ? 'repeated' : 'interrupted'
  if (action === 'pause') return CAPABILITIES[row.spec.driver].canPauseSoftly ? 'finishes' : 'stands still'
  return 'goes on'
}

interface Children {
  readonly goOn: StakesView['children']['goOn']
  readonly end: StakesView['children']['end']
}

function childrenOf(world: StakesWorld, ending: readonly Process[]): Children {
  const { below } = world
  const nameOf = ({ uuid, pid, spec: { name } }: Process): Children['end'][number] => ({ uuid, pid, name })
  return {
    goOn: below.filter((row) => !isTouched(world, row)).map(nameOf),
    end: below.filter((row) => ending.includes(row)).map(nameOf),
  }
}

/** Counts the queued messages that no later incarnation can read. */
function messagesLostOf({ action, process, foreseen, refused }: StakesWorld, ending: readonly Process[]): number {
  if (action === 'remove') return refused === null ? process.queue.length : 0
  return sum(ending, (row) => {
    const after = foreseen?.after(row.uuid) ?? row
    const { continue: obstacle, rerun } = resumeModes(after)
    return obstacle !== null && rerun !== null ? after.queue.length : 0
  })
}

/** Returns the task of a crew member, and its state right after the action. */
function taskOf({ process, row, foreseen }: StakesWorld): StakesView['task'] {
  const { member } = process.spec
  const crew = member && row(member.crew)?.crew
  const id = crew?.members.find((one) => one.id === member?.id)?.task ?? null
  if (!member || id === null) return null
  const before = crew?.tasks.find((task) => task.id === id)
  const task = foreseen?.after(member.crew)?.crew?.tasks.find((one) => one.id === id) ?? before
  return task ? { id, becomes: task.state, worker: isClosed(task) || task.state === 'queued' ? null : task.implementer } : null
}

/** Returns the nodes of a compose run that could no longer start. */
function runOf({ process, row, foreseen }: StakesWorld): StakesView['run'] {
  const run = isComposeRun(process) ? process : process.parentUuid === null ? undefined : row(process.parentUuid)
  if (!run || !isComposeRun(run)) return null
  const before = new Map(composeRunOf(run).nodes.map(({ name, state }) => [name, state]))
  const nodes = composeRunOf(foreseen?.after(run.uuid) ?? run).nodes
  const endsItself = run === process && foreseen?.ended.has(run.uuid) === true
  const isBlocked = ({ name, state }: (typeof nodes)[number]): boolean =>
    (state === 'blocked' && before.get(name) !== 'blocked') || (endsItself && (state === 'waiting' || state === 'starting'))
  return { blocks: nodes.filter(isBlocked).map(({ name }) => name) }
}

function keptOf({ action, process, refused, files, foreseen }: StakesWorld, after: Process): StakesView['kept'] {
  const isRemoved = action === 'remove' && refused === null
  const modes = resumeModes(after)
  const hasWorktree = process.spec.worktree !== undefined && process.files !== undefined
  const isRetired = foreseen !== null && after.retiredAt !== null && process.retiredAt === null
  return {
    step: isRemoved || hasNoSteps(process) ? null : after.progress.wholeStep,
    resumable: !isRemoved && (isLiving(after) || modes.continue === null),
    worktree: hasWorktree && !isRemoved && !isRetired ? (process.spec.worktree?.dir ?? null) : null,
    salvage: isRemoved && hasWorktree && (files.unrecorded?.files ?? 0) > 0 ? `refs/reeve/salvage/${process.uuid}` : null,
  }
}

function hasNoSteps({ spec }: Process): boolean {
  return isPlainCommand(spec) || CAPABILITIES[spec.driver].supervisesChildren
}

interface Outcome {
  readonly ending: readonly Process[]
  readonly after: Process
  readonly children: Children
  readonly inFlight: readonly InFlightView[]
}

function notesOf(world: StakesWorld, outcome: Outcome): string[] {
  return [
    ...endNotes(world, outcome),
    ...resumeNotes(world, outcome),
    ...othersNotes(world, outcome),
    ...world.files.notes,
    ...limitNotes(world, outcome),
  ]
}

/** Notes about how the end or the pause comes: later than the request, or with a message to the agent. */
function endNotes({ action, process, foreseen }: StakesWorld, { inFlight }: Outcome): string[] {
  const notes: string[] = []
  if (action === 'pause' && inFlight.some(({ becomes: word }) => word === 'finishes'))
    notes.push(`The pause begins when the open call has finished. After ${DRAIN_MS / 1_000} s the call is frozen.`)
  if (action !== 'stop' || foreseen?.ended.has(process.uuid) !== true) return notes
  const disposition = dispositionOf(process.signals, 'SIGTERM')
  if (disposition === 'pending' || disposition === 'ignored')
    notes.push(`It ${disposition === 'pending' ? 'blocks' : 'ignores'} SIGTERM, so the stop comes up to ${DEFER_MS / 1_000} s later.`)
  if (disposition === 'message') notes.push('Its agent reads that it will be stopped, and may finish its work within the grace.')
  else if (isExternal(process.spec)) notes.push('Its agent gets SIGTERM, and may finish a step within the grace.')
  return notes
}

/** Notes about a later resume. */
function resumeNotes({ action, process, foreseen }: StakesWorld, { after }: Outcome): string[] {
  if (action === 'remove' || isLiving(after) || (foreseen === null && isLiving(process))) return []
  const { continue: obstacle, rerun } = resumeModes(after)
  if (obstacle === null) return []
  return [rerun === null ? 'It cannot continue: `--rerun` runs it again from its beginning.' : `It cannot be resumed: ${obstacle}.`]
}

/** Notes about processes that end or stay although no request names them. */
function othersNotes({ action, process, row, below, foreseen }: StakesWorld, { ending }: Outcome): string[] {
  if (!foreseen) return []
  const known = new Set([process.uuid, ...below.map(({ uuid }) => uuid)])
  const others = [...foreseen.ended].filter((uuid) => !known.has(uuid)).flatMap((uuid) => row(uuid) ?? [])
  const open = process.crew?.tasks.filter((task) => !isClosed(task)).length ?? 0
  return [
    ...others.map(({ pid, spec: { name, driver } }) => `The ${driver} ${name ?? pid} (PID ${pid}) ends, too.`),
    ...foreseen.effects.flatMap((effect) =>
      effect.type === 'crew.job' && effect.job.type === 'spawn' ? [`The crew starts ${effect.job.member}.`] : [],
    ),
    ...(ending.includes(process) && open > 0
      ? [`${open === 1 ? '1 task is' : `${open} tasks are`} not done; a resume of the crew continues.`]
      : []),
    ...(action === 'stop' && ending.some((each) => isSuspended(each))
      ? ['A suspended process gets no time to clean up: it is killed.']
      : []),
  ]
}

/** Notes about what the view does not list. */
function limitNotes({ foreseen }: StakesWorld, { children, inFlight }: Outcome): string[] {
  const left = Math.max(0, inFlight.length - MAX_LISTED)
  const more = Math.max(0, children.goOn.length - MAX_LISTED) + Math.max(0, children.end.length - MAX_LISTED)
  return [
    ...(more > 0
      ? [`${children.end.length} processes below it end, and ${children.goOn.length} go on; ${more} of them are not listed.`]
      : []),
    ...(left > 0 ? [`${left} more open calls are not listed.`] : []),
    ...(foreseen?.isWhole === false ? ['The tree is too large: what else follows from its last ends is not known.'] : []),
  ]
}
