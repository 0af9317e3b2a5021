// Processes, facts and commits for tests and benchmarks of the store: the smallest honest history of a native agent.
import type { FactBody, StoredFact } from '../../src/kernel/facts.ts'
import type { Process, ProcessSpec, Uuid } from '../../src/kernel/types.ts'
import type { Commit } from '../../src/store/store.ts'

/** The same UUID for the same number; the first digits are a time and the last ones the number, as in a v7. */
export function uuidOf(number: number): Uuid {
  const digits = number.toString(16).padStart(12, '0')
  return `0192f3a4-${digits.slice(0, 4)}-7abc-8def-${digits}`
}

export function specOf(changes: Partial<ProcessSpec> = {}): ProcessSpec {
  return {
    name: null, agent: 'coder', driver: 'native', intent: 'write the tests', cwd: '/src/app', interactive: false, model: 'script:a.json',
    system: 'You write tests.', tools: null, deny: [], argv: null, env: { LANG: 'C.UTF-8' }, credentials: [], containment: 'auto', limits: { maxSteps: 100 },
    ...changes,
  }
}

export function processOf(uuid: Uuid, changes: Partial<Process> = {}): Process {
  return {
    uuid, pid: 1, parent: null, parentUuid: null, depth: 0, spec: specOf(), specSeq: 1,
    life: { state: 'running', activity: 'working', holds: [], stopping: null, drained: false, attached: true },
    signals: { mask: [], pending: [], handlers: {} },
    progress: { step: 0, modelOpen: false, attempt: 0, openCalls: [], wholeStep: 0, turn: 1, turnOpen: true, lastText: null },
    usage: {
      steps: 0, turns: 0, messagesSent: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0,
      contextTokens: 0, costUsd: 0, unpriced: false, estimated: false,
    },
    queue: [],
    clock: { createdAt: 1_700_000_000_000, startedAt: 1_700_000_000_001, pausedAt: null, pausedMono: null, exitedAt: null, updatedAt: 1_700_000_000_001, lastActivityAt: 1_700_000_000_001, elapsedMs: 0, since: 5 },
    containment: null, handle: null, checkpoint: null, sessionId: null, note: null, originUuid: null, originStep: null,
    resumedFromStep: null, retiredAt: null, pinned: false, seq: 0, ...changes,
  }
}

export function deadOf(process: Process, exitedAt: number): Process {
  const exit = { code: 0, reason: 'completed', cause: 'agent' } as const
  return { ...process, life: { state: 'dead', exit }, clock: { ...process.clock, exitedAt } }
}

/** Numbers facts and makes commits the way the daemon does: cursors rise over all processes, seqs within each. */
export class Scribe {
  cursor: number
  pid: number
  readonly #processes = new Map<Uuid, Process>()

  constructor(counters = { pid: 0, cursor: 0 }, processes: readonly Process[] = []) {
    this.cursor = counters.cursor
    this.pid = counters.pid
    for (const process of processes) this.#processes.set(process.uuid, process)
  }

  get(uuid: Uuid): Process {
    const process = this.#processes.get(uuid)
    if (process === undefined) throw new Error(`the scribe does not know ${uuid}`)
    return process
  }

  /** The commit that spawns a process. */
  spawn(uuid: Uuid, spec: ProcessSpec = specOf()): Commit {
    this.#processes.set(uuid, processOf(uuid, { pid: ++this.pid, spec }))
    return this.write(uuid, { type: 'process.spawned', pid: this.pid, spec, parentUuid: null, depth: 0, by: 'user' })
  }

  write(uuid: Uuid, ...bodies: FactBody[]): Commit {
    return this.group(bodies.map((body) => [uuid, body]))
  }

  /** One commit of facts of several processes. */
  group(list: readonly (readonly [Uuid, FactBody])[]): Commit {
    const facts = list.map(([uuid, body]): StoredFact => {
      const before = this.get(uuid)
      const process = { ...before, seq: before.seq + 1 }
      this.#processes.set(uuid, process)
      return { cursor: ++this.cursor, uuid, seq: process.seq, pid: process.pid, at: 1_700_000_000_000 + this.cursor, body }
    })
    const processes = [...new Set(list.map(([uuid]) => uuid))].map((uuid) => this.get(uuid))
    return { facts, processes, counters: { pid: this.pid, cursor: this.cursor } }
  }

  /** Changes the row that the next commit of this process writes. */
  change(uuid: Uuid, changes: Partial<Process>): void {
    this.#processes.set(uuid, { ...this.get(uuid), ...changes })
  }
}

/** A step's first commit: the assistant's message of `text`, and the intent of its one call. */
export function modelFinished(step: number, text: string): FactBody[] {
  const callId = `call_${step}`
  return [
    {
      type: 'model.finished', step, finish: 'tool-calls', durationMs: 2_345,
      message: [{ type: 'text', text }, { type: 'tool-call', callId, name: 'read_file', input: { path: 'src/a.ts' } }],
      usage: { inputTokens: 12_345, outputTokens: 678, cacheReadTokens: 11_000, cacheWriteTokens: 500, costUsd: 0.012345 },
    },
    { type: 'tool.started', step, callId, name: 'read_file', effect: 'read' },
  ]
}

/** A step's second commit: the tool's result, and the next model call. */
export function toolFinished(step: number, content: string): FactBody[] {
  return [
    { type: 'tool.finished', step, callId: `call_${step}`, name: 'read_file', outcome: 'ok', content, durationMs: 12 },
    { type: 'model.started', step: step + 1, attempt: 1, model: 'anthropic/claude-sonnet-4-5' },
  ]
}
