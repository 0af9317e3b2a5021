// Processes and steps as the API shows them. Owns the mapping from state to view; every number shown is computed here.
// Test: test/tables/views.test.ts, test/e2e/api.test.ts.
import { hostname } from 'node:os'
import { openAsks } from '../kernel/asking.ts'
import { CAPABILITIES } from '../kernel/capabilities.ts'
import { textOf } from '../kernel/message.ts'
import { enforcementOf } from '../kernel/permits.ts'
import type { Capabilities } from '../kernel/permits.ts'
import { meteringOf } from '../kernel/limits.ts'
import { statusOf } from '../kernel/status.ts'
import { compactionText, resultText } from '../api/log-lines.ts'
import { gaveUpNote, pendingRestart, restartNote, supervisorView, type Around } from './restart-views.ts'
import { crewNote, memberRow, phaseOf } from './member-views.ts'
import { limitUse, subtreeUsage } from './spending-views.ts'
import { runNote } from './run-note.ts'
import { Table } from './table.ts'
import { iso, isoOrNull, localTime } from './times.ts'
import type { View } from '../kernel/view.ts'
import type { PermitsView, ProcessView, SentSignalView, SignalsView, StepView, UsageField } from '../api/views.ts'
import type { FactBody, StoredFact } from '../kernel/facts.ts'
import type { SignalState } from '../kernel/signals.ts'
import type { CallUsage, Clock, Hold, HoldReason, Life, Process, ProcessSpec, Uuid } from '../kernel/types.ts'

const HOST = hostname()

/** What a view needs beside the process itself; looked up only for the fields that are asked for. */
export interface Family extends Around {
  /** the PID of its parent in the tree; 0 is the kernel */
  readonly ppid: () => number
  readonly children: () => readonly Uuid[]
  readonly table: View
}

/** Of one that nobody lists: nothing is above or below it. */
export const ALONE: Family = { ppid: () => 0, children: () => [], table: new Table(0) }

type Field = keyof ProcessView
type Cell<K extends Field> = (process: Process, family: Family, mono: number) => ProcessView[K]

const FIELDS: { readonly [K in Field]: Cell<K> } = {
  uuid: (p) => p.uuid,
  pid: (p) => p.pid,
  ppid: (_, family) => family.ppid(),
  parentUuid: (p) => p.parentUuid,
  name: (p) => p.spec.name,
  agent: (p) => p.spec.agent,
  driver: (p) => p.spec.driver,
  format: ({ spec }) => spec.format ?? null,
  state: (p) => p.life.state,
  status: (p) => statusOf(p),
  activity: ({ life }) => (life.state === 'running' ? life.activity : null),
  holds: ({ life }) => (life.state === 'running' ? life.holds.map(holdView) : []),
  asks: (p) => openAsks(p).map(({ id, kind, text, options, at }) => ({ id, kind, text, options: [...options], at: iso(at) })),
  resumeAt: ({ life }) => isoOrNull(resumeAtOf(life)),
  liveness: ({ liveness }) => (liveness ? { ...liveness, since: iso(liveness.since) } : null),
  intent: (p) => p.spec.intent,
  cwd: (p) => p.spec.cwd,
  worktree: ({ spec, files }) => worktreeView(spec.worktree, files),
  host: () => HOST,
  containment: (p) => (CAPABILITIES[p.spec.driver].keeps ? null : (p.containment?.kind ?? null)),
  gateway: ({ metered, direct }) => (metered ? { on: true, why: null } : direct === undefined ? null : { on: false, why: direct }),
  createdAt: ({ clock }) => iso(clock.createdAt),
  startedAt: ({ clock }) => isoOrNull(clock.startedAt),
  pausedAt: ({ clock, life }) => (life.state === 'running' ? isoOrNull(clock.pausedAt) : null),
  exitedAt: ({ clock }) => isoOrNull(clock.exitedAt),
  elapsedMs: (p, _, mono) => elapsed(p.clock, mono),
  exit: ({ life }) => exitView(life),
  stopping: ({ life }) => stoppingView(life),
  signals: (p) => signalsView(p),
  step: (p) => p.progress.step,
  turn: (p) => p.progress.turn,
  interactive: ({ spec }) => spec.interactive,
  originUuid: (p) => p.originUuid,
  originStep: (p) => p.originStep,
  resumedFromStep: (p) => p.resumedFromStep,
  checkpointStep: (p) => p.checkpoint?.step ?? null,
  model: (p) => p.spec.model,
  fallback: ({ spec }) => [...(spec.fallback ?? [])],
  effort: ({ spec }) => spec.effort ?? null,
  sessionId: (p) => p.sessionId,
  role: ({ spec }) => spec.member?.role ?? null,
  phase: (p, family) => phaseOf(p, family),
  taskId: (p, family) => memberRow(p, family)?.task ?? null,
  queueCount: (p) => p.queue.length,
  retiredAt: (p) => isoOrNull(p.retiredAt),
  updatedAt: ({ clock }) => iso(clock.updatedAt),
  lastActivityAt: ({ clock }) => iso(clock.lastActivityAt),
  usage: (p) => ({ ...p.usage, contextWindow: p.context?.window ?? null, turnCostUsd: turnCost(p), ...measuredView(p), updatedAt: iso(p.clock.updatedAt) }),
  subtreeUsage: (p, family) => subtreeUsage(family.table, p),
  limitUse: (p, family, mono) => limitUse(family.table, p, mono),
  metering: (p) => meteringOf(p),
  limits: (p) => p.spec.limits,
  memoryLimit: ({ spec, containment }) => (spec.limits.memoryBytes === undefined || containment === null ? null : containment.holdsMemory ? 'held' : 'measured'),
  restart: ({ spec }) => spec.restart ?? null,
  pendingRestart: (p) => pendingRestart(p),
  childId: ({ spec }) => spec.childId ?? null,
  supervisor: (p, family) => supervisorView(p, family),
  capabilities: ({ spec }) => capabilitiesView(spec),
  children: (_, family) => [...family.children()],
  pinned: (p) => p.pinned,
  note: (p) => noteOf(p),
  lastText: (p) => p.progress.lastText,
}

