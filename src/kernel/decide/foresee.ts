// Foresees what a stop, a kill, a pause or a resume would do. Runs the real decisions on an overlay of the table, with the reports that the
// driver and the daemon would send. Commits nothing and performs no effect, so the table never changes. An agent may end earlier or do more
// within its grace: only the decisions are certain. Test: test/tables/daemon/stakes/stakes.test.ts.
import { KernelError } from '../model/errors.ts'
import { Overlay } from '../state/live-table.ts'
import { step } from './step.ts'
import type { Effect } from '../model/effects.ts'
import type { Input, InputBody } from '../model/inputs.ts'
import type { Now, Uuid } from '../model/ids.ts'
import type { Process } from '../model/process.ts'
import type { LiveTable } from '../state/live-table.ts'

/** The maximum number of inputs; what follows them stays unknown. A process needs two, and a thousand inputs take about 60 ms. */
const MAX_INPUTS = 1_000

/** What an input would lead to. */
export interface Foreseen {
  /** returns the row of a process after all decisions, even if it would be dead; undefined: the process is in no table */
  readonly after: (uuid: Uuid) => Process | undefined
  /** the processes whose incarnation would end, in the order of their ends */
  readonly ended: ReadonlySet<Uuid>
  /** the effects that the daemon would perform */
  readonly effects: readonly Effect[]
  /** false: the limit was reached, so what follows the last ends is unknown */
  readonly isWhole: boolean
}

/** Foresees the effects of a request. Errors: those with which the kernel would refuse it. */
export function foresee(table: LiveTable, request: InputBody, now: Now): Foreseen {
  const overlay = new Overlay(table)
  const effects: Effect[] = []
  const ended = new Set<Uuid>()
  const queue: Input[] = [{ ...request, now }]
  let count = 0
  for (; count < MAX_INPUTS; count += 1) {
    const input = queue.shift() ?? nextDeadlineInput(overlay, now)
    if (!input) break
    const decision = step(overlay, input)
    for (const row of decision.changes.processes.values()) overlay.put(row)
    overlay.lastPid = decision.changes.lastPid
    overlay.home = decision.changes.home
    for (const { uuid, body } of decision.changes.facts) if (body.type === 'process.exited') ended.add(uuid)
    for (const effect of decision.effects) {
      if (effect.type === 'refuse') throw new KernelError(effect.code, effect.message, effect.details, effect.hint)
      effects.push(effect)
      const answer = answerTo(effect)
      if (answer) queue.push({ ...answer, now: input.now })
    }
  }
  const isWhole = count < MAX_INPUTS
  // The ends of stopping processes are certain, because their requests to stop are recorded.
  if (!isWhole) for (const { uuid, life } of overlay.processes.values()) if (life.state === 'running' && life.stopping) ended.add(uuid)
  return { after: (uuid) => overlay.processes.get(uuid) ?? table.get(uuid), ended, effects, isWhole }
}

/** The input that follows when an effect ends programs: the driver reports the exit, then the daemon the release. */
function answerTo(effect: Effect): InputBody | null {
  if (effect.type === 'driver.stop')
    return {
      type: 'report',
      reply: 0,
      uuid: effect.uuid,
      pid: effect.pid,
      report: { type: 'exited', code: null, osSignal: effect.signal },
    }
  if (effect.type === 'release' && effect.action === 'await') return { type: 'released', uuid: effect.uuid, pid: effect.pid, survivors: [] }
  return null
}

/** The deadline of a stop that has begun: the end of a wrap-up, or of the delay of a blocked signal. Null if no stop waits. */
function nextDeadlineInput(overlay: Overlay, now: Now): Input | null {
  for (const { uuid, life, signals } of overlay.processes.values()) {
    if (life.state !== 'running') continue
    const dues = [
      ...(life.stopping?.wrapUp ? [life.stopping.wrapUp.dueMono] : []),
      ...(life.stopping
        ? []
        : signals.pending.flatMap(({ signal, dueMono }) => (signal === 'SIGTERM' && dueMono !== null ? [dueMono] : []))),
    ]
    const due = dues[0]
    if (due === undefined) continue
    const mono = Math.max(due, now.mono)
    return { type: 'tick', uuid, now: { mono, wall: now.wall + (mono - now.mono) } }
  }
  return null
}
