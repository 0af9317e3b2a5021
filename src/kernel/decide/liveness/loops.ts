// The loop detector and the circuit breaker. A loop is a repetition of steps whose tool calls have equal inputs and
// results; up to four different steps may form one round. Waiting is not a loop, and neither is polling something that
// changes. The breaker counts failed calls of any tools. Pure and bounded: a detector keeps a few numbers per process.
// They are not stored, so counting restarts with the daemon, and when the user resumes a process. Test:
// test/tables/kernel/decide/liveness/loops.test.ts.
import { CAPABILITIES, isExternal } from '../../model/capabilities.ts'
import { addHold } from '../holds/add-hold.ts'
import { isNotice, noticeId } from '../../model/signals.ts'
import { enqueueMessage, isQueueFull } from '../message-queue.ts'
import { isSuspended } from '../../model/status.ts'
import { truncate } from '../../util/truncate.ts'
import type { FactBody, BodyOf } from '../../model/facts.ts'
import type { InputOf, LoopEvidence } from '../../model/inputs.ts'
import type { Thresholds } from './liveness.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { CallEvidence, ToolErrors } from '../../model/liveness.ts'

/** Steps whose ends are at least this many ms apart do not count as a loop, because the agent waits and polls. */
const MIN_POLLING_GAP_MS = 10_000
/** number of equal rounds after which the model is warned */
const WARN_AT_ROUNDS = 5
/** the names that agents give to reeve's own tool `wait` */
const WAIT_TOOL = /^(?:mcp[_.]+)?reeve[_./]+wait$|^wait \(reeve MCP Server\)$/
/** maximum number of steps in a round */
const MAX_PERIOD = 4
/** maximum length of inputs and results in the evidence */
const EVIDENCE_CHARS = 200
/** maximum length of a call in a note */
const CALL_CHARS = 100
/** maximum number of listed calls per step */
const MAX_LISTED_CALLS = 4

interface OpenToolCall {
  /** covers name and input */
  readonly hash: number
  readonly name: string
  readonly input: unknown
}

interface ObservedStep {
  /** covers names, inputs and results of all its calls */
  readonly hash: number
  readonly calls: readonly CallEvidence[]
}

/** Watches the facts of one incarnation; `observe` reports each finding once. */
export class LoopDetector {
  readonly #thresholds: Pick<Thresholds, 'loop' | 'errors' | 'errorsOf'>
  readonly #open = new Map<string, OpenToolCall>()
  /** the step in progress; `waits`: it has called the tool `wait` */
  #current: { hash: number; waits: boolean; calls: CallEvidence[] } = { hash: 0, waits: false, calls: [] }
  /** wall ms of the end of the last step */
  #endedAt = -Infinity
  /** the last steps, the newest last */
  #steps: ObservedStep[] = []
  /** by period: number of consecutive steps, up to now, that equal the step a period earlier */
  #repeats: number[] = []
  /** the last tool calls, oldest first */
  #recentCalls: { readonly name: string; readonly failed: boolean }[] = []
  /** the warnings that the model has received; its process is held if the repetition or the failures continue */
  #warned = { loop: false, errors: false }

  constructor(thresholds: Pick<Thresholds, 'loop' | 'errors' | 'errorsOf'>) {
    this.#thresholds = thresholds
  }

  /** Takes the next fact and its time in wall ms. Returns evidence that the fact completes, or null. */
  observe(body: FactBody, at: number): LoopEvidence | null {
    switch (body.type) {
      case 'model.finished':
        return this.#onModelFinished(body)
      case 'tool.finished':
        return this.#onToolFinished(body, at)
      case 'process.incoming':
        return isNotice(body.id) ? null : this.#reset()
      case 'process.released':
        return this.#reset()
      default:
        return null
    }
  }

