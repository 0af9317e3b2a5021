// `reeve resume --all-interrupted`: after a crash. Shows what it would do, asks, and goes on with one process after the other,
// parents before their children. Owns the brakes: a fault that all of them have must not be met by all of them.
// Test: test/e2e/cli-resume.test.ts.
import { ApiError } from '../api/client.ts'
import type { ResumablesView } from '../api/resume-views.ts'
import type { ProcessView } from '../api/views.ts'
import { agreed } from './agreed.ts'
import { table } from './columns.ts'
import { called, ending, hasEnded, spawned } from './describe.ts'
import { UsageError } from './errors.ts'
import { plural, shortId } from './format.ts'
import { oneLine, safe } from './text.ts'
import type { Call } from './verbs.ts'

/** so many at once; the rest is for the next time */
const MOST = 20
const FAILURES_IN_A_ROW = 3
const START_MS = 60_000
/** rows per request */
const PAGE = 1_000

interface Outcome {
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  /** null: it has started */
  readonly error: string | null
}

type Interrupted = Pick<ProcessView, 'uuid' | 'pid' | 'name' | 'agent' | 'status' | 'step' | 'createdAt' | 'intent'>

export async function resumeAll(call: Call): Promise<number> {
  const { out, reeve } = call
  const all = await reeve.list({ all: true, fields: ['uuid', 'pid', 'name', 'agent', 'status', 'step', 'createdAt', 'intent'] })
  // Those that were born first come first: no child is older than its parent.
  const interrupted = all.filter(({ status }) => status === 'interrupted').toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  const anew = interrupted.length === 0 ? new Set<string>() : await onlyAnew(call, interrupted)
  const [plan, stays] = [interrupted.filter(({ uuid }) => !anew.has(uuid)), interrupted.filter(({ uuid }) => anew.has(uuid))]
  if (!out.json && interrupted.length > 0) await show(call, plan, stays)
  if (plan.length === 0) {
    if (out.json) await out.value({ plan, stays, resumed: [], left: [] })
    else await out.words(stays.length === 0 ? 'nothing was interrupted' : 'nothing of it can go on; `reeve resume --rerun P` runs one again, from its beginning')
    return 0
  }
  if (!(await mayGoOn(call, plan.length))) {
    await out.words('nothing was resumed')
    return 1
  }
  const outcomes = await oneByOne(call, plan.slice(0, MOST))
  const left = plan.slice(outcomes.length)
  if (out.json) await out.value({ plan, stays, resumed: outcomes, left })
  else await report(call, outcomes, left)
  return outcomes.every(({ error }) => error === null) ? 0 : 1
}

/** Whom nothing but a new beginning is left for, as plain commands: they would fail, and three of them would stop all others. */
async function onlyAnew({ reeve }: Call, interrupted: readonly Interrupted[]): Promise<ReadonlySet<string>> {
  const wanted = new Set(interrupted.map(({ uuid }) => uuid))
  const found = new Set<string>()
  for (let after: string | null = null; wanted.size > 0;) {
    const page: ResumablesView = await reeve.resumable({ limit: PAGE, ...(after === null ? {} : { after }) })
    for (const { uuid, modes } of page.processes) if (wanted.delete(uuid) && modes.continue !== null && modes.rerun === null) found.add(uuid)
    after = page.next
    if (after === null) break
  }
  return found
}

async function show({ out }: Call, plan: readonly Interrupted[], stays: readonly Interrupted[]): Promise<void> {
  const cells = [...plan, ...stays].map(({ pid, uuid, name, agent, step, intent }, index) => [String(pid), shortId(uuid), name === null ? '-' : oneLine(name), oneLine(agent), String(step), index >= plan.length ? '--rerun' : index < MOST ? 'resume' : 'later', oneLine(intent)])
  const lines = table([{ title: 'PID', side: 'right' }, { title: 'ID' }, { title: 'NAME', min: 8 }, { title: 'AGENT', min: 7 }, { title: 'STEP', side: 'right' }, { title: 'PLAN' }, { title: 'INTENT', min: 8 }], cells, out.columns, out.ellipsis)
  await out.line(lines.join('\n'))
}

/** Errors: usage where nobody can be asked. */
async function mayGoOn({ args, out }: Call, count: number): Promise<boolean> {
  if (args.on('yes')) return true
  if (!out.json && process.stdin.isTTY && out.isTerminal('stderr')) return agreed(`Resume ${plural(Math.min(count, MOST), 'process')}?`)
  throw new UsageError(`${plural(count, 'process')} would be resumed, and there is nobody to ask`, 'With --yes it does not ask.')
}

async function oneByOne(call: Call, plan: readonly Interrupted[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { uuid, pid, name } of plan) {
    const last = outcomes.slice(-FAILURES_IN_A_ROW)
    if (last.length === FAILURES_IN_A_ROW && last.every(({ error }) => error !== null)) break
    const outcome = await resumeOne(call, uuid).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code === 'UNAVAILABLE') throw error
      return { uuid, pid, name, error: error.message }
    })
    outcomes.push(outcome)
    if (!call.out.json && outcome.error !== null) await call.out.words(safe(`${called(outcome)} did not start: ${outcome.error}`))
  }
  return outcomes
}

/** Returns when it has started: then its driver is up, or it is held or over. */
async function resumeOne({ out, reeve }: Call, uuid: string): Promise<Outcome> {
  const { process: { pid, name } } = await reeve.resume(uuid)
  const view = await started(reeve, uuid)
  if (!out.json) await out.words(safe(`${spawned(view)} | resumed from ${shortId(uuid)}`))
  const failed = hasEnded(view) && view.exit?.code !== 0
  return { uuid, pid, name, error: failed ? ending(view) : view.status === 'pending' || view.status === 'starting' ? `it has not started within ${START_MS / 1_000} s` : null }
}

async function started(reeve: Call['reeve'], uuid: string): Promise<ProcessView> {
  const signal = AbortSignal.timeout(START_MS)
  const isOn = (view: ProcessView): boolean => view.status !== 'pending' && view.status !== 'starting'
  let view = await reeve.get(uuid)
  if (isOn(view)) return view
  for await (const _ of reeve.events({ process: uuid, follow: true, tail: 1, signal })) {
    view = await reeve.get(uuid)
    if (isOn(view)) break
  }
  return view
}

async function report({ out }: Call, outcomes: readonly Outcome[], left: readonly Interrupted[]): Promise<void> {
  const failed = outcomes.filter(({ error }) => error !== null).length
  await out.words(`${outcomes.length - failed} resumed${failed > 0 ? `, ${failed} failed` : ''}${left.length > 0 ? `, ${left.length} left` : ''}`)
  if (left.length === 0) return
  const why = outcomes.length < MOST ? `it stopped, as ${FAILURES_IN_A_ROW} in a row failed` : `it resumes ${MOST} at a time`
  await out.words(`${why}; again for the rest: reeve resume --all-interrupted`)
}
