// Selects random inputs that are possible in the kernel's current state. The numbers that select come from a seeded generator or
// from a property's shrinking arrays. The same numbers and the same state give the same input.
import type { InputBody, ForkPoint } from '../../../src/kernel/model/inputs.ts'
import { forkPointNow, forkState } from '../../../src/kernel/decide/fork.ts'
import { fold } from '../../../src/kernel/state/fold.ts'
import { isExternal } from '../../../src/kernel/model/capabilities.ts'
import type { RequestedCall, Report } from '../../../src/kernel/model/reports.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { BEYOND_ALL_FACTS } from './model-reports.ts'
import { kernelSpec } from './world.ts'
import type { World } from './world.ts'
import type { Sender, Uuid } from '../../../src/kernel/model/ids.ts'
import type { HoldReason, Signal } from '../../../src/kernel/model/words.ts'
import type { ProcessSpec } from '../../../src/kernel/model/process-spec.ts'

/** The latest time that a request may name. */
const LAST_TIME = Date.UTC(9999, 11, 31)

/** Returns a number from 0 to `n` - 1. */
export type PickNumber = (n: number) => number

/** Mulberry32: small, fast, the same everywhere. */
export function makeSeededPick(seed: number): PickNumber {
  let state = seed >>> 0
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}

/** A possible act: an input, passing time, a commit of the last decision, or a daemon's restart. */
export type RandomAct =
  | InputBody
  | { readonly type: 'wind'; readonly ms: number }
  | { readonly type: 'commit' }
  | { readonly type: 'restart' }