  /** Begins a new count. */
  #reset(): null {
    this.#forgetSteps()
    this.#recentCalls = []
    this.#warned = { loop: false, errors: false }
    return null
  }

  #forgetSteps(): null {
    this.#steps = []
    this.#repeats = []
    this.#warned.loop = false
    return null
  }

  #onModelFinished({ message }: BodyOf<'model.finished'>): null {
    this.#open.clear()
    this.#current = { hash: 0, waits: false, calls: [] }
    for (const part of message) {
      if (part.type !== 'tool-call') continue
      this.#open.set(part.callId, {
        hash: hashOf(JSON.stringify(part.input) ?? '', hashOf(part.name, 0)),
        name: part.name,
        input: part.input,
      })
    }
    return null
  }

  #onToolFinished(body: BodyOf<'tool.finished'>, at: number): LoopEvidence | null {
    const { callId, name, content } = body
    const open = this.#open.get(callId)
    const breakerEvidence = this.#countFailures(body)
    if (!open) return breakerEvidence
    this.#open.delete(callId)
    const { calls } = this.#current
    if (calls.length < MAX_LISTED_CALLS) calls.push({ name, input: shorten(JSON.stringify(open.input) ?? ''), result: shorten(content) })
    // Calls of one step may end in any order.
    this.#current.hash = (this.#current.hash + hashOf(content, open.hash)) % Number.MAX_SAFE_INTEGER
    this.#current.waits ||= WAIT_TOOL.test(name)
    return this.#open.size === 0 ? (breakerEvidence ?? this.#onStepFinished(at)) : breakerEvidence
  }

  /** Compares the finished step with earlier steps. */
  #onStepFinished(at: number): LoopEvidence | null {
    const { loop } = this.#thresholds
    if (loop === null) return null
    const { hash, waits, calls } = this.#current
    const isWaiting = waits || at - this.#endedAt >= MIN_POLLING_GAP_MS
    this.#endedAt = at
    if (isWaiting) this.#forgetSteps()
    if (waits) return null
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      const isEqual = this.#steps.at(-period)?.hash === hash
      this.#repeats[period] = isEqual ? (this.#repeats[period] ?? 0) + 1 : 0
    }
    this.#steps = [...this.#steps.slice(1 - MAX_PERIOD), { hash, calls }]
    if (this.#repeats.every((count) => count === 0)) this.#warned.loop = false
    const round = this.#findRound(loop)
    if (round) {
      this.#reset()
      return { type: 'liveness.looping', times: loop, calls: round }
    }
    const warning = this.#warned.loop || loop <= WARN_AT_ROUNDS ? null : this.#findRound(WARN_AT_ROUNDS)
    this.#warned.loop ||= warning !== null
    return warning && { type: 'liveness.looping', times: WARN_AT_ROUNDS, calls: warning, told: loop }
  }

  /** The calls of the shortest round that the last steps contain `times` times in a row; null: there is none. */
  #findRound(times: number): CallEvidence[] | null {
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      if ((this.#repeats[period] ?? 0) >= period * (times - 1)) return this.#steps.slice(-period).flatMap((step) => step.calls)
    }
    return null
  }

  /** Counts a finished call. Returns evidence when too many of the last calls have failed. */
  #countFailures({ name, outcome, content, exitCode = 0 }: BodyOf<'tool.finished'>): LoopEvidence | null {
    const { errors, errorsOf } = this.#thresholds
    if (errors === null || outcome === 'interrupted') return null
    const failed = outcome === 'error' || outcome === 'denied' || exitCode !== 0
    this.#recentCalls = [...this.#recentCalls.slice(1 - errorsOf), { name, failed }]
    const failures = this.#recentCalls.filter((call) => call.failed)
    if (!failed || failures.length < errors) {
      // The model has done better since its warning.
      if (this.#recentCalls.length === errorsOf && failures.length < errors) this.#warned.errors = false
      return null
    }
    const evidence = {
      type: 'liveness.breaker',
      errors: failures.length,
      of: this.#recentCalls.length,
      tools: countByTool(failures),
      last: shorten(content),
    } as const
    this.#recentCalls = []
    if (!this.#warned.errors) {
      this.#warned.errors = true
      return { ...evidence, told: errors }
    }
    this.#reset()
    return evidence
  }
}

function countByTool(failures: readonly { readonly name: string }[]): ToolErrors[] {
  const counts = new Map<string, number>()
  for (const { name } of failures) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, errors]) => ({ name, errors })).toSorted((a, b) => b.errors - a.errors)
}

function shorten(text: string, chars = EVIDENCE_CHARS): string {
  return truncate(text, chars, '…')
}

/** A 53-bit hash of a text, mixed with the hash before it (cyrb53, public domain). */
function hashOf(text: string, seed: number): number {
  let h1 = 0xdeadbeef ^ (seed % 0x1_0000_0000)
  let h2 = 0x41c6ce57 ^ Math.floor(seed / 0x1_0000_0000)
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    h1 = Math.imul(h1 ^ code, 2_654_435_761)
    h2 = Math.imul(h2 ^ code, 1_597_334_677)
  }
  h1 = Math.imul(h1 ^ (h1 >>> 16), 2_246_822_507) ^ Math.imul(h2 ^ (h2 >>> 13), 3_266_489_909)
  h2 = Math.imul(h2 ^ (h2 >>> 16), 2_246_822_507) ^ Math.imul(h1 ^ (h1 >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & h2) + (h1 >>> 0)
}

/**
 * Records the evidence. A native agent is first warned, before its next model call, and held if it continues. An
 * external agent cannot be warned within its turn, so it is held and frozen.
 */
export function recordLoop(draft: DecisionDraft, { uuid, pid, evidence }: InputOf<'loop'>): void {
  const process = draft.get(uuid)
  if (process?.life.state !== 'running' || process.pid !== pid || process.life.stopping || isSuspended(process)) return
  const isLoop = evidence.type === 'liveness.looping'
  if (evidence.told !== undefined && CAPABILITIES[process.spec.driver].recordsContext) return warnModel(draft, process, evidence)
  if (evidence.told !== undefined && isLoop) return
  const { told: _, ...held } = evidence
  draft.emit(uuid, held)
  draft.emit(uuid, { type: 'process.note', text: evidenceText(evidence) })
  addHold(draft, uuid, { reason: isLoop ? 'loop' : 'breaker', by: 'system', at: draft.now.wall }, isExternal(process.spec))
}

function warnModel(draft: DecisionDraft, process: Process, evidence: LoopEvidence): void {
  const { uuid, seq } = process
  draft.emit(uuid, evidence)
  // An agent whose turn has ended needs no warning.
  if (!process.progress.turnOpen || isQueueFull(process)) return
  const limit = evidence.type === 'liveness.looping' ? `${evidence.told} repetitions` : `${evidence.told} more failures`
  const text = `${evidenceText(evidence)}. Try another way, or end your turn and report what prevents your work. After ${limit} you are suspended.`
  enqueueMessage(draft, uuid, { id: noticeId(seq), from: 'system', text, urgent: true })
}

function evidenceText(evidence: LoopEvidence): string {
  if (evidence.type === 'liveness.breaker') {
    return `${evidence.errors} of the last ${evidence.of} tool calls failed: ${evidence.tools.map(({ name, errors }) => `${name} ${errors}`).join(', ')}`
  }
  return `repeated ${evidence.times} times with the same results: ${evidence.calls.map(({ name, input }) => shorten(`${name} ${input}`, CALL_CHARS)).join(', ')}`
}
