// Ends a process and waits until it has ended, for verbs such as `kill` and `stop`. Must never report the end before the process has
// ended. Test: test/e2e/cli/cli.test.ts.
import type { Reeve } from '../../index.ts'
import type { ProcessView, SteerView } from '../../api/views/process.ts'
import { processTitle, endingText, hasEnded } from '../print/process-text.ts'
import type { ActionResult } from './for-each-process.ts'
import { outcomeFields, outcomeSuffix } from './signal-outcome.ts'
import { formatClock, formatCount } from '../../faces/format.ts'
import { withWaitNote } from '../follow/wait-note.ts'
import type { Wait } from '../print/wait-text.ts'
import type { CommandContext } from '../table/verb.ts'
import type { Signal } from '../../kernel/model/words.ts'

/** the wait after the grace: a process can delay a signal by 10 s, and its programs are killed after that */
const KILL_WAIT_MS = 15_000

export interface StopRequest {
  readonly signal: Signal
  /** the time between SIGTERM and SIGKILL, in ms; absent: the value of the agent */
  readonly graceMs?: number | undefined
  /** the minimum grace if `graceMs` is absent, in ms */
  readonly minGraceMs?: number
  /** whether all descendants are ended, too */
  readonly subtree: boolean
}

/** Sends the signal, and waits for the end. `exit` of the result is 1 if a process has not ended after the grace and 15 s. */
export async function stopAndWait({ reeve, out }: CommandContext, ref: string, request: StopRequest): Promise<ActionResult> {
  const { signal, graceMs, minGraceMs, subtree } = request
  const options = graceMs !== undefined ? { graceMs } : minGraceMs !== undefined ? { leastGraceMs: minGraceMs } : {}
  const before = subtree ? await findDescendants(reeve, ref) : []
  const answer = await (subtree ? reeve.signalTree(ref, signal, options) : reeve.signal(ref, signal, options))
  // A process that started before the signal reached the subtree has received it, too.
  const descendants = subtree ? new Map([...before, ...(await findDescendants(reeve, answer.process.uuid))]) : new Map<string, string>()
  const grace = graceOf(answer, graceMs ?? minGraceMs ?? 0)
  const timeoutMs = grace + KILL_WAIT_MS
  const living = new Map([[answer.process.uuid, processTitle(answer.process)], ...descendants])
  const waitFor = async (uuid: string): Promise<{ process: ProcessView; timedOut: boolean }> => {
    const end = await reeve.wait(uuid, { timeoutMs })
    living.delete(uuid)
    return end
  }
  const killAt = signal === 'SIGKILL' ? null : Date.now() + grace
  const [{ process, timedOut }, ...others] = await withWaitNote(
    out,
    () => describeWait([...living.values()], killAt),
    Promise.all([waitFor(answer.process.uuid), ...[...descendants.keys()].map(waitFor)] as const),
  )
  const notEnded = others.filter((other) => other.timedOut || !hasEnded(other.process)).map((other) => processTitle(other.process))
  const suffix = `${outcomeSuffix(answer)}${notEnded.length === 0 ? '' : `; not ended yet: ${notEnded.join(', ')}`}`
  const fields = { affected: answer.affected, process, ...outcomeFields(answer) }
  if (timedOut || !hasEnded(process))
    return {
      message: `${processTitle(process)} has not ended yet (${process.state === 'zombie' && process.note ? process.note : process.status})${suffix}`,
      fields,
      exit: 1,
    }
  return { message: `${processTitle(process)} ${endingText(process)}${suffix}`, fields, ...(notEnded.length === 0 ? {} : { exit: 1 }) }
}

/** Describes the wait. `titles`: the processes that have not ended; `killAt`: when SIGKILL ends them, null if it was sent at once. */
function describeWait(titles: readonly string[], killAt: number | null): Wait | null {
  const [first, ...others] = titles
  if (first === undefined) return null
  const more = others.length === 0 ? '' : ` and ${formatCount(others.length, 'process')} more`
  const now = Date.now()
  return {
    key: titles.join(),
    what: `${first}${more} to end`,
    ends:
      killAt === null || killAt < now
        ? 'after SIGKILL it ends when its programs are gone'
        : `SIGKILL ends it at ${formatClock(new Date(killAt).toISOString(), now)}`,
  }
}

/** Returns the titles of all living descendants, by UUID. */
async function findDescendants(reeve: Reeve, ref: string): Promise<Map<string, string>> {
  const [root, rows] = await Promise.all([reeve.get(ref), reeve.list({ fields: ['uuid', 'pid', 'ppid', 'name', 'state'] })])
  const pids = new Set([root.pid])
  const found = new Map<string, string>()
  for (let before = -1; before !== pids.size;) {
    before = pids.size
    for (const { uuid, pid, ppid, name, state } of rows) {
      if (!pids.has(ppid) || pids.has(pid)) continue
      pids.add(pid)
      if (state !== 'zombie') found.set(uuid, processTitle({ pid, name }))
    }
  }
  return found
}

/** Returns the grace in force, or the requested one while the process delays the signal. */
function graceOf({ process }: SteerView, requestedMs: number): number {
  return process.stopping?.graceMs ?? requestedMs
}
