// Runs a verb on several processes in parallel. A failure does not stop the others, and the first failure gives the exit code. Results
// are printed in the order of the arguments. Test: test/e2e/cli/cli.test.ts.
import { ApiError } from '../../api/client/client.ts'
import { exitCode } from '../errors.ts'
import { toReportedError } from '../print/hints.ts'
import { errorText } from '../print/output.ts'
import type { VerbCall } from '../table/verb.ts'

/** The result for one process. */
export interface ActionResult {
  /** the line for the user */
  readonly message: string
  /** the fields of the JSON result */
  readonly fields: object
  /** the exit code, if the action succeeded only in part; absent: 0 */
  readonly exit?: number
}

type Attempt = { readonly result: ActionResult } | { readonly error: unknown }

/** the number of processes that are handled in parallel */
const MAX_PARALLEL = 16

export async function forEachProcess({ args, out }: VerbCall, act: (ref: string) => Promise<ActionResult>): Promise<number> {
  const results: object[] = []
  let exit = 0
  const attempts = runInParallel(args.words, act)
  for (const [at, ref] of args.words.entries()) {
    const attempt = (await attempts[at]) as Attempt
    if ('result' in attempt) {
      results.push({ ref, ...attempt.result.fields })
      if (!out.json) await out.message(attempt.result.message)
      exit ||= attempt.result.exit ?? 0
      continue
    }
    if (!(attempt.error instanceof ApiError)) throw attempt.error
    const { code, message, hint } = toReportedError(attempt.error)
    results.push({ ref, error: { code, message, hint } })
    if (!out.json) await out.raw('stderr', `${errorText({ message, hint }, false)}\n`)
    exit ||= exitCode(attempt.error, false)
    if (code === 'UNAVAILABLE') break
  }
  if (out.json) await out.value({ results })
  return exit
}

/** Runs the actions. Each one begins when the action `MAX_PARALLEL` positions before it has ended. */
function runInParallel(refs: readonly string[], act: (ref: string) => Promise<ActionResult>): Promise<Attempt>[] {
  const attempts: Promise<Attempt>[] = []
  for (const [at, ref] of refs.entries()) {
    const begin = (): Promise<Attempt> =>
      act(ref).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      )
    attempts.push(attempts[at - MAX_PARALLEL]?.then(begin) ?? begin())
  }
  return attempts
}
