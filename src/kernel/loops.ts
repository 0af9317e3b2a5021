// The loop detector and the circuit breaker: the same tool calls with the same results again and again, alone or in cycles
// of up to four, and tools that fail one after another, whichever they are. Pure and bounded: a few numbers per process,
// beside the table. Nothing of it is stored: it begins anew with a daemon, and when a person lets a process go on.
// What is hashed is all of name, input and result, so that looking again at something that changes is no loop.
// Test: test/tables/loops.test.ts.
import { isExternal } from './capabilities.ts'
import { hold } from './holding.ts'
import { isSuspended } from './status.ts'
import type { FactBody, ToolOutcome } from './facts.ts'
import type { InputOf } from './inputs.ts'
import type { Thresholds } from './liveness.ts'
import type { HoldReason } from './types.ts'
import type { Work } from './work.ts'

/** A call that took so long was worth waiting for: who looks now and then is no loop. In ms. */
const PATIENT_MS = 30_000
/** steps in one round of a cycle */
const MAX_PERIOD = 4
const BRIEF_CHARS = 200
/** calls of one step that are told of */
const MAX_TOLD = 4

export interface CallEvidence {
  readonly name: string
  readonly input: string
  readonly result: string
}

export interface ToolErrors {
  readonly name: string
  readonly errors: number
}

type BodyOf<T extends FactBody['type']> = Extract<FactBody, { type: T }>
type Evidence<T extends 'liveness.looping' | 'liveness.breaker'> = BodyOf<T>

/** What the fact says. */
export type LoopEvidence = Evidence<'liveness.looping'> | Evidence<'liveness.breaker'>

interface Open {
  readonly hash: number
  readonly name: string
  readonly input: unknown
}

interface Step {
  readonly hash: number
  readonly calls: readonly CallEvidence[]
}

/** Watches the facts of one incarnation; `see` says what it found, once. */
export class LoopWatch {
  readonly #limits: Pick<Thresholds, 'loop' | 'errors' | 'errorsOf'>
  readonly #open = new Map<string, Open>()
  #now: { hash: number; patient: boolean; calls: CallEvidence[] } = { hash: 0, patient: false, calls: [] }
  /** the last steps, the newest last */
  #steps: Step[] = []
  /** by period: how many steps in a row were the same as the one so long before */
  #runs: number[] = []
  #failed: { readonly name: string; readonly failed: boolean }[] = []

  constructor(limits: Pick<Thresholds, 'loop' | 'errors' | 'errorsOf'>) {
    this.#limits = limits
  }

  see(body: FactBody): LoopEvidence | null {
    switch (body.type) {
      case 'model.finished': return this.#asked(body)
      case 'tool.finished': return this.#finished(body)
      case 'process.incoming': return this.#begin()
      case 'process.released': return this.#begin()
      default: return null
    }
  }

  /** A new count. */
  #begin(): null {
    this.#steps = []
    this.#runs = []
    this.#failed = []
    return null
  }

  #asked({ message }: BodyOf<'model.finished'>): null {
    this.#open.clear()
    this.#now = { hash: 0, patient: false, calls: [] }
    for (const part of message) {
      if (part.type !== 'tool-call') continue
      this.#open.set(part.callId, { hash: hashOf(JSON.stringify(part.input) ?? '', hashOf(part.name, 0)), name: part.name, input: part.input })
    }
    return null
  }

  #finished({ callId, name, outcome, content, durationMs }: BodyOf<'tool.finished'>): LoopEvidence | null {
    const open = this.#open.get(callId)
    const broken = this.#breaker(name, outcome, content)
    if (!open) return broken
    this.#open.delete(callId)
    const { calls } = this.#now
    if (calls.length < MAX_TOLD) calls.push({ name, input: brief(JSON.stringify(open.input) ?? ''), result: brief(content) })
    // Calls of one step may end in any order.
    this.#now.hash = (this.#now.hash + hashOf(content, open.hash)) % Number.MAX_SAFE_INTEGER
    this.#now.patient ||= durationMs >= PATIENT_MS
    return broken ?? (this.#open.size === 0 ? this.#whole() : null)
  }

  #whole(): LoopEvidence | null {
    const { loop } = this.#limits
    if (loop === null) return null
    const { hash, patient, calls } = this.#now
    if (patient) {
      this.#steps = []
      this.#runs = []
      return null
    }
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      const same = this.#steps.at(-period)?.hash === hash
      this.#runs[period] = same ? (this.#runs[period] ?? 0) + 1 : 0
    }
    this.#steps = [...this.#steps.slice(1 - MAX_PERIOD), { hash, calls }]
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      if ((this.#runs[period] ?? 0) < period * (loop - 1)) continue
      const round = this.#steps.slice(-period).flatMap((step) => step.calls)
      this.#begin()
      return { type: 'liveness.looping', times: loop, calls: round }
    }
    return null
  }

  #breaker(name: string, outcome: ToolOutcome, content: string): LoopEvidence | null {
    const { errors, errorsOf } = this.#limits
    if (errors === null || outcome === 'interrupted') return null
    const failed = outcome === 'error' || outcome === 'denied'
    this.#failed = [...this.#failed.slice(1 - errorsOf), { name, failed }]
    const bad = this.#failed.filter((one) => one.failed)
    if (!failed || bad.length < errors) return null
    const of = this.#failed.length
    this.#begin()
    return { type: 'liveness.breaker', errors: bad.length, of, tools: byTool(bad), last: brief(content) }
  }
}

function byTool(bad: readonly { readonly name: string }[]): ToolErrors[] {
  const counts = new Map<string, number>()
  for (const { name } of bad) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, errors]) => ({ name, errors })).toSorted((a, b) => b.errors - a.errors)
}

function brief(text: string): string {
  return text.length > BRIEF_CHARS ? `${text.slice(0, BRIEF_CHARS - 1).toWellFormed()}…` : text
}

/** 53 bits of a text, mixed with what came before it (cyrb53, public domain). */
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

/** What was found becomes a hold, with the evidence as a fact before it. An agent of others is frozen: what it does next would be more of the same. */
export function loop(work: Work, { uuid, pid, evidence }: InputOf<'loop'>): void {
  const process = work.get(uuid)
  if (process?.life.state !== 'running' || process.pid !== pid || process.life.stopping || isSuspended(process)) return
  const reason: HoldReason = evidence.type === 'liveness.looping' ? 'loop' : 'breaker'
  work.emit(uuid, evidence)
  work.emit(uuid, { type: 'process.note', text: wordsOf(evidence) })
  hold(work, uuid, { reason, by: 'system', at: work.now.wall }, isExternal(process.spec))
}

function wordsOf(evidence: LoopEvidence): string {
  if (evidence.type === 'liveness.breaker') {
    return `${evidence.errors} of the last ${evidence.of} tool calls failed: ${evidence.tools.map(({ name, errors }) => `${name} ${errors}`).join(', ')}`
  }
  return `${evidence.times} times the same, with the same results: ${evidence.calls.map(({ name }) => name).join(', ')}`
}
