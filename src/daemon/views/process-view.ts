// Maps processes and their steps to the API views.
// Tests: test/tables/daemon/views/process-view.test.ts, test/tables/daemon/views/turn-costs.test.ts, test/e2e/daemon/api.test.ts.
import { basename, dirname, join, relative } from 'node:path'
import { hostname } from 'node:os'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { findBlockingLimit } from '../../kernel/decide/limits/enforce-limits.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { assistantText } from '../../kernel/state/assistant-text.ts'
import { describeEnforcement } from '../../drivers/acp/asking-mode.ts'
import { enforcementOf } from '../../kernel/state/permissions.ts'
import { isLimitNote, meteringOf, reachedText } from '../../kernel/state/limits.ts'
import { knownCost } from '../../api/known-cost.ts'
import { statusOf } from '../../kernel/model/status.ts'
import { answerCommands } from '../../api/text/answer-command.ts'
import { compactionText, resultText } from '../../api/text/log-lines.ts'
import { endReasonText } from '../../api/text/exit-reason.ts'
import { askView } from './ask-view.ts'
import { gaveUpNote, pendingRestart, restartNote, supervisorView } from './restart-view.ts'
import type { RowLookup } from './row-lookup.ts'
import { crewNote, memberRecord, phaseOf } from './member-view.ts'
import { limitUse, subtreeUsage } from './limit-usage.ts'
import { runNote } from './run-note.ts'
import { GatewayCalls } from '../steps/gateway-calls.ts'
import { doingOf, statusSince, type Work } from '../rows/doing.ts'
import { whyOf } from '../rows/why.ts'
import { asksText, holdText, livenessText } from '../rows/wait-texts.ts'
import { Table } from '../loop/table.ts'
import { isoTime, isoOrNull } from './format-times.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import type {
  CapabilitiesView,
  PermitsView,
  ProcessView,
  SentSignalView,
  SignalsView,
  StepView,
  UsageField,
} from '../../api/views/process.ts'
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import type { SignalState } from '../../kernel/model/signals.ts'
import { isRecordedWithNote } from '../../kernel/model/holds.ts'
import { hasSurvivors } from '../../kernel/decide/release.ts'
import type { ProcessClock, Hold, Life, Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'
import type { Capabilities } from '../../kernel/model/spec-parts.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import { truncate } from '../../kernel/util/truncate.ts'

const HOST = hostname()
/** The largest length of `about`, which is the first line of the intent. */
const ABOUT_CHARS = 120

/** What a view needs besides the process. Each value is looked up only if a requested field needs it. */
export interface ViewContext extends RowLookup {
  /** returns the PID of the parent; 0 is the kernel */
  readonly ppid: () => number
  readonly children: () => readonly Uuid[]
  readonly table: LiveTable
  /** returns what is known of the current work of the process; absent: nothing */
  readonly work?: () => Work | undefined
}

/** The context of a process that is not in the table: it has no parent and no children. */
export const NO_CONTEXT: ViewContext = { ppid: () => 0, children: () => [], table: new Table(0) }

type Field = keyof ProcessView
/** Computes the value of a field. `mono` is the monotonic time now. */
type FieldValue<K extends Field> = (process: Process, context: ViewContext, mono: number) => ProcessView[K]

const FIELDS: { readonly [K in Field]: FieldValue<K> } = {
  uuid: (process) => process.uuid,
  pid: (process) => process.pid,
  ppid: (_, context) => context.ppid(),
  parentUuid: (process) => process.parentUuid,
  name: (process) => process.spec.name,
  agent: (process) => process.spec.agent,
  driver: (process) => process.spec.driver,
  format: ({ spec }) => spec.format ?? null,
  state: (process) => process.life.state,
  status: (process) => statusOf(process),
  activity: ({ life }) => (life.state === 'running' ? life.activity : null),
  holds: (process, context, mono) =>
    process.life.state === 'running' ? process.life.holds.map((hold) => holdView(hold, process, { context, mono })) : [],
  // A dead process shows no questions. A crew asks its open questions again when it is resumed.
  asks: (process) => (process.life.state === 'dead' ? [] : openAsks(process)).map(askView),
  resumeAt: ({ life }) => isoOrNull(resumeAtOf(life)),
  liveness: ({ liveness }) => (liveness ? { ...liveness, since: isoTime(liveness.since) } : null),
  intent: (process) => process.spec.intent,
  about: ({ spec }) => aboutOf(spec),
  cwd: (process) => process.spec.cwd,
  directory: ({ spec }) => startDirectory(spec),
  worktree: ({ spec, files }) => worktreeView(spec.worktree, files),
  host: () => HOST,
  containment: (process) => (CAPABILITIES[process.spec.driver].supervisesChildren ? null : (process.containment?.kind ?? null)),
  gateway: ({ metered, direct }) => (metered ? { on: true, why: null } : direct === undefined ? null : { on: false, why: direct }),
  createdAt: ({ clock }) => isoTime(clock.createdAt),
  startedAt: ({ clock }) => isoOrNull(clock.startedAt),
  pausedAt: ({ clock, life }) => (life.state === 'running' ? isoOrNull(clock.pausedAt) : null),
  exitedAt: ({ clock }) => isoOrNull(clock.exitedAt),
  elapsedMs: (process, _, mono) => elapsedMs(process.clock, mono),
  exit: ({ life }) => exitView(life),
  stopping: ({ life }) => stoppingView(life),
  signals: (process) => signalsView(process),
  step: (process) => process.progress.step,
  turn: (process) => process.progress.turn,
  interactive: ({ spec }) => spec.interactive,
  input: ({ spec }) => spec.input ?? false,
  originUuid: (process) => process.originUuid,
  originStep: (process) => process.originStep,
  resumedFromStep: (process) => process.resumedFromStep,
  checkpointStep: (process) => process.checkpoint?.step ?? null,
  model: (process) => process.spec.model,
  fallback: ({ spec }) => [...(spec.fallback ?? [])],
  effort: ({ spec }) => spec.effort ?? null,
  sessionId: (process) => process.sessionId,
  role: ({ spec }) => spec.member?.role ?? null,
  phase: (process, context) => phaseOf(process, context),
  taskId: (process, context) => memberRecord(process, context)?.task ?? null,
  queueCount: (process) => process.queue.length,
  retiredAt: (process) => isoOrNull(process.retiredAt),
  updatedAt: ({ clock }) => isoTime(clock.updatedAt),
  lastActivityAt: ({ clock }) => isoTime(clock.lastActivityAt),
  usage: (process) => ({
    ...process.usage,
    costUsd: knownCost(process.usage),
    contextWindow: process.context?.window ?? null,
    turnCostUsd: turnCost(process),
    ...measuredView(process),
    updatedAt: isoTime(process.clock.usedAt ?? process.clock.createdAt),
  }),
  subtreeUsage: (process, context) => subtreeUsage(context.table, process),
  limitUse: (process, context, mono) => limitUse(context.table, process, mono),
  metering: (process) => meteringOf(process),
  limits: (process) => process.spec.limits,
  memoryLimit: ({ spec, containment }) =>
    spec.limits.memoryBytes === undefined || containment === null ? null : containment.holdsMemory ? 'held' : 'measured',
  restart: ({ spec }) => spec.restart ?? null,
  pendingRestart: (process) => pendingRestart(process),
  childId: ({ spec }) => spec.childId ?? null,
  supervisor: (process, context) => supervisorView(process, context),
  capabilities: ({ spec }) => capabilitiesView(spec),
  skills: ({ spec: { skills } }) => (skills ?? []).map(({ name, description, path, sha256 }) => ({ name, description, path, sha256 })),
  instructions: ({ spec: { instructions } }) =>
    (instructions?.files ?? []).map(({ name, path, sha256, isCut = false }) => ({ name, path, sha256, cut: isCut })),
  children: (_, context) => [...context.children()],
  pinned: (process) => process.pinned,
  removeAtEnd: (process) => process.spec.removeAtEnd ?? false,
  labels: (process) => ({ ...process.spec.labels }),
  since: (process, { work }) => isoTime(statusSince(process, work?.())),
  why: (process, { work, ...lookup }) => whyOf(process, { ...lookup, work: work?.() }),
  doing: (process, { work }) => doingOf(process, work?.()),
  note: (process, context, mono) => noteOf(process, context, mono),
  lastText: (process) => process.progress.lastText,
}

const ALL_FIELDS = Object.keys(FIELDS) as Field[]

/** The parts of `usage` that can be requested one by one. */
const USAGE_FIELDS: { readonly [K in UsageField]: (process: Process) => unknown } = {
  'usage.costUsd': ({ usage }) => knownCost(usage),
  'usage.inputTokens': ({ usage }) => usage.inputTokens,
  'usage.unpriced': ({ usage }) => usage.unpriced,
}

/** Whether a client may request a field with this name. */
export function isField(name: string): name is Field | UsageField {
  return Object.hasOwn(FIELDS, name) || Object.hasOwn(USAGE_FIELDS, name)
}

function isUsageField(name: string): name is UsageField {
  return Object.hasOwn(USAGE_FIELDS, name)
}

/** Returns the view of a process, or only the requested fields of it. `mono` is the monotonic time now. */
export function processView<K extends Field = Field>(
  process: Process,
  context: ViewContext,
  mono: number,
  fields?: readonly (K | UsageField)[],
): Pick<ProcessView, K> {
  const view: Partial<Record<Field, unknown>> = {}
  for (const field of fields ?? ALL_FIELDS) {
    if (isUsageField(field))
      view.usage = { ...(view.usage as object | undefined), [field.slice('usage.'.length)]: USAGE_FIELDS[field](process) }
    else view[field] = FIELDS[field](process, context, mono)
  }
  return view as Pick<ProcessView, K>
}

/** The cost of the current turn so far, or of the last turn; null before the first turn and without a known price. */
function turnCost({ progress: { turn, before }, usage: { costUsd, unpriced } }: Process): number | null {
  return turn === 0 || knownCost({ costUsd, unpriced }) === null ? null : Math.max(0, costUsd - (before?.costUsd ?? 0))
}

function measuredView({ usage, life }: Process): Pick<ProcessView['usage'], 'cpuTimeMs' | 'rssBytes' | 'peakRssBytes' | 'outputBytes'> {
  const { cpuTimeMs = null, rssBytes = null, peakRssBytes = null, outputBytes = null } = usage
  return { cpuTimeMs, rssBytes: life.state === 'running' && life.attached ? rssBytes : null, peakRssBytes, outputBytes }
}

/** The directory of the user from which the process was started: a worktree's place in the checkout that it belongs to. */
export function startDirectory({ cwd, worktree }: ProcessSpec): string {
  if (!worktree) return cwd
  const { dir, repository } = worktree
  return join(basename(repository) === '.git' ? dirname(repository) : repository, relative(dir, cwd))
}

function worktreeView(planned: ProcessSpec['worktree'], files: Process['files']): ProcessView['worktree'] {
  if (!planned) return null
  const { dir, branch, base } = planned
  return { dir, branch, base, recordedStep: files?.recordedStep ?? null }
}

function capabilitiesView(spec: ProcessSpec): ProcessView['capabilities'] {
  const { tools, deny, mcp = [], capabilities = {} } = spec
  const { notes, ...enforced } = enforcementOf(spec)
  const acpNote = spec.driver === 'acp' ? describeEnforcement(spec) : null
  return {
    tools: tools && [...tools],
    deny: [...deny],
    mcp: mcp.map((server) => server.name),
    calls: callsView(spec),
    ...declaredCapabilitiesView(capabilities),
    enforced,
    notes: [...(acpNote === null ? [] : [`permissions: ${acpNote}`]), ...notes],
  }
}

function callsView({ driver, permissions = driver === 'acp' ? { default: 'ask' } : undefined }: ProcessSpec): CapabilitiesView['calls'] {
  if (permissions === undefined) return null
  const { default: fallback, allow = [], ask = [], deny = [], tools = {} } = permissions
  return { default: fallback, allow: [...allow], ask: [...ask], deny: [...deny], tools }
}

export function declaredCapabilitiesView({ paths, network, signals, spawns }: Capabilities): PermitsView {
  const shownPaths = { read: paths?.read ? [...paths.read] : null, write: paths?.write ? [...paths.write] : null }
  return { paths: shownPaths, network: network ?? 'on', signals: signals ?? 'subtree', spawns: spawns ? [...spawns] : null }
}

/** The first line of the intent, truncated. */
export function aboutOf({ intent }: Pick<ProcessSpec, 'intent'>): string {
  return truncate(intent.trimStart().split('\n', 1)[0] ?? '', ABOUT_CHARS)
}

export function exitView(life: Life): ProcessView['exit'] {
  if (life.state !== 'zombie' && life.state !== 'dead') return null
  const { cause: _, resumeAt: __, status: ___, account: ____, ...exit } = life.exit
  return exit
}

function stoppingView(life: Life): ProcessView['stopping'] {
  if (life.state !== 'running' || !life.stopping) return null
  const { signal, by, at, graceMs, wrapUp } = life.stopping
  return { signal, by, at: isoTime(at), graceMs, wrapsUp: wrapUp !== undefined }
}

function signalsView({ signals }: Process): ProcessView['signals'] {
  return {
    mask: [...signals.mask],
    pending: signals.pending.map((pending) => pending.signal),
    handlers: signals.handlers,
    recent: recentView(signals),
  }
}

function recentView({ recent = [] }: SignalState): SentSignalView[] {
  return recent.map(({ signal, by, via = null, root, disposition, at, escalatedMs = null }) => ({
    signal,
    by,
    via,
    root,
    disposition,
    at: isoTime(at),
    escalatedMs,
  }))
}

/** Returns the view of a process's signals. `mono` is the monotonic time now. */
export function signalsOf({ uuid, pid, signals }: Process, mono: number): SignalsView {
  const pending = signals.pending.map(({ signal, by, via = null, root, dueMono }) => ({
    signal,
    by,
    via,
    root,
    dueInMs: dueMono === null ? null : Math.max(0, Math.round(dueMono - mono)),
  }))
  return { version: 1, uuid, pid, mask: [...signals.mask], handlers: signals.handlers, pending, recent: recentView(signals) }
}

/** The active time of the incarnation in ms. It does not grow while the process is suspended, nor after its end. `mono`: now. */
export function elapsedMs(clock: ProcessClock, mono: number): number {
  return Math.round(clock.elapsedMs + (clock.since === null ? 0 : Math.max(0, mono - clock.since)))
}

/** The active time of all incarnations in ms. */
export function totalElapsedMs(clock: ProcessClock, mono: number): number {
  return Math.round(clock.earlierMs ?? 0) + elapsedMs(clock, mono)
}

/** Returns the view of a hold. `mono` is the monotonic time now. */
export function holdView(
  { until, at, ...hold }: Hold,
  process: Process,
  { context, mono }: { readonly context: Pick<ViewContext, 'table'>; readonly mono: number },
): ProcessView['holds'][number] {
  const reached = hold.reason === 'budget' ? findBlockingLimit(context.table, process, mono) : null
  return {
    ...hold,
    at: isoTime(at),
    ...(until === undefined ? {} : { until: isoTime(until) }),
    ...(reached && !reached.shouldWait ? { limit: reached.limit, ...(reached.scope === 'home' ? {} : { scope: reached.scope.uuid }) } : {}),
  }
}

/** The latest known end of a hold; null if no end is known. */
function resumeAtOf(life: Life): number | null {
  const ends = life.state === 'running' ? life.holds.flatMap(({ until }) => until ?? []) : []
  return ends.length === 0 ? null : Math.max(...ends)
}

type NoteContext = RowLookup & Pick<ViewContext, 'table'>

/** The text of the NOTE column; null if there is nothing to note. `mono` is the monotonic time now. */
export function noteOf(process: Process, context: NoteContext, mono: number): string | null {
  const { life } = process
  if (life.state === 'zombie' || life.state === 'dead') return endNote(process, life.exit.reason)
  if (life.state !== 'running') return restartNote(process) ?? process.note
  if (life.holds.length === 0)
    return life.stopping
      ? process.note
      : (asksNote(process) ?? livenessText(process) ?? process.note ?? budgetNote(process) ?? crewNote(process) ?? runNote(process))
  const holds = life.holds.map(holdText).join(', ')
  const evidence = life.holds.some(({ reason }) => isRecordedWithNote(reason))
    ? (life.holds.some(({ reason }) => reason === 'budget') && currentBudgetText(process, context, mono)) ||
      (process.crew?.halted ?? process.note)
    : null
  const why = evidence === null ? '' : ` (${evidence})`
  return `paused: ${holds}${why}${life.drained ? '' : ' (draining)'}`
}

/** The current usage of the reached budget; the recorded note has the usage at the refused call. Null if no limit blocks now. */
function currentBudgetText(process: Process, { table }: NoteContext, mono: number): string | null {
  const reached = findBlockingLimit(table, process, mono)
  if (reached === null || reached.shouldWait) return null
  const whose = reached.scope === 'home' || reached.scope.uuid === process.uuid ? null : reached.scope.uuid.slice(-8)
  return reachedText({ ...reached, whose, ask: process.wants })
}

/** The note of an ended process. A note about a limit is not shown for a completed process, which the limit did not end. */
function endNote(process: Process, reason: string): string | null {
  const { note, retiredAt, life, parentUuid } = process
  if (life.state === 'zombie' && hasSurvivors(process)) return `${endReasonText(reason, parentUuid)}; ${note}`
  if (reason === 'completed') return note !== null && isLimitNote(note) ? null : note
  if (reason === 'retired' && retiredAt !== null) return note
  return [endReasonText(reason, parentUuid), gaveUpNote(process)].filter((text) => text !== null).join('; ')
}

/** The note of a process with a budget whose program calls its models directly: a call may exceed the budget before it is reported. */
function budgetNote(process: Process): string | null {
  const { budgetUsd, budgetTokens } = process.spec.limits
  return (budgetUsd ?? budgetTokens) !== undefined && meteringOf(process) === 'report' ? 'the budget is checked after each report' : null
}

/** Describes the first open question; for a crew also with the commands that answer it. */
function asksNote(process: Process): string | null {
  const text = asksText(process)
  const { pid, crew, spec } = process
  const asks = openAsks(process)
  const [first] = asks
  if (text === null || !crew || !first) return text
  return `${text}; ${answerCommands({ pid, name: spec.name, isCrew: true, asks }, first).join(', ')}`
}

/** A step view that is being built. */
type StepDraft = { -readonly [K in keyof StepView]: StepView[K] }

/** Builds the views of steps from facts of a process in order. `unbegun`: the ids of the open calls that have not begun. */
export function stepsOf(facts: Iterable<StoredFact>, unbegun: ReadonlySet<string>): StepView[] {
  const steps = new Map<number, StepDraft>()
  const calls = new GatewayCalls()
  for (const { body, at } of facts) {
    addToSteps(steps, body, at)
    for (const { step, usage } of calls.apply(body)) addUsage(steps.get(step), usage)
  }
  for (const { tools } of steps.values())
    for (const tool of tools) if (tool.outcome === null && unbegun.has(tool.callId)) tool.unbegun = true
  return [...steps.values()]
}

function addToSteps(steps: Map<number, StepDraft>, body: FactBody, at: number): void {
  if (body.type === 'model.started') startStep(steps, body, at)
  else if (body.type === 'model.finished') finishModel(steps.get(body.step), body, at)
  else if (body.type === 'tool.finished') finishTool(steps.get(body.step), body, at)
  else if (body.type === 'usage.reported') addUsage([...steps.values()].at(-1), body.usage)
  else if (body.type === 'context.compacted' || body.type === 'compaction.failed') steps.get(body.step)?.notes.push(compactionText(body))
}

/** Adds usage to a step. Usage that an external agent reports counts for the current step, even after the end of its call. */
function addUsage(step: StepDraft | undefined, usage: CallUsage): void {
  // An agent at the gateway reports empty usage, because the gateway counts its calls.
  if (!step || isEmptyUsage(usage)) return
  step.inputTokens += usage.inputTokens
  step.outputTokens += usage.outputTokens
  step.cacheReadTokens += usage.cacheReadTokens
  step.cacheWriteTokens += usage.cacheWriteTokens
  if (usage.costUsd !== null) step.costUsd = (step.costUsd ?? 0) + usage.costUsd
}

function isEmptyUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: CallUsage): boolean {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens === 0 && !costUsd
}

