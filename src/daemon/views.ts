// Processes and steps as the API shows them. Owns the mapping from state to view; every number shown is computed here.
// Test: test/tables/views.test.ts, test/e2e/api.test.ts.
import { hostname } from 'node:os'
import { statusOf } from '../kernel/status.ts'
import { iso, isoOrNull } from './times.ts'
import type { ProcessView, StepView } from '../api/views.ts'
import type { FactBody, StoredFact } from '../kernel/facts.ts'
import type { Clock, Life, Process, Uuid } from '../kernel/types.ts'

const HOST = hostname()

/** What a view needs beside the process itself. */
export interface Family {
  /** the PID of its parent in the tree; 0 is the kernel */
  readonly ppid: number
  readonly children: readonly Uuid[]
  /** the process and all that it spawned, as far as they are in the table */
  readonly subtree: readonly Process[]
}

export function processView(process: Process, family: Family, mono: number): ProcessView {
  const { spec, life, clock } = process
  return {
    uuid: process.uuid,
    pid: process.pid,
    ppid: family.ppid,
    parentUuid: process.parentUuid,
    name: spec.name,
    agent: spec.agent,
    driver: spec.driver,
    state: life.state,
    status: statusOf(process),
    ...lifeView(life),
    resumeAt: null,
    intent: spec.intent,
    cwd: spec.cwd,
    host: HOST,
    containment: process.containment?.kind ?? null,
    createdAt: iso(clock.createdAt),
    startedAt: isoOrNull(clock.startedAt),
    pausedAt: life.state === 'running' ? isoOrNull(clock.pausedAt) : null,
    exitedAt: isoOrNull(clock.exitedAt),
    elapsedMs: elapsed(clock, mono),
    signals: signalsView(process),
    step: process.progress.step,
    turn: process.progress.turn,
    originUuid: process.originUuid,
    originStep: process.originStep,
    resumedFromStep: process.resumedFromStep,
    model: spec.model,
    sessionId: process.sessionId,
    role: null, phase: null, taskId: null,
    queueCount: process.queue.length,
    retiredAt: isoOrNull(process.retiredAt),
    updatedAt: iso(clock.updatedAt),
    lastActivityAt: iso(clock.lastActivityAt),
    usage: { ...process.usage, contextWindow: null, turnCostUsd: null, cpuTimeMs: null, rssBytes: null, updatedAt: iso(clock.updatedAt) },
    subtreeUsage: subtreeUsage(family.subtree),
    limits: spec.limits,
    capabilities: { tools: spec.tools === null ? null : [...spec.tools], deny: [...spec.deny] },
    children: [...family.children],
    pinned: process.pinned,
    note: noteOf(process),
    lastText: process.progress.lastText,
  }
}

function lifeView(life: Life): Pick<ProcessView, 'activity' | 'holds' | 'exit' | 'stopping'> {
  if (life.state === 'created') return { activity: null, holds: [], exit: null, stopping: null }
  if (life.state !== 'running') {
    const { cause: _, ...exit } = life.exit
    return { activity: null, holds: [], exit, stopping: null }
  }
  const { activity, holds, stopping } = life
  return {
    activity,
    holds: holds.map((hold) => ({ ...hold, at: iso(hold.at) })),
    exit: null,
    stopping: stopping && { signal: stopping.signal, by: stopping.by, at: iso(stopping.at) },
  }
}

function signalsView({ signals }: Process): ProcessView['signals'] {
  return { mask: [...signals.mask], pending: signals.pending.map((pending) => pending.signal), handlers: signals.handlers }
}

/** Active time in ms; it stands still while the process is suspended or has ended. */
export function elapsed(clock: Clock, mono: number): number {
  return Math.round(clock.elapsedMs + (clock.since === null ? 0 : Math.max(0, mono - clock.since)))
}

function subtreeUsage(processes: readonly Process[]): ProcessView['subtreeUsage'] {
  const sum = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, steps: 0 }
  for (const { usage } of processes) {
    sum.inputTokens += usage.inputTokens
    sum.outputTokens += usage.outputTokens
    sum.cacheReadTokens += usage.cacheReadTokens
    sum.cacheWriteTokens += usage.cacheWriteTokens
    sum.costUsd += usage.costUsd
    sum.steps += usage.steps
  }
  return sum
}

function noteOf(process: Process): string | null {
  const { life } = process
  if (life.state === 'zombie' || life.state === 'dead') return life.exit.reason === 'completed' ? process.note : life.exit.reason
  if (life.state !== 'running' || life.holds.length === 0) return process.note
  const held = life.holds.map((hold) => (hold.reason === 'user' ? `by ${hold.by}` : hold.reason)).join(', ')
  return `paused: ${held}${life.drained ? '' : ' (draining)'}`
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
}

function startStep(steps: Map<number, Draft>, body: Extract<FactBody, { type: 'model.started' }>, at: number): void {
  const known = steps.get(body.step)
  if (known) known.attempts += 1
  else {
    steps.set(body.step, {
      step: body.step, startedAt: iso(at), finishedAt: null, model: body.model, attempts: 1, text: null, tools: [],
      inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null,
    })
  }
}

function finishModel(step: Draft | undefined, body: Extract<FactBody, { type: 'model.finished' }>, at: number): void {
  if (!step) return
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = body.usage
  const text = body.message.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  Object.assign(step, { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, text: text === '' ? null : text })
  step.tools = body.message.flatMap((part) =>
    part.type === 'tool-call' ? [{ callId: part.callId, name: part.name, input: part.input, outcome: null, result: null, durationMs: null }] : [],
  )
  if (step.tools.length === 0) step.finishedAt = iso(at)
}

function finishTool(step: Draft | undefined, body: Extract<FactBody, { type: 'tool.finished' }>, at: number): void {
  const tool = step?.tools.find((other) => other.callId === body.callId)
  if (!step || !tool) return
  Object.assign(tool, { outcome: body.outcome, result: body.content, durationMs: body.durationMs })
  if (step.tools.every((other) => other.outcome !== null)) step.finishedAt = iso(at)
}
