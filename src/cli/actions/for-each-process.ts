// Runs a verb on several processes in parallel. A failure does not stop the others, unless the daemon cannot be reached. The first failure
// gives the exit code. Results are printed in the order of the processes.
// Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/several-processes.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import { exitCode } from '../errors.ts'
import { processTitle } from '../print/process-text.ts'
import { formatCount } from '../../faces/format.ts'
import { toReportedError } from '../print/hints.ts'
import { errorText } from '../print/output.ts'
import { stripControls } from '../print/text.ts'
import type { CommandContext, VerbCall } from '../table/verb.ts'
import { isAllConfirmed, selectProcesses, type SelectionRules, type Target } from './select-processes.ts'

/** The result for one process. */
export interface ActionResult {
  /** the line for the user */
  readonly message: string
  /** lines that are the result itself, on stdout, instead of the message */
  readonly lines?: readonly string[]
  /** the fields of the JSON result */
  readonly fields: object
  /** the exit code, if the action was refused or has not finished; absent: 0 */
  readonly exit?: number
}

type Attempt = { readonly result: ActionResult } | { readonly error: unknown }

/** the greatest number of processes that a verb acts on in parallel */
const MAX_PARALLEL = 64

/** Runs an action on each process that the words name. */
export async function forEachProcess({ args, out }: VerbCall, act: (ref: string) => Promise<ActionResult>): Promise<number> {
  const { exit } = await runOnEach(
    out,
    args.words.map((ref) => ({ ref })),
    ({ ref }) => act(ref),
  )
  return exit
}

/** What a verb does with the processes that words, patterns, labels or `--all` select. */
export interface SelectingAction {
  readonly rules: SelectionRules
  /** the verb in the question about `--all`: `Stop` */
  readonly question: string
  /** the past participle in the summary: `stopped` */
  readonly outcome: string
  /** acts on one process; `count`: the number of all targets */
  readonly act: (ref: string, target: Target, count: number) => Promise<ActionResult>
  /** the action changes nothing, so there is no question */
  readonly isDryRun?: boolean
  /** returns lines that are shown before a question */
  readonly preview?: (targets: readonly Target[]) => Promise<readonly string[]>
}

/** Runs an action on each process that words, patterns, labels or `--all` select. Returns 1 if the user refuses. */
export async function forEachSelected(
  call: VerbCall,
  { rules, question, outcome, act, isDryRun = false, preview }: SelectingAction,
): Promise<number> {
  const { out } = call
  const targets = await selectProcesses(call, rules)
  if (!isDryRun && !(await isAllConfirmed(call, question, targets, preview))) return 1
  const { exit, succeeded } = await runOnEach(out, targets, (target) => actUnlessEnded(target, (ref) => act(ref, target, targets.length)))
  if (out.json) return exit
  if (targets.length === 0) await out.message(`no ${rules.adjective} processes`)
  if (targets.length > 1)
    await out.message(`${succeeded < targets.length ? `${succeeded} of ` : ''}${formatCount(targets.length, 'process')} ${outcome}`)
  return exit
}

/** Runs an action on a target. It is not an error if a selected process has ended since its selection. */
async function actUnlessEnded({ ref, selected }: Target, act: (ref: string) => Promise<ActionResult>): Promise<ActionResult> {
  try {
    return await act(ref)
  } catch (error) {
    if (selected === undefined || !(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
    const { uuid, pid, name } = selected
    return {
      message: stripControls(`${processTitle(selected)} has already ended`),
      fields: { affected: 0, process: { uuid, pid, name } },
    }
  }
}

async function runOnEach(
  out: CommandContext['out'],
  targets: readonly Target[],
  act: (target: Target) => Promise<ActionResult>,
): Promise<{ readonly exit: number; readonly succeeded: number }> {
  const results: object[] = []
  let [exit, succeeded] = [0, 0]
  const attempts = runInParallel(targets, act)
  for (const [at, { ref }] of targets.entries()) {
    const attempt = (await attempts[at]) as Attempt
    if ('result' in attempt) {
      results.push({ ref, ...attempt.result.fields })
      if (!out.json && attempt.result.lines) for (const line of attempt.result.lines) await out.line(line)
      else if (!out.json) await out.message(attempt.result.message)
      exit ||= attempt.result.exit ?? 0
      succeeded += attempt.result.exit === undefined ? 1 : 0
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
  return { exit, succeeded }
}

/** Runs the actions. Each one begins when the action `MAX_PARALLEL` positions before it has ended. */
function runInParallel(targets: readonly Target[], act: (target: Target) => Promise<ActionResult>): Promise<Attempt>[] {
  const attempts: Promise<Attempt>[] = []
  for (const [at, target] of targets.entries()) {
    const begin = (): Promise<Attempt> =>
      act(target).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      )
    attempts.push(attempts[at - MAX_PARALLEL]?.then(begin) ?? begin())
  }
  return attempts
}