const ALL_FIELDS = Object.keys(FIELDS) as Field[]

const USAGE: { readonly [K in UsageField]: (process: Process) => unknown } = {
  'usage.costUsd': ({ usage }) => usage.costUsd,
  'usage.inputTokens': ({ usage }) => usage.inputTokens,
  'usage.unpriced': ({ usage }) => usage.unpriced,
}

export function isField(name: string): name is Field | UsageField {
  return Object.hasOwn(FIELDS, name) || Object.hasOwn(USAGE, name)
}

function isUsageField(name: string): name is UsageField {
  return Object.hasOwn(USAGE, name)
}

/** A view, or some fields of it. */
export function processView<K extends Field = Field>(process: Process, family: Family, mono: number, fields?: readonly (K | UsageField)[]): Pick<ProcessView, K> {
  const view: Partial<Record<Field, unknown>> = {}
  for (const field of fields ?? ALL_FIELDS) {
    if (isUsageField(field)) view.usage = { ...view.usage as object | undefined, [field.slice('usage.'.length)]: USAGE[field](process) }
    else view[field] = FIELDS[field](process, family, mono)
  }
  return view as Pick<ProcessView, K>
}

/** What its turn has cost so far, or its last one did; null before the first. */
function turnCost({ progress: { turn, before }, usage: { costUsd } }: Process): number | null {
  return turn === 0 ? null : Math.max(0, costUsd - (before?.costUsd ?? 0))
}

function measuredView({ usage, life }: Process): Pick<ProcessView['usage'], 'cpuTimeMs' | 'rssBytes' | 'peakRssBytes' | 'outputBytes'> {
  const { cpuTimeMs = null, rssBytes = null, peakRssBytes = null, outputBytes = null } = usage
  return { cpuTimeMs, rssBytes: life.state === 'running' && life.attached ? rssBytes : null, peakRssBytes, outputBytes }
}

function worktreeView(planned: ProcessSpec['worktree'], files: Process['files']): ProcessView['worktree'] {
  if (!planned) return null
  const { dir, branch, base } = planned
  return { dir, branch, base, recordedStep: files?.recordedStep ?? null }
}

