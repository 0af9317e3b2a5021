// `reeve resume --all-interrupted`, for the time after a crash. Lists the interrupted processes, asks the user, and resumes one after the
// other, parents before children. Stops after three failures in a row, because their cause probably affects all processes. Test:
// test/e2e/cli/resume.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { ResumablesView } from '../../api/views/resume.ts'
import type { ProcessView } from '../../api/views/process.ts'
import { askToConfirm } from '../input/confirm.ts'
import { formatTable } from '../print/format-table.ts'
import { processTitle, endingText, hasEnded, startText } from '../print/process-text.ts'
import { UsageError } from '../errors.ts'
import { formatCount, shortId } from '../../faces/format.ts'
import { oneLine, stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

/** the greatest number of processes that one command resumes */
const MAX_AT_ONCE = 20
/** the number of failures in a row after which the command stops */
const MAX_FAILURES_IN_A_ROW = 3
/** the longest wait for the start of a process */
const START_MS = 60_000
/** the number of rows per request */
const PAGE_ROWS = 1_000

interface Outcome {
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  /** null: the process has started */
  readonly error: string | null
}

type Interrupted = Pick<ProcessView, 'uuid' | 'pid' | 'name' | 'agent' | 'status' | 'step' | 'createdAt' | 'intent'>

/** Resolves to the exit code: 1 if the user does not confirm, or if a process did not start. */
export async function resumeAllInterrupted(call: VerbCall): Promise<number> {
  const { out, reeve } = call
  const all = await reeve.list({ all: true, fields: ['uuid', 'pid', 'name', 'agent', 'status', 'step', 'createdAt', 'intent'] })
  // The oldest process comes first, which puts parents before their children.
  const interrupted = all.filter(({ status }) => status === 'interrupted').toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  const notResumable = interrupted.length === 0 ? new Map<string, string>() : await findNotResumable(call, interrupted)
  const [plan, skipped] = [
    interrupted.filter(({ uuid }) => !notResumable.has(uuid)),
    interrupted.filter(({ uuid }) => notResumable.has(uuid)),
  ]
  if (!out.json && interrupted.length > 0) await printPlan(call, plan, skipped, notResumable)
  if (plan.length === 0) {
    if (out.json) await out.value({ plan, stays: skipped, resumed: [], left: [] })
    else
      await out.message(
        skipped.length === 0
          ? 'nothing was interrupted'
          : 'none of them can be resumed; `reeve resume --rerun P` runs one again from its beginning',
      )
    return 0
  }
  if (!(await isConfirmed(call, plan.length))) {
    await out.message('nothing was resumed')
    return 1
  }
  const outcomes = await resumeInOrder(call, plan.slice(0, MAX_AT_ONCE))
  const left = plan.slice(outcomes.length)
  if (out.json) await out.value({ plan, stays: skipped, resumed: outcomes, left })
  else await printOutcomes(call, outcomes, left)
  return outcomes.every(({ error }) => error === null) ? 0 : 1
}

/**
 * Returns the processes that cannot continue, such as plain commands, each with the flag that runs it again, or `no`. Resuming them would
 * fail, and would stop the command.
 */
async function findNotResumable({ reeve }: VerbCall, interrupted: readonly Interrupted[]): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(interrupted.map(({ uuid }) => uuid))
  const found = new Map<string, string>()
  for (let after: string | null = null; wanted.size > 0;) {
    const page: ResumablesView = await reeve.resumable({ limit: PAGE_ROWS, ...(after === null ? {} : { after }) })
    for (const { uuid, modes } of page.processes)
      if (wanted.delete(uuid) && modes.continue !== null) found.set(uuid, modes.rerun === null ? '--rerun' : 'no')
    after = page.next
    if (after === null) break
  }
  return found
}