const SIGNALS: readonly Signal[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGPAUSE', 'SIGPAUSE', 'SIGRESUME', 'SIGRESUME']
const HOLD_REASONS: readonly HoldReason[] = ['disk-full', 'daemon-shutdown', 'credentials', 'loop']
const WINDOWS = [null, 16, 18, 100]
const DRIVERS: readonly Omit<ProcessSpec, Exclude<keyof ProcessSpec, 'driver' | 'format'>>[] = [
  { driver: 'native' },
  { driver: 'native' },
  { driver: 'acp' },
  { driver: 'acp' },
  { driver: 'command' },
  { driver: 'command', format: 'claude' },
]

export class RandomInputs {
  readonly #world: World
  readonly #uuids: Uuid[] = []
  #replies = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Returns the next act. Reports are the most frequent, daemon restarts the rarest. */
  next(pick: PickNumber): RandomAct {
    const percent = pick(100)
    if (this.#uuids.length === 0 || percent < 6) return this.#spawn(pick)
    if (percent < 15) return this.#start(pick)
    if (percent < 21) return this.#signal(pick)
    if (percent < 27) return this.#resume(pick)
    if (percent === 27 && pick(2) === 0) return this.#answerAsk(pick)
    if (percent < 30)
      return {
        type: 'send',
        reply: this.#reply(),
        by: this.#by(pick),
        uuid: this.#uuid(pick),
        id: `m${this.#replies}`,
        text: 'hello',
        ...(pick(3) === 0 ? { urgent: true } : {}),
      }
    if (percent < 32)
      return {
        type: 'mask',
        reply: this.#reply(),
        by: 'user',
        uuid: this.#uuid(pick),
        mask: pickSome(pick, SIGNALS),
        how: pickOne(pick, ['set', 'block', 'unblock'] as const),
      }
    if (percent === 32 && pick(3) !== 0) return this.#take(pick)
    if (percent < 33)
      return {
        type: 'handle',
        reply: this.#reply(),
        by: 'user',
        uuid: this.#uuid(pick),
        signal: pickOne(pick, SIGNALS),
        handler: pickOne(pick, ['default', 'ignore', 'message'] as const),
      }
    if (percent === 33 && pick(2) === 0) return this.#observation(pick)
    if (percent < 34) return { type: 'hold', uuid: pick(4) === 0 ? null : this.#uuid(pick), reason: pickOne(pick, HOLD_REASONS) }
    if (percent < 38) return { type: 'release', uuid: pick(2) === 0 ? null : this.#uuid(pick), reason: pickOne(pick, HOLD_REASONS) }
    if (percent < 41) return this.#released(pick)
    if (percent === 41) return this.#fork(pick) ?? this.#released(pick)
    if (percent < 43) return pick(4) !== 0 ? this.#checkpoint(pick) : pick(2) === 0 ? this.#pin(pick) : this.#rename(pick)
    if (percent < 45) return { type: 'tick', uuid: this.#uuid(pick) }
    if (percent < 49) return { type: 'wind', ms: pickOne(pick, [1, 50, 400, 9_000, 130_000]) }
    if (percent < 57) return { type: 'commit' }
    if (percent === 57 && pick(3) === 0) return { type: 'restart' }
    return this.#report(pick)
  }

  /** Takes a waiting message, if there is one; usually the process itself takes it. */
  #take(pick: PickNumber): InputBody {
    const uuid = this.#uuid(pick)
    const waitingMessages = (this.#world.row(uuid)?.queue ?? []).filter(({ id, from }) => id !== 'intent' && from !== 'system')
    return {
      type: 'take',
      reply: this.#reply(),
      by: pick(4) === 0 ? this.#by(pick) : `agent:${uuid}`,
      uuid,
      ids: [pickOne(pick, ['m0', ...waitingMessages.map(({ id }) => id)])],
    }
  }

  /** Makes a monitor's observation, sometimes of an old incarnation. */
  #observation(pick: PickNumber): InputBody {
    const uuid = this.#uuid(pick)
    const pid = pick(8) === 0 ? 1 : (this.#world.row(uuid)?.pid ?? 0)
    if (pick(2) === 0)
      return {
        type: 'liveness',
        uuid,
        pid,
        word: pickOne(pick, ['alive', 'silent', 'stalled', 'waiting', 'stopped'] as const),
        since: this.#world.wall,
        evidence: 'in bash',
      }
    const calls = [{ name: 'bash', input: '{}', result: '' }]
    return {
      type: 'loop',
      uuid,
      pid,
      evidence:
        pick(2) === 0
          ? { type: 'liveness.looping', times: 5, calls, ...(pick(2) === 0 ? { told: 12 } : {}) }
          : {
              type: 'liveness.breaker',
              errors: 8,
              of: 10,
              tools: [{ name: 'bash', errors: 8 }],
              last: 'no',
              ...(pick(2) === 0 ? { told: 8 } : {}),
            },
    }
  }

  #spawn(pick: PickNumber): InputBody {
    const rows = [...this.#world.overlay.all()]
    const takenRow = pick(8) === 0 ? rows[pick(Math.max(1, rows.length))] : undefined
    const uuid = takenRow ?? `p${this.#uuids.length + 1}`
    const parent = pick(3) === 0 ? null : pick(20) === 0 ? 'nobody' : this.#uuid(pick)
    const input: InputBody = {
      type: 'spawn',
      reply: this.#reply(),
      by: this.#by(pick),
      uuid,
      parent: this.#uuids.length === 0 ? null : parent,
      spec: this.#spec(pick),
    }
    if (takenRow === undefined) this.#uuids.push(uuid)
    return input
  }

  #spec(pick: PickNumber): ProcessSpec {
    const limits = {
      ...(pick(6) === 0 ? { maxSteps: 1 + pick(3) } : {}),
      ...(pick(6) === 0 ? { timeoutMs: pickOne(pick, [40, 500, 20_000]) } : {}),
      ...(pick(6) === 0 ? { budgetTokens: 40 } : {}),
    }
    return kernelSpec({
      ...pickOne(pick, DRIVERS),
      interactive: pick(2) === 0,
      name: pick(4) === 0 ? pickOne(pick, ['x', 'y']) : null,
      intent: pick(8) === 0 ? '' : 'work',
      limits,
    })
  }

  /** Makes an answer, usually to an open question and usually a valid one. */
  #answerAsk(pick: PickNumber): InputBody {
    const uuid = this.#matchingUuid(pick, ({ asks = [] }) => asks.length > 0)
    const asks = this.#world.row(uuid)?.asks ?? []
    const ask = asks[pick(Math.max(1, asks.length))]
    if (pick(3) === 0)
      return {
        type: 'withdrawAnswer',
        reply: this.#reply(),
        by: pick(8) === 0 ? this.#by(pick) : 'user',
        uuid,
        id: (asks.find(({ answer }) => answer) ?? ask)?.id ?? 'none',
      }
    const option = ask && ask.options.length > 0 && pick(6) > 0 ? 'yes' : null
    return {
      type: 'answer',
      reply: this.#reply(),
      by: pick(4) === 0 ? this.#by(pick) : 'user',
      uuid,
      id: pick(3) === 0 ? null : (ask?.id ?? 'none'),
      option: pick(12) === 0 ? 'maybe' : option,
      text: option === null && pick(4) > 0 ? 'forty-two' : null,
      ...(pick(3) > 0 ? { undoMs: pick(20) } : {}),
    }
  }

  #checkpoint(pick: PickNumber): InputBody {
    const uuid = this.#uuid(pick)
    return { type: 'checkpoint', uuid, pid: this.#pid(pick, uuid), error: pick(2) === 0 ? null : 'EIO' }
  }

  #start(pick: PickNumber): InputBody {
    const uuid = this.#matchingUuid(pick, ({ life }) => life.state === 'created' || (life.state === 'running' && !life.attached))
    return {
      type: 'start',
      uuid,
      pid: this.#pid(pick, uuid),
      missingKeys: pick(8) === 0 ? ['KEY'] : [],
      containment: { kind: 'group', path: null, marker: uuid },
    }
  }

  #signal(pick: PickNumber): InputBody {
    return {
      type: 'signal',
      reply: this.#reply(),
      by: this.#by(pick),
      uuid: this.#uuid(pick),
      signal: pickOne(pick, SIGNALS),
      subtree: pick(3) === 0,
      graceMs: pick(2) === 0 ? null : 10_000,
      freeze: pick(4) === 0,
    }
  }

  #resume(pick: PickNumber): InputBody {
    const deadUuid = pick(5) < 2 ? [...this.#world.dead.keys()].at(-1 - pick(3)) : undefined
    const uuid = deadUuid ?? this.#matchingUuid(pick, ({ life }) => life.state === 'running' && life.holds.length > 0)
    const row = this.#world.row(uuid)
    const by = this.#by(pick)
    return {
      type: 'resume',
      reply: this.#reply(),
      by,
      uuid,
      endedRow: this.#world.dead.get(uuid) ?? null,
      subtree: pick(3) === 0,
      only: pick(3) === 0,
      rerun: pick(2) === 0,
      message: pick(3) === 0 ? { id: `m${this.#replies}`, text: 'go on' } : null,
      spec: pick(8) === 0 && row ? { ...row.spec, name: pick(4) === 0 ? 'x' : row.spec.name } : null,
      ...(pick(4) === 0 ? { limits: pick(3) === 0 ? { set: { budgetTokens: 90 }, add: {} } : { set: {}, add: { budgetTokens: 30 } } } : {}),
    }
  }

  /** Forks at a step of any process, dead or alive. */
  #fork(pick: PickNumber): InputBody | null {
    const origin = this.#world.row(this.#anyUuid(pick))
    const point = origin && this.#forkPoint(pick, origin)
    if (!origin || !point) return null
    const rows = [...this.#world.overlay.all()]
    const takenRow = pick(20) === 0 ? rows[pick(Math.max(1, rows.length))] : undefined
    const uuid = takenRow ?? `p${this.#uuids.length + 1}`
    if (takenRow === undefined) this.#uuids.push(uuid)
    return {
      type: 'fork',
      reply: this.#reply(),
      by: 'user',
      uuid,
      origin,
      at: point,
      message: pick(3) === 0 ? { id: `m${this.#replies}`, text: 'try again' } : null,
      spec: pick(4) === 0 ? { ...origin.spec, name: pick(2) === 0 ? 'x' : null } : null,
    }
  }

  #anyUuid(pick: PickNumber): Uuid {
    return pick(2) === 0 ? (this.#uuids[pick(Math.max(1, this.#uuids.length))] ?? 'nobody') : this.#uuid(pick)
  }

  #forkPoint(pick: PickNumber, origin: Process): ForkPoint | null {
    if (isExternal(origin.spec)) return forkPointNow(origin)
    const points: ForkPoint[] = []
    let process: Process | undefined
    for (const fact of this.#world.history(origin.uuid)) {
      process = fold(process, fact)
      const { step, wholeStep, modelOpen, openCalls } = process.progress
      if (step === wholeStep && !modelOpen && openCalls.length === 0) points.push({ step, seq: fact.seq, state: forkState(process) })
    }
    return points[pick(Math.max(1, points.length))] ?? null
  }

  #pin(pick: PickNumber): InputBody {
    const uuid = this.#anyUuid(pick)
    const target = { reply: this.#reply(), by: 'user', uuid, endedRow: this.#world.dead.get(uuid) ?? null } as const
    const kind = pick(4)
    if (kind === 0) return { type: 'seen', ...target }
    return kind === 1
      ? { type: 'snooze', ...target, until: pick(2) === 0 ? null : LAST_TIME }
      : { type: 'pin', ...target, pinned: kind === 2 }
  }

  #rename(pick: PickNumber): InputBody {
    const uuid = this.#anyUuid(pick)
    const change = pickOne(pick, [{ name: 'x' }, { name: 'y' }, { labels: { a: '1' } }, { labels: { a: null, b: '2' } }])
    return { type: 'describe', reply: this.#reply(), by: 'user', uuid, endedRow: this.#world.dead.get(uuid) ?? null, change }
  }

  #released(pick: PickNumber): InputBody {
    const uuid = this.#matchingUuid(pick, ({ life }) => life.state === 'zombie')
    return { type: 'released', uuid, pid: this.#pid(pick, uuid), survivors: pick(6) === 0 ? [4711] : [] }
  }

  #report(pick: PickNumber): InputBody {
    const uuid = this.#matchingUuid(pick, ({ life }) => life.state === 'running' && life.attached)
    return {
      type: 'report',
      reply: this.#reply(),
      uuid,
      pid: this.#pid(pick, uuid),
      report: this.#driverReport(pick, this.#world.row(uuid)),
    }
  }

  /** Makes a report: usually the driver's next one, sometimes an impossible one. */
  #driverReport(pick: PickNumber, row: Process | undefined): Report {
    const seq = row?.seq ?? 1
    const progress = row?.progress ?? { step: 0, wholeStep: 0, turn: 0, openCalls: [], modelOpen: false, turnOpen: false }
    const starting = row?.life.state === 'running' && row.life.activity === 'starting'
    if (starting && pick(3) > 0)
      return {
        type: 'up',
        ...(pick(2) === 0 ? { sessionId: 's1' } : {}),
        ...(pick(2) === 0 ? { handle: { pid: 4711, startTime: '1', pgid: 4711 } } : {}),
        ...(pick(2) === 0 ? { window: pickOne(pick, WINDOWS) } : {}),
      }
    const stepOffset = pick(12) === 0 ? 1 : 0
    if (row?.life.state === 'running' && row.life.stopping && pick(6) === 0) return { type: 'escalated', from: 'SIGTERM', afterMs: 300 }
    if (progress.modelOpen && pick(2) === 0) return this.#modelAnswer(pick, progress.step + stepOffset)
    if (row && row.spec.driver !== 'native' && pick(4) === 0) return this.#externalReport(pick, row)
    if (row?.context?.compacting === true && pick(2) === 0) return this.#compactionReport(pick, progress.wholeStep + stepOffset, seq)
    switch (pick(19)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 14:
        return {
          type: 'model.started',
          step: (progress.wholeStep === progress.step ? progress.step + 1 : progress.step) + stepOffset,
          attempt: 1,
          model: 'm',
        }
      case 4:
      case 5:
        return this.#modelAnswer(pick, progress.step + stepOffset)
      case 6:
        return { type: 'model.failed', step: progress.step + stepOffset, attempt: 1, error: 'overloaded', status: 529, retryInMs: 10 }
      case 7:
      case 8:
        return {
          type: 'tool.finished',
          callId: progress.openCalls[pick(3)]?.callId ?? 'none',
          outcome: 'ok',
          content: 'done',
          durationMs: 1,
        }
      case 9:
        return {
          type: 'turn.ended',
          turn: progress.turn - stepOffset,
          outcome: pickOne(pick, ['ok', 'ok', 'interrupted', 'error'] as const),
        }
      case 10:
        return pick(2) === 0 ? { type: 'drained' } : { type: 'frozen', inFlight: pick(2) === 0 ? null : 'make' }
      case 11:
        return pick(4) === 0
          ? { type: 'up' }
          : { type: 'measured', measured: { cpuTimeMs: pick(9), outputBytes: pick(9), rssBytes: pick(9), peakRssBytes: 9 } }
      case 12:
        return { type: 'output', stream: 'stdout', text: 'out\n' }
      case 15:
      case 16:
        return { type: 'compaction.started', step: progress.wholeStep + stepOffset, attempt: 1, model: 'm' }
      case 17:
        return this.#compactionReport(pick, progress.wholeStep + stepOffset, seq)
      default:
        return pick(6) === 0 ? { type: 'exited', code: pick(3) === 0 ? null : pick(3), osSignal: null } : { type: 'note', text: 'note' }
    }
  }

  /** Makes a report of an external agent. */
  #externalReport(pick: PickNumber, { asks = [] }: Process): Report {
    const usage = {
      inputTokens: pick(20),
      outputTokens: pick(4),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: pick(4) === 0 ? null : 0.1,
    }
    switch (pick(6)) {
      case 0:
        return { type: 'session', sessionId: 's2' }
      case 1:
        return { type: 'usage', usage, ...(pick(2) === 0 ? { contextTokens: pick(30) } : {}), ...(pick(2) === 0 ? { window: 20 } : {}) }
      case 2:
        return { type: 'unasked', id: asks[pick(3)]?.id ?? 'none' }
      default: {
        const options =
          pick(3) === 0
            ? []
            : [
                { id: 'yes', name: 'Yes', kind: 'allow_once' as const },
                { id: 'no', name: 'No', kind: 'reject_once' as const },
              ]
        return { type: 'waiting', ask: { id: `q${pick(4)}`, kind: 'permission', text: 'run npm test?', options, callId: null, at: 1 } }
      }
    }
  }

  /** Makes the end of a compaction; it may name parts that are not in the journal. */
  #compactionReport(pick: PickNumber, step: number, seq: number): Report {
    const usage = { inputTokens: 3, outputTokens: pick(4), cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.1 }
    if (pick(3) === 0) {
      return {
        type: 'compaction.failed',
        step,
        attempt: 1,
        error: 'overloaded',
        status: 529,
        retryInMs: pick(2) === 0 ? null : 10,
        ...(pick(2) === 0 ? { usage } : {}),
      }
    }
    const firstSeq = 1 + pick(seq)
    const ranges = [
      [1, firstSeq],
      [firstSeq + 1 + pick(3), seq],
      [BEYOND_ALL_FACTS, BEYOND_ALL_FACTS],
    ] as const
    const parts = pickOne(pick, [[], ranges.slice(0, 1), ranges.slice(0, 1), ranges.slice(0, 2).filter(([a, b]) => a <= b), ranges])
    return {
      type: 'context.compacted',
      step,
      summary: 'in short',
      ranges: parts,
      before: 90,
      after: pickOne(pick, [5, 12, 40]),
      usage,
      durationMs: 1,
    }
  }

  #modelAnswer(pick: PickNumber, step: number): Report {
    const calls = Array.from({ length: pick(3) }, (_, index): RequestedCall => ({
      callId: `c${this.#replies}.${index}`,
      name: 'bash',
      effect: pickOne(pick, ['once', 'read', 'idempotent'] as const),
    }))
    return {
      type: 'model.finished',
      step,
      finish: 'stop',
      durationMs: 1,
      calls,
      message: calls.map(({ callId, name }) => ({ type: 'tool-call' as const, callId, name, input: {} })),
      usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: pick(4) === 0 ? null : 0.5 },
    }
  }

  #by(pick: PickNumber): Sender {
    const choice = pick(8)
    if (choice < 5) return 'user'
    return choice === 7 ? 'coordinator' : `agent:${this.#uuid(pick)}`
  }

  /** Picks a process: usually a living one, sometimes any, sometimes an unknown one. */
  #uuid(pick: PickNumber): Uuid {
    const choice = pick(60)
    if (choice === 0) return 'nobody'
    if (choice < 6) return this.#uuids[pick(Math.max(1, this.#uuids.length))] ?? 'nobody'
    return this.#matchingUuid(pick, ({ life }) => life.state !== 'zombie')
  }

  /** Picks a process, usually one to which the input applies. */
  #matchingUuid(pick: PickNumber, matches: (row: Process) => boolean): Uuid {
    const rows = [...this.#world.overlay.all()].map((uuid) => this.#world.overlay.get(uuid)).filter((row) => row !== undefined)
    const matchingRows = pick(12) === 0 ? rows : rows.filter(matches)
    return matchingRows[pick(Math.max(1, matchingRows.length))]?.uuid ?? this.#uuids.at(-1) ?? 'nobody'
  }

  #pid(pick: PickNumber, uuid: Uuid): number {
    const pid = this.#world.row(uuid)?.pid ?? 1
    return pick(20) === 0 ? Math.max(1, pid - 1) : pid
  }

  #reply(): number {
    this.#replies += 1
    return this.#replies
  }
}

function pickOne<T>(pick: PickNumber, choices: readonly T[]): T {
  return choices[pick(choices.length)] as T
}

function pickSome<T>(pick: PickNumber, choices: readonly T[]): T[] {
  return choices.filter(() => pick(3) === 0)
}