function capabilitiesView(spec: ProcessSpec): ProcessView['capabilities'] {
  const { tools, deny, mcp = [], capabilities = {} } = spec
  const { notes, ...enforced } = enforcementOf(spec)
  return { tools: tools && [...tools], deny: [...deny], mcp: mcp.map((server) => server.name), ...permitsView(capabilities), enforced, notes: [...notes] }
}

export function permitsView({ paths, network, signals, spawns }: Capabilities): PermitsView {
  const places = { read: paths?.read ? [...paths.read] : null, write: paths?.write ? [...paths.write] : null }
  return { paths: places, network: network ?? 'on', signals: signals ?? 'subtree', spawns: spawns ? [...spawns] : null }
}

function exitView(life: Life): ProcessView['exit'] {
  if (life.state !== 'zombie' && life.state !== 'dead') return null
  const { cause: _, resumeAt: __, status: ___, ...exit } = life.exit
  return exit
}

function stoppingView(life: Life): ProcessView['stopping'] {
  if (life.state !== 'running' || !life.stopping) return null
  const { signal, by, at, graceMs, wrapUp } = life.stopping
  return { signal, by, at: iso(at), graceMs, wrapsUp: wrapUp !== undefined }
}

function signalsView({ signals }: Process): ProcessView['signals'] {
  return { mask: [...signals.mask], pending: signals.pending.map((pending) => pending.signal), handlers: signals.handlers, recent: recentView(signals) }
}

function recentView({ recent = [] }: SignalState): SentSignalView[] {
  return recent.map(({ signal, by, via = null, root, disposition, at, escalatedMs = null }) => ({ signal, by, via, root, disposition, at: iso(at), escalatedMs }))
}

/** All about the signals of a process; `mono` is the time now. */
export function signalsOf({ uuid, pid, signals }: Process, mono: number): SignalsView {
  const pending = signals.pending.map(({ signal, by, via = null, root, dueMono }) => ({ signal, by, via, root, dueInMs: dueMono === null ? null : Math.max(0, Math.round(dueMono - mono)) }))
  return { version: 1, uuid, pid, mask: [...signals.mask], handlers: signals.handlers, pending, recent: recentView(signals) }
}

/** Active time in ms; it stands still while the process is suspended or has ended. */
export function elapsed(clock: Clock, mono: number): number {
  return Math.round(clock.elapsedMs + (clock.since === null ? 0 : Math.max(0, mono - clock.since)))
}

/** Active time in ms, with that of all incarnations before. */
export function elapsedInAll(clock: Clock, mono: number): number {
  return Math.round(clock.earlierMs ?? 0) + elapsed(clock, mono)
}

function holdView({ until, at, ...hold }: Hold): ProcessView['holds'][number] {
  return { ...hold, at: iso(at), ...(until === undefined ? {} : { until: iso(until) }) }
}

/** When the last of the holds whose end is known is over; null: nobody knows when it can go on. */
function resumeAtOf(life: Life): number | null {
  const ends = life.state === 'running' ? life.holds.flatMap(({ until }) => until ?? []) : []
  return ends.length === 0 ? null : Math.max(...ends)
}

function noteOf(process: Process): string | null {
  const { life } = process
  if (life.state === 'zombie' || life.state === 'dead') return life.exit.reason === 'completed' || (life.exit.reason === 'retired' && process.retiredAt !== null) ? process.note : [life.exit.reason, gaveUpNote(process)].filter((words) => words !== null).join('; ')
  if (life.state !== 'running') return restartNote(process) ?? process.note
  if (life.holds.length === 0) return life.stopping ? process.note : (asksNote(process) ?? livenessNote(process) ?? process.note ?? budgetNote(process) ?? crewNote(process) ?? runNote(process))
  const held = life.holds.map(holdWords).join(', ')
  const why = life.holds.some(({ reason }) => WITH_EVIDENCE.has(reason)) && process.note !== null ? ` (${process.note})` : ''
  return `paused: ${held}${why}${life.drained ? '' : ' (draining)'}`
}