async function printPlan(
  { out }: VerbCall,
  plan: readonly Interrupted[],
  skipped: readonly Interrupted[],
  notResumable: ReadonlyMap<string, string>,
): Promise<void> {
  const cells = [...plan, ...skipped].map(({ pid, uuid, name, agent, step, intent }, index) => [
    String(pid),
    shortId(uuid),
    name === null ? '-' : oneLine(name),
    oneLine(agent),
    String(step),
    notResumable.get(uuid) ?? (index < MAX_AT_ONCE ? 'resume' : 'later'),
    oneLine(intent),
  ])
  const lines = formatTable(
    [
      { title: 'PID', side: 'right' },
      { title: 'ID' },
      { title: 'NAME', min: 8 },
      { title: 'AGENT', min: 7 },
      { title: 'STEP', side: 'right' },
      { title: 'PLAN' },
      { title: 'INTENT', min: 8 },
    ],
    cells,
    out.columns,
    out.ellipsis,
  )
  await out.line(lines.join('\n'))
}

/** Whether the user agrees, by `--yes` or an answer. Errors: `UsageError` without either a terminal or `--yes`. */
async function isConfirmed({ args, out }: VerbCall, count: number): Promise<boolean> {
  if (args.on('yes')) return true
  if (!out.json && process.stdin.isTTY && out.isTerminal('stderr'))
    return askToConfirm(`Resume ${formatCount(Math.min(count, MAX_AT_ONCE), 'process')}?`)
  throw new UsageError(
    `${formatCount(count, 'process')} would be resumed, and there is no terminal to ask on`,
    'Use --yes to skip the question.',
  )
}

async function resumeInOrder(call: VerbCall, plan: readonly Interrupted[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { uuid, pid, name } of plan) {
    const last = outcomes.slice(-MAX_FAILURES_IN_A_ROW)
    if (last.length === MAX_FAILURES_IN_A_ROW && last.every(({ error }) => error !== null)) break
    const outcome = await resumeOne(call, uuid).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code === 'UNAVAILABLE') throw error
      return { uuid, pid, name, error: error.message }
    })
    outcomes.push(outcome)
    if (!call.out.json && outcome.error !== null)
      await call.out.message(stripControls(`${processTitle(outcome)} did not start: ${outcome.error}`))
  }
  return outcomes
}

/** Resumes a process, and resolves when its driver runs, or when the process is suspended or has ended. */
async function resumeOne({ out, reeve }: VerbCall, uuid: string): Promise<Outcome> {
  const {
    process: { pid, name },
  } = await reeve.resume(uuid)
  const view = await waitForStart(reeve, uuid)
  if (!out.json) await out.message(stripControls(`${startText(view)} | resumed from ${shortId(uuid)}`))
  const failed = hasEnded(view) && view.exit?.code !== 0
  return {
    uuid,
    pid,
    name,
    error: failed
      ? endingText(view)
      : view.status === 'pending' || view.status === 'starting'
        ? `it has not started within ${START_MS / 1_000} s`
        : null,
  }
}

async function waitForStart(reeve: VerbCall['reeve'], uuid: string): Promise<ProcessView> {
  const signal = AbortSignal.timeout(START_MS)
  const hasStarted = (view: ProcessView): boolean => view.status !== 'pending' && view.status !== 'starting'
  let view = await reeve.get(uuid)
  if (hasStarted(view)) return view
  for await (const _ of reeve.events({ process: uuid, follow: true, tail: 1, signal })) {
    view = await reeve.get(uuid)
    if (hasStarted(view)) break
  }
  return view
}

async function printOutcomes({ out }: VerbCall, outcomes: readonly Outcome[], left: readonly Interrupted[]): Promise<void> {
  const failed = outcomes.filter(({ error }) => error !== null).length
  await out.message(
    `${outcomes.length - failed} resumed${failed > 0 ? `, ${failed} failed` : ''}${left.length > 0 ? `, ${left.length} left` : ''}`,
  )
  if (left.length === 0) return
  const why =
    outcomes.length < MAX_AT_ONCE
      ? `stopped after ${MAX_FAILURES_IN_A_ROW} failures in a row`
      : `at most ${MAX_AT_ONCE} are resumed at a time`
  await out.message(`${why}; for the rest: reeve resume --all-interrupted`)
}