function startStep(steps: Map<number, StepDraft>, body: Extract<FactBody, { type: 'model.started' }>, at: number): void {
  const known = steps.get(body.step)
  if (known) Object.assign(known, { attempts: known.attempts + 1, model: body.model })
  else {
    steps.set(body.step, {
      step: body.step,
      startedAt: isoTime(at),
      finishedAt: null,
      model: body.model,
      attempts: 1,
      text: null,
      tools: [],
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: null,
      notes: [],
    })
  }
}

function finishModel(step: StepDraft | undefined, body: Extract<FactBody, { type: 'model.finished' }>, at: number): void {
  if (!step) return
  // An external agent reports a step at its end, so its start is computed.
  step.startedAt = isoTime(Math.min(Date.parse(step.startedAt), at - body.durationMs))
  const text = assistantText(body.message)
  step.text = text === '' ? null : text
  addUsage(step, body.usage)
  step.tools = body.message.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            callId: part.callId,
            name: part.name,
            input: part.input,
            outcome: null,
            exitCode: null,
            result: null,
            durationMs: null,
          },
        ]
      : [],
  )
  if (step.tools.length === 0) step.finishedAt = isoTime(at)
}

function finishTool(step: StepDraft | undefined, body: Extract<FactBody, { type: 'tool.finished' }>, at: number): void {
  const tool = step?.tools.find((other) => other.callId === body.callId)
  if (!step || !tool) return
  Object.assign(tool, { outcome: body.outcome, exitCode: body.exitCode ?? null, result: resultText(body), durationMs: body.durationMs })
  if (step.tools.every((other) => other.outcome !== null)) step.finishedAt = isoTime(at)
}
