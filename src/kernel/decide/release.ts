// The release of an incarnation at its end. Its steps in order: 0 orphans · 1 cancel · 2 await · 3 channel · 4 context · 5 zombie → dead ·
// 6 the row leaves the table. `terminate` records the exit and does steps 0 to 2; `reap` does the others when the driver has ended. Without
// a driver, steps 1 and 2 are left out. A daemon that starts repeats step 2 for zombies with surviving programs.
// Test: test/tables/kernel/decide/release.test.ts.
import { mayRestart, holdsToKeep } from './children.ts'
import { closeReservedCalls } from './close-open-calls.ts'
import { isProviderLimited } from '../model/exit.ts'
import { orphanChildren, settleUsage } from './limits/payer.ts'
import { isLiving } from '../model/status.ts'
import type { ReleaseAction } from '../model/effects.ts'
import type { ExitStatus, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/** Ends an incarnation: running → zombie. If a stop was recorded earlier, that stop is the cause. */
export function terminate(draft: DecisionDraft, process: Process, cause: ExitStatus): void {
  const { life } = process
  if (life.state === 'created')
    draft.emit(process.uuid, { type: 'process.started', mono: draft.now.mono, attached: false, containment: null })
  else if (life.state !== 'running') return
  const exit = effectiveExit(process, life.state === 'running' ? (life.stopping?.exit ?? cause) : cause)
  const hasDriver = life.state === 'running' && life.attached
  closeReservedCalls(draft, process.uuid)
  orphanChildren(draft, process)
  const holds = holdsToKeep(process, exit)
  draft.emit(process.uuid, {
    type: 'process.exited',
    exit,
    mono: draft.now.mono,
    ...(holds.length > 0 ? { holds } : {}),
    ...settleUsage(draft, process.uuid),
  })
  notifyParent(draft, process, exit)
  if (hasDriver) addReleaseEffects(draft, process, 'cancel', 'await')
  else reap(draft, process)
}

/** The exit, with the user as its cause if a stop by the user was pending, so that nothing restarts the process. */
function effectiveExit(process: Process, exit: ExitStatus): ExitStatus {
  const {
    signals: { pending },
    spec,
  } = process
  const hasUserStop = pending.some(
    ({ signal, by }) => by === 'user' && (signal === 'SIGTERM' || (signal === 'SIGINT' && !spec.interactive)),
  )
  if (!hasUserStop || (!isProviderLimited(exit) && !mayRestart(process))) return exit
  const { resumeAt: _, account: __, ...others } = exit
  return { ...others, cause: 'person' }
}

/** Waits for the end of a zombie's surviving programs. The daemon answers with the input `released`. */
export function awaitEnd(draft: DecisionDraft, process: Process): void {
  addReleaseEffects(draft, process, 'await')
}

/** Completes the release of a zombie whose driver has ended: zombie → dead. */
export function reap(draft: DecisionDraft, process: Process): void {
  addReleaseEffects(draft, process, 'channel', 'context')
  draft.emit(process.uuid, { type: 'process.reaped', ...settleUsage(draft, process.uuid) })
  addReleaseEffects(draft, process, 'remove')
  draft.followUps.push({ type: 'ended', uuid: process.uuid })
}

/** The note of a zombie with surviving programs: their OS pids. */
export function survivorsText(survivors: readonly number[]): string {
  return `${SURVIVORS_PREFIX}${[...new Set(survivors)].join(', ')}`
}

const SURVIVORS_PREFIX = 'still alive after the kill: PID '

/** True for a zombie whose programs survived the kill. */
export function hasSurvivors({ life, note }: Pick<Process, 'life' | 'note'>): boolean {
  return life.state === 'zombie' && note?.startsWith(SURVIVORS_PREFIX) === true
}

/** Informs the living parent of the exit. */
function notifyParent(draft: DecisionDraft, process: Process, exit: ExitStatus): void {
  const parent = process.parent === null ? undefined : draft.get(process.parent)
  if (!parent || !isLiving(parent)) return
  draft.emit(parent.uuid, { type: 'child.exited', child: process.uuid, childPid: process.pid, code: exit.code, reason: exit.reason })
}

function addReleaseEffects(draft: DecisionDraft, process: Process, ...actions: readonly ReleaseAction[]): void {
  for (const action of actions) draft.addEffect({ type: 'release', action, uuid: process.uuid, pid: process.pid })
}
