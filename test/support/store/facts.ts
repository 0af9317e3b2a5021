// Processes, facts and commits for tests and benchmarks of the store: the smallest realistic history of a native agent.
import type { FactBody, ForkState, ForkOrigin, StoredFact } from '../../../src/kernel/model/facts.ts'
import { fold } from '../../../src/kernel/state/fold.ts'
import { momentOf } from '../../../src/kernel/model/moment.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Commit, Counters } from '../../../src/store/store.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { NativeSpec, ProcessSpec } from '../../../src/kernel/model/process-spec.ts'
import type { DriverName } from '../../../src/kernel/model/words.ts'
import { changedSpec, type SpecChanges, type SpecOf } from '../spec-changes.ts'

/** A UUID for a number; its first digits are a time and the last ones the number, as in a v7. */
export function uuidOf(number: number): Uuid {
  const digits = number.toString(16).padStart(12, '0')
  return `0192f3a4-${digits.slice(0, 4)}-7abc-8def-${digits}`
}

export function specOf<D extends DriverName = 'native'>(changes: SpecChanges<D> = {}): SpecOf<D> {
  const spec: NativeSpec = {
    name: null,
    agent: 'coder',
    driver: 'native',
    intent: 'write the tests',
    cwd: '/src/app',
    interactive: false,
    model: 'script:a.json',
    system: 'You write tests.',
    tools: null,
    deny: [],
    argv: null,
    env: { LANG: 'C.UTF-8' },
    credentials: [],
    containment: 'auto',
    limits: { maxSteps: 100 },
  }
  return changedSpec(spec, changes)
}

/** The facts of an end, from running to dead. */
export function endFacts(): FactBody[] {
  return [{ type: 'process.exited', exit: { code: 0, reason: 'completed', cause: 'agent' }, mono: 9 }, { type: 'process.reaped' }]
}

export function forkedOf(pid: number, origin: ForkOrigin, spec: ProcessSpec = specOf()): FactBody {
  const state: ForkState = { turn: 0, turnOpen: false, lastText: null, queue: [], context: null, contextTokens: 0, sessionId: null }
  return { type: 'process.forked', pid, spec, parentUuid: null, depth: 0, by: 'user', origin, state }
}

/** The facts of a whole step with one tool call: four of them. */
export function stepOf(step: number, text = `text ${step}`): FactBody[] {
  const [called] = toolFinished(step, `content ${step}`)
  const started: FactBody = { type: 'model.started', step, attempt: 1, model: 'anthropic/claude-sonnet-4-5' }
  return called ? [started, ...modelFinished(step, text), called] : []
}

/** A commit with the cursors that the store must give, if each of these commits is written in its order. */
export interface MadeCommit extends Commit {
  readonly facts: readonly StoredFact[]
  /** the counters after the commit */
  readonly counters: Counters
}

/** Numbers facts and makes commits the way the daemon does: cursors rise over all processes, seqs within each. */
export class CommitMaker {
  cursor: number
  pid: number
  /** the time of the fact with this cursor, in wall ms */
  timeOf = (cursor: number): number => 1_700_000_000_000 + cursor
  readonly #processes = new Map<Uuid, Process>()

  constructor(counters = { pid: 0, cursor: 0 }, processes: readonly Process[] = []) {
    this.cursor = counters.cursor
    this.pid = counters.pid
    for (const process of processes) this.#processes.set(process.uuid, process)
  }

  get(uuid: Uuid): Process {
    const process = this.#processes.get(uuid)
    if (process === undefined) throw new Error(`the commit maker does not know ${uuid}`)
    return process
  }

  /** The commit that spawns and starts a process. */
  spawn(uuid: Uuid, spec: ProcessSpec = specOf(), ...moreBodies: FactBody[]): MadeCommit {
    this.pid += 1
    return this.write(
      uuid,
      { type: 'process.spawned', pid: this.pid, spec, parentUuid: null, depth: 0, by: 'user' },
      { type: 'process.started', mono: 5, attached: true, containment: null },
      ...moreBodies,
    )
  }

  /** The commit that forks a process after one of its facts, and starts the fork. */
  fork(uuid: Uuid, origin: Uuid, seq: number, ...moreBodies: FactBody[]): MadeCommit {
    this.pid += 1
    return this.write(
      uuid,
      forkedOf(this.pid, { uuid: origin, step: 0, seq }),
      { type: 'process.started', mono: 5, attached: true, containment: null },
      ...moreBodies,
    )
  }

  write(uuid: Uuid, ...bodies: FactBody[]): MadeCommit {
    return this.group(bodies.map((body) => [uuid, body]))
  }

  /** A commit with facts of several processes. */
  group(list: readonly (readonly [Uuid, FactBody])[]): MadeCommit {
    const facts = list.map(([uuid, body]): StoredFact => {
      const before = this.#processes.get(uuid)
      const cursor = ++this.cursor
      const previousSeq = body.type === 'process.forked' ? body.origin.seq : (before?.seq ?? 0)
      const fact = { cursor, uuid, seq: previousSeq + 1, pid: before?.pid ?? this.pid, at: this.timeOf(cursor), body }
      const after = fold(before, fact)
      this.#processes.set(uuid, after)
      return { ...fact, moment: momentOf(after, undefined) }
    })
    const processes = [...new Set(list.map(([uuid]) => uuid))].map((uuid) => this.get(uuid))
    return { facts, processes, lastPid: this.pid, counters: { pid: this.pid, cursor: this.cursor } }
  }
}

/** A step's first commit: the assistant's message of `text`, and the intent of its one call. */
export function modelFinished(step: number, text: string): FactBody[] {
  const callId = `call_${step}`
  return [
    {
      type: 'model.finished',
      step,
      finish: 'tool-calls',
      durationMs: 2_345,
      message: [
        { type: 'text', text },
        { type: 'tool-call', callId, name: 'read_file', input: { path: 'src/a.ts' } },
      ],
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
