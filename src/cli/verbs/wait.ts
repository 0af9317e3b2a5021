// `reeve wait`: waits until processes meet a condition, and meanwhile reports why they do not continue. Exits with the code of the
// process. The exit code is 123 if the process first meets another requested condition, and 124 after the time limit. Tests:
// test/e2e/cli/cli.test.ts, test/e2e/cli/blocked.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import type { WaitFor } from '../../index.ts'
import { watchBlocks } from '../follow/block-notices.ts'
import { processTitle, endingText, hasEnded } from '../print/process-text.ts'
import { UsageError } from '../errors.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'
import { WAIT_TARGETS } from '../../kernel/model/words.ts'

const WAITABLE: readonly string[] = WAIT_TARGETS
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
  const conditions = parseConditions(args.text('for') ?? 'exited')
  const timeoutMs = args.duration('timeout')
  const stopWaiting = new AbortController()
  // The wait uses UUIDs, because the PIDs change if the daemon restarts meanwhile.
  const uuids = (await Promise.all(args.words.map((ref) => resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))))).map(
    ({ uuid }) => uuid,
  )
  const waits = uuids.map((uuid) =>
    reeve.wait(uuid, { for: conditions, signal: stopWaiting.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
  )
  const watching = watchBlocks({
    reeve,
    out,
    signal: stopWaiting.signal,
    readStates: async () => withoutConditionMet(await Promise.all(uuids.map((uuid) => reeve.get(uuid))), conditions),
  })
  let results: WaitResult[]
  try {
    results = args.on('any') ? [await Promise.race(waits)] : await Promise.all(waits)
  } finally {
    // Ends the waits that are not needed any more, and ignores their errors.
    stopWaiting.abort()
    await Promise.allSettled([...waits, watching])
  }
  const hasTimedOut = results.some((result) => result.timedOut)
  if (out.json) await out.value({ processes: results.map(({ process }) => process), timedOut: hasTimedOut })
  else if (!out.quiet) for (const result of results) await out.line(resultText(result, conditions))
  return hasTimedOut ? TIMED_OUT : (results.map(({ process }) => codeOf(process, conditions)).find((code) => code !== 0) ?? 0)
}

/** Parses the value of `--for`. Errors: usage. */
function parseConditions(text: string): WaitFor[] {
  const words = text.split(',').map((word) => word.trim())
  const wrong = words.find((word) => !WAITABLE.includes(word))
  if (wrong !== undefined)
    throw new UsageError(
      `--for ${text}: choose from ${WAITABLE.join(', ')}`,
      'Separate several by commas: `--for exited,suspended,waiting`.',
    )
  return words as WaitFor[]
}

/** Returns the processes that meet no condition yet: only these are reported while waiting. */
function withoutConditionMet(processes: readonly ProcessView[], conditions: readonly string[]): ProcessView[] {
  return processes.filter(({ status }) => !conditions.includes(status))
}

/**
 * Returns the exit code for a process. If an exit was awaited, it is the code of the process, or 123 if the process meets another condition
 * before its end. Otherwise it is 0, or 125 if the process has ended without meeting the condition.
 */
function codeOf(process: ProcessView, conditions: readonly WaitFor[]): number {
  const awaitsExit = conditions.includes('exited')
  if (hasEnded(process)) return awaitsExit ? (process.exit?.code ?? CONDITION_NOT_MET) : CONDITION_NOT_MET
  return awaitsExit ? NOT_EXITED : 0
}

function resultText({ process, timedOut }: WaitResult, conditions: readonly WaitFor[]): string {
  if (timedOut) return `${processTitle(process)} ${process.status}: timed out waiting for ${conditions.join(' or ')}`
  return `${processTitle(process)} ${hasEnded(process) ? endingText(process) : process.status}`
}
