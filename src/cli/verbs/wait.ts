// `reeve wait`: until processes are as asked. Gives the process's own exit code, 124 when the time is over.
// Test: test/e2e/cli.test.ts.
import type { ProcessView } from '../../api/views.ts'
import type { WaitFor } from '../../index.ts'
import { called, ending, hasEnded } from '../describe.ts'
import { UsageError } from '../errors.ts'
import type { Call } from '../verbs.ts'

export const WAITABLE: readonly string[] = ['exited', 'ready', 'suspended', 'waiting'] satisfies WaitFor[]
const TIMED_OUT = 124
const NEVER = 125

interface Waited { process: ProcessView; timedOut: boolean }

export async function run({ args, out, reeve }: Call): Promise<number> {
  const wanted = args.text('for') ?? 'exited'
  if (!WAITABLE.includes(wanted)) throw new UsageError(`--for ${wanted}: there is ${WAITABLE.join(', ')}`)
  const timeoutMs = args.duration('timeout')
  const enough = new AbortController()
  // A restart of the daemon, which a wait outlasts, changes PIDs.
  const uuids = (await Promise.all(args.words.map((ref) => reeve.get(ref)))).map(({ uuid }) => uuid)
  const waits = uuids.map((uuid) => reeve.wait(uuid, { for: wanted as WaitFor, signal: enough.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) }))
  let results: Waited[]
  try {
    results = args.on('any') ? [await Promise.race(waits)] : await Promise.all(waits)
  } finally {
    // Those that are still waited for end here; that they were cut off is no news.
    enough.abort()
    await Promise.allSettled(waits)
  }
  const timedOut = results.some((result) => result.timedOut)
  if (out.json) await out.value({ processes: results.map(({ process }) => process), timedOut })
  else if (!out.quiet) for (const result of results) await out.line(said(result, wanted))
  return timedOut ? TIMED_OUT : results.map(({ process }) => codeOf(process, wanted)).find((code) => code !== 0) ?? 0
}

/** The process's own code; for another wish 0, unless it ended before that. */
function codeOf(process: ProcessView, wanted: string): number {
  if (wanted === 'exited') return process.exit?.code ?? NEVER
  return hasEnded(process) ? NEVER : 0
}

function said({ process, timedOut }: Waited, wanted: string): string {
  if (timedOut) return `${called(process)} ${process.status}: timed out waiting for ${wanted}`
  return `${called(process)} ${hasEnded(process) ? ending(process) : process.status}`
}
