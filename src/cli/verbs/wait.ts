// `reeve wait`: waits until processes meet a condition, and meanwhile reports why they do not continue. Exits with the code of the
// process. 75: with `--for done`, the process needs the user. 123: it first meets another requested condition. 124: the time limit has
// passed. Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/blocked.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import { mayChangeBlock, watchBlocks } from '../follow/block-notices.ts'
import { WaitNote } from '../follow/wait-note.ts'
import { blockText, findBlock } from '../print/blocked.ts'
import { processTitle, endingText, hasEnded } from '../print/process-text.ts'
import { joinWaits, needsUserToContinue, processWait, type WaitGoal } from '../print/wait-text.ts'
import { UsageError } from '../errors.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'
import { WAIT_TARGETS } from '../../kernel/model/words.ts'

/** `done`: the process has ended, is ready with nothing left to do, or needs the user. The daemon does not know this condition. */
const WAITABLE: readonly string[] = [...WAIT_TARGETS, 'done']
/** the exit code of `--for done` if the process needs the user, as EX_TEMPFAIL of sysexits.h */
const NEEDS_USER = 75
/** the exit code if a process meets another condition before its end */
const NOT_EXITED = 123
/** the exit code after the time limit */
const TIMED_OUT = 124
/** the exit code if a process has ended without meeting the condition */
const CONDITION_NOT_MET = 125

/** The result of the wait for one process. */
interface WaitResult {
  process: ProcessView
  timedOut: boolean
}

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const goals = parseConditions(args.text('for') ?? 'exited')
  const timeoutMs = args.duration('timeout')
  const stopWaiting = new AbortController()
  await using note = new WaitNote(out)
  // The wait uses UUIDs, because the PIDs change if the daemon restarts meanwhile.
  const uuids = (await Promise.all(args.words.map((ref) => resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))))).map(
    ({ uuid }) => uuid,
  )
  const waits = uuids.map((uuid) => waitFor(reeve, uuid, { goals, signal: stopWaiting.signal, timeoutMs }))
  const watching = watchBlocks({
    reeve,
    out,
    signal: stopWaiting.signal,
    alsoAfter: GOAL_FACTS,
    readStates: async () => {
      const unmet = (await Promise.all(uuids.map((uuid) => reeve.get(uuid)))).filter((process) => !isMet(process, goals))
      // The notices state the waits for blocked processes.
      note.set(joinWaits(unmet.filter((process) => !findBlock(process)).map((process) => processWait(process, goals))))
      return unmet
    },
  })
  let results: WaitResult[]
  try {
    results = args.on('any') ? [await Promise.race(waits)] : await Promise.all(waits)
  } finally {
    // Ends the waits that are no longer needed, and ignores their errors.
    stopWaiting.abort()
    await Promise.allSettled([...waits, watching])
  }
  const hasTimedOut = results.some((result) => result.timedOut)
  if (out.json) await out.value({ processes: results.map(({ process }) => process), timedOut: hasTimedOut })
  else if (!out.quiet) for (const result of results) await out.line(resultText(result, goals))
  for (const { process } of goals.includes('done') ? results : [])
    if (needsUserToContinue(process)) await out.message(blockText(process) ?? '')
  return hasTimedOut ? TIMED_OUT : (results.map(({ process }) => codeOf(process, goals)).find((code) => code !== 0) ?? 0)
}

/** The facts that may change whether a process meets a goal, beside those that may change a block. */
const GOAL_FACTS: ReadonlySet<string> = new Set([
  'process.ready',
  'process.started',
  'process.working',
  'process.queue',
  'process.stopping',
  'process.drained',
  'process.exited',
  'process.reaped',
])

interface WaitRequest {
  readonly goals: readonly WaitGoal[]
  readonly signal: AbortSignal
  readonly timeoutMs: number | undefined
}

/** Waits in the daemon; for `done`, which the daemon does not know, with its events. */
async function waitFor(reeve: Reeve, uuid: string, { goals, signal, timeoutMs }: WaitRequest): Promise<WaitResult> {
  const targets = goals.filter((goal) => goal !== 'done')
  if (targets.length === goals.length) return reeve.wait(uuid, { for: targets, signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  const timeout = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs)
  const { cursor: after } = await reeve.daemon({ signal })
  let process = await reeve.get(uuid, { signal })
  if (!isMet(process, goals))
    for await (const event of reeve.events({
      process: uuid,
      after,
      follow: true,
      signal: timeout ? AbortSignal.any([signal, timeout]) : signal,
    })) {
      if (!mayChangeBlock(event) && !GOAL_FACTS.has(String(event['fact']))) continue
      process = await reeve.get(uuid, { signal })
      if (isMet(process, goals)) break
    }
  if (!isMet(process, goals)) process = await reeve.get(uuid, { signal })
  return { process, timedOut: !isMet(process, goals) }
}

/** Whether the process meets one of the goals. Its end is final only when its programs are gone. */
function isMet(process: ProcessView, goals: readonly WaitGoal[]): boolean {
  if (process.state === 'dead' || goals.some((goal) => goal === process.status)) return true
  if (!goals.includes('done')) return false
  return needsUserToContinue(process) || (process.status === 'ready' && process.interactive && process.queueCount === 0)
}

/** Parses the value of `--for`. Errors: usage. */
function parseConditions(text: string): WaitGoal[] {
  const words = text.split(',').map((word) => word.trim())
  const wrong = words.find((word) => !WAITABLE.includes(word))
  if (wrong !== undefined)
    throw new UsageError(
      `--for ${text}: choose from ${WAITABLE.join(', ')}`,
      'Separate several by commas: `--for exited,suspended,waiting`.',
    )
  return words as WaitGoal[]
}

/**
 * Returns the exit code for a process. If an exit was awaited, it is the code of the process, or 123 if the process meets another condition
 * before its end. Otherwise it is 0, or 125 if the process has ended without meeting the condition. With `done` it is the code of an ended
 * process, 0 for one that is ready, and 75 for one that needs the user.
 */
function codeOf(process: ProcessView, conditions: readonly WaitGoal[]): number {
  if (conditions.includes('done'))
    return hasEnded(process) ? (process.exit?.code ?? CONDITION_NOT_MET) : needsUserToContinue(process) ? NEEDS_USER : 0
  const awaitsExit = conditions.includes('exited')
  if (hasEnded(process)) return awaitsExit ? (process.exit?.code ?? CONDITION_NOT_MET) : CONDITION_NOT_MET
  return awaitsExit ? NOT_EXITED : 0
}

function resultText({ process, timedOut }: WaitResult, conditions: readonly WaitGoal[]): string {
  if (timedOut) return `${processTitle(process)} ${process.status}: timed out waiting for ${conditions.join(' or ')}`
  return `${processTitle(process)} ${hasEnded(process) ? endingText(process) : process.status}`
}