/** Nobody asks before it calls its model: what it does next may be over its budget. */
function budgetNote(process: Process): string | null {
  const { budgetUsd, budgetTokens } = process.spec.limits
  return (budgetUsd ?? budgetTokens) !== undefined && meteringOf(process) === 'report' ? 'budget is looked at after each report' : null
}

/** Holds whose evidence is the last note. */
const WITH_EVIDENCE: ReadonlySet<HoldReason> = new Set<HoldReason>(['loop', 'breaker', 'supervisor', 'budget'])

/** `by user`, `rate limit until 14:05` */
function holdWords({ reason, by, at, until }: Hold): string {
  if (reason === 'user') return `by ${by}`
  return until === undefined ? reason : `${reason.replace('-', ' ')} until ${localTime(until, at)}`
}

/** `silent since 14:02, in the model call of step 4` */
function livenessNote({ liveness, clock }: Process): string | null {
  if (!liveness) return null
  const { word, since, evidence } = liveness
  return `${word} since ${localTime(since, clock.lastActivityAt)}${evidence === '' ? '' : `, ${evidence}`}`
}

/** `asks: run npm test? (and 1 more)` */
function asksNote(process: Process): string | null {
  const [first, ...others] = openAsks(process)
  if (!first) return null
  return `asks: ${first.text.trim().split('\n', 1)[0]}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
}

type Draft = { -readonly [K in keyof StepView]: StepView[K] }

/** Steps from a process's facts, in order. */
export function stepsOf(facts: Iterable<StoredFact>): StepView[] {
  const steps = new Map<number, Draft>()
  for (const { body, at } of facts) addToSteps(steps, body, at)
  return [...steps.values()]
}

function addToSteps(steps: Map<number, Draft>, body: FactBody, at: number): void {
  if (body.type === 'model.started') startStep(steps, body, at)
  else if (body.type === 'model.finished') finishModel(steps.get(body.step), body, at)
  else if (body.type === 'tool.finished') finishTool(steps.get(body.step), body, at)
  else if (body.type === 'usage.reported') addUsage([...steps.values()].at(-1), body.usage)
  else if (body.type === 'context.compacted' || body.type === 'compaction.failed') steps.get(body.step)?.notes.push(compactionText(body))
}

/** An agent of others may say what it used before or after the call has ended: it belongs to the step that is on. */
function addUsage(step: Draft | undefined, usage: CallUsage): void {
  if (!step) return
  step.inputTokens += usage.inputTokens
  step.outputTokens += usage.outputTokens
  step.cacheReadTokens += usage.cacheReadTokens
  step.cacheWriteTokens += usage.cacheWriteTokens
  if (usage.costUsd !== null) step.costUsd = (step.costUsd ?? 0) + usage.costUsd
}

function startStep(steps: Map<number, Draft>, body: Extract<FactBody, { type: 'model.started' }>, at: number): void {
  const known = steps.get(body.step)
  if (known) Object.assign(known, { attempts: known.attempts + 1, model: body.model })
  else {
    steps.set(body.step, {
      step: body.step, startedAt: iso(at), finishedAt: null, model: body.model, attempts: 1, text: null, tools: [],
      inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null, notes: [],
    })
  }
}

function finishModel(step: Draft | undefined, body: Extract<FactBody, { type: 'model.finished' }>, at: number): void {
  if (!step) return
  // An agent of others tells of an answer when it is whole.
  step.startedAt = iso(Math.min(Date.parse(step.startedAt), at - body.durationMs))
  const text = textOf(body.message)
  step.text = text === '' ? null : text
  addUsage(step, body.usage)
  step.tools = body.message.flatMap((part) =>
    part.type === 'tool-call' ? [{ callId: part.callId, name: part.name, input: part.input, outcome: null, result: null, durationMs: null }] : [],
  )
  if (step.tools.length === 0) step.finishedAt = iso(at)
}

function finishTool(step: Draft | undefined, body: Extract<FactBody, { type: 'tool.finished' }>, at: number): void {
  const tool = step?.tools.find((other) => other.callId === body.callId)
  if (!step || !tool) return
  Object.assign(tool, { outcome: body.outcome, result: resultText(body), durationMs: body.durationMs })
  if (step.tools.every((other) => other.outcome !== null)) step.finishedAt = iso(at)
}
