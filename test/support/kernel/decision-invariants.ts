// Checks the invariants of each decision of the kernel, from its input, facts, rows and effects. Calls no decision of the
// kernel. Keeps only the state that the invariants need, and throws the name of a violated one.
import { isNotice, isSignalMessage } from '../../../src/kernel/model/signals.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Decision } from '../../../src/kernel/decide/draft.ts'
import { takesMessages } from './model-signals.ts'

interface WatchedProcess {
  seq: number
  pid: number
  state: 'created' | 'running' | 'zombie' | 'dead'
  command: boolean
  external: boolean
  crew: boolean
  attached: boolean
  holds: Set<string>
  stopping: boolean
  /** may wrap up before its end */
  wrapping: boolean
  turnOpen: boolean
  turn: number
  /** the driver has not yet reported the end of its turn */
  busy: boolean
  modelOpen: boolean
  compacting: boolean
  /** its daemon or agent ended during a compaction, whose failure must be reported */
  cutOff: boolean
  /** the number of steps at the last compaction; null: none */
  compactedAt: number | null
  steps: number
  /** the fact of each waiting message */
  waiting: Map<string, number>
  calls: Set<string>
  elapsed: number
}

function requireRule(isKept: boolean, rule: string): asserts isKept {
  if (!isKept) throw new Error(`broken: ${rule}`)
}

const ONLY_WHILE_RUNNING = new Set<Fact['body']['type']>([
  'process.attached',
  'process.handle',
  'process.ready',
  'process.working',
  'process.stopping',
  'process.exited',
  'process.held',
  'process.released',
  'process.drained',
  'process.frozen',
  'process.waiting',
  'process.answered',
  'process.delivered',
  'process.unanswered',
  'process.unasked',
  'usage.reported',
  'process.incoming',
  'process.output',
  'model.started',
  'model.finished',
  'process.rehydrated',
  'compaction.started',
  'compaction.failed',
  'context.compacted',
  'context.window',
])

/** No other fact may change a dead process. */
const ALLOWED_AFTER_DEATH = new Set<Fact['body']['type']>([
  'process.resumed',
  'process.pinned',
  'process.seen',
  'process.snoozed',
  'process.described',
  'process.retired',
  'message.taken',
])

export class DecisionChecker {
  readonly #all = new Map<string, WatchedProcess>()
  #lastPid = 0

  check(input: InputBody, { changes, effects }: Decision): void {
    this.#checkAnswers(input, changes.facts, effects)
    if (input.type === 'fork')
      requireRule(!changes.facts.some(({ uuid }) => uuid === input.origin.uuid), 'a fork changes nothing of its origin')
    for (const fact of changes.facts) this.#checkFact(fact)
    requireRule(changes.lastPid === this.#lastPid, 'the last PID is the newest that a fact assigned')
    for (const effect of effects) this.#checkEffect(effect)
    for (const row of changes.processes.values()) {
      const { life, clock, seq, pid } = row
      const watched = this.#all.get(row.uuid)
      requireRule(
        watched !== undefined && watched.seq === seq && watched.pid === pid && watched.state === life.state,
        'a row matches its last fact',
      )
      requireRule(clock.elapsedMs >= 0, 'elapsed time is never negative')
      this.#checkContext(row)
      const isStopped = life.state !== 'running' || life.holds.length > 0
      requireRule(
        isStopped ? clock.since === null : clock.since !== null,
        'the clock is stopped exactly while the process does not run or is suspended',
      )
      if (life.state === 'dead')
        requireRule(life.exit.cause !== undefined && clock.exitedAt !== null, 'a dead process has an exit with a cause and a time')
      if (life.state === 'running' && isStopped)
        requireRule(
          clock.elapsedMs === watched.elapsed || watched.holds.size === 1,
          'elapsed time does not grow while the process is suspended',
        )
      watched.elapsed = clock.elapsedMs
    }
  }

  #checkAnswers(input: InputBody, facts: readonly Fact[], effects: readonly Effect[]): void {
    const replies = effects.filter((effect) => effect.type === 'reply' || effect.type === 'refuse')
    if (!('reply' in input)) return requireRule(replies.length === 0, 'only a request is answered')
    requireRule(replies.length === 1 && replies[0]?.to === input.reply, 'a request has exactly one answer')
    if (replies[0].type === 'refuse')
      requireRule(
        facts.every(({ body }) => body.type === 'capability.refused') && facts.length <= 1 && effects.length === 1,
        'a refused request changes nothing, but a missing capability is recorded',
      )
    if (replies[0].type === 'reply' && replies[0].value.type === 'ack' && replies[0].value.ack === 'late')
      requireRule(facts.length === 0, 'a late report changes nothing')
  }

  #checkFact({ uuid, seq, pid, body }: Fact): void {
    if (body.type === 'process.spawned') {
      requireRule(!this.#all.has(uuid) && seq === 1, 'a process is spawned once, by its first fact')
      this.#all.set(uuid, {
        seq: 0,
        pid,
        state: 'created',
        command: !takesMessages(body.spec),
        external: body.spec.driver === 'acp' || body.spec.format !== undefined,
        crew: body.spec.driver === 'crew',
        attached: false,
        holds: new Set(),
        stopping: false,
        wrapping: false,
        turnOpen: false,
        turn: 0,
        busy: false,
        modelOpen: false,
        compacting: false,
        cutOff: false,
        compactedAt: null,
        steps: 0,
        waiting: new Map(),
        calls: new Set(),
        elapsed: 0,
      })
    }
    if (body.type === 'process.forked') {
      requireRule(!this.#all.has(uuid) && seq === body.origin.seq + 1, 'a fork begins after the last fact that it has of its origin')
      this.#all.set(uuid, {
        seq: body.origin.seq,
        pid,
        state: 'created',
        command: !takesMessages(body.spec),
        external: body.spec.driver === 'acp' || body.spec.format !== undefined,
        crew: body.spec.driver === 'crew',
        attached: false,
        holds: new Set(),
        stopping: false,
        wrapping: false,
        turnOpen: body.state.turnOpen,
        turn: body.state.turn,
        busy: false,
        modelOpen: false,
        compacting: false,
        cutOff: false,
        compactedAt: null,
        steps: 0,
        waiting: new Map(body.state.queue.map((message) => [message.id, message.seq])),
        calls: new Set(),
        elapsed: 0,
      })
    }
    const watched = this.#all.get(uuid)
    requireRule(watched !== undefined, 'a journal begins with the spawn')
    requireRule(seq === watched.seq + 1, 'seq is gap-free')
    watched.seq = seq
    if (
      body.type === 'process.spawned' ||
      body.type === 'process.forked' ||
      body.type === 'process.resumed' ||
      body.type === 'process.rehydrated'
    ) {
      requireRule(body.pid > this.#lastPid, 'PIDs only rise')
      this.#lastPid = body.pid
      watched.pid = body.pid
    }
    requireRule(pid === watched.pid, 'a fact has the PID of its incarnation')
    requireRule(watched.state !== 'dead' || ALLOWED_AFTER_DEATH.has(body.type), 'a dead process does not change')
    requireRule(
      watched.state === 'running' ||
        !ONLY_WHILE_RUNNING.has(body.type) ||
        (watched.crew && (body.type === 'process.waiting' || body.type === 'process.unasked')),
      `only a running process has ${body.type}`,
    )
    this.#checkLife(watched, body)
    this.#checkWork(watched, body)
    this.#checkCompaction(watched, body)
    if (body.type === 'process.queue') watched.waiting.set(body.id, seq)
    if (body.type === 'process.incoming' || body.type === 'message.taken') watched.waiting.delete(body.id)
    // The signal was sent to the incarnation that has ended.
    if (body.type === 'process.resumed')
      for (const id of watched.waiting.keys()) if (isSignalMessage(id) || isNotice(id)) watched.waiting.delete(id)
  }

  /** Checks that the parts of the context are in order and disjoint, and that they lose no waiting message. */
  #checkContext({ uuid, seq, context, queue }: Process): void {
    if (!context?.ranges) return
    requireRule(
      context.ranges.every(([first, last], i) => first <= last && last <= seq && first > (context.ranges?.[i - 1]?.[1] ?? -1) + 1),
      'the parts of a context are in order, with gaps between them',
    )
    const openRangeStart = context.ranges.at(-1)?.[0] ?? Infinity
    for (const [id, waits] of this.#all.get(uuid)?.waiting ?? []) {
      // A notice about a signal or a loop is dropped when it is out of date.
      if ((isSignalMessage(id) || isNotice(id)) && !queue.some((message) => message.id === id)) continue
      requireRule(
        waits >= openRangeStart || context.ranges.some(([first, last]) => first <= waits && waits <= last),
        'a waiting message is in the next context',
      )
    }
  }

  #checkCompaction(watched: WatchedProcess, body: Fact['body']): void {
    switch (body.type) {
      case 'process.started':
      case 'process.attached':
      case 'process.ready':
        watched.cutOff = watched.compacting && body.type !== 'process.ready'
        watched.compacting = false
        return
      case 'model.finished':
        watched.steps += 1
        return
      case 'compaction.started':
        requireRule(
          watched.holds.size === 0 && (!watched.stopping || watched.wrapping),
          'no compaction begins while the process is held or stops',
        )
        requireRule(!watched.modelOpen && watched.calls.size === 0 && !watched.compacting, 'a compaction begins between two steps')
        requireRule(watched.compactedAt !== watched.steps, 'a step lies between two compactions')
        watched.compacting = true
        return
      case 'compaction.failed':
      case 'context.compacted':
        requireRule(
          watched.compacting || (watched.cutOff && body.type === 'compaction.failed' && body.error === 'interrupted'),
          'only a compaction that has begun ends',
        )
        Object.assign(watched, { compacting: false, cutOff: false })
        if (body.type === 'context.compacted') watched.compactedAt = watched.steps
        return
      case 'limit.warned':
        requireRule(body.of > 0 && body.used >= 0.8 * body.of, 'a limit is warned of only at 80 % or more')
        return
      default:
    }
  }

  #checkLife(watched: WatchedProcess, body: Fact['body']): void {
    switch (body.type) {
      case 'process.started':
        requireRule(watched.state === 'created', 'created → running')
        Object.assign(watched, { state: 'running', attached: body.attached, stopping: false, wrapping: false, busy: false, elapsed: 0 })
        watched.holds.clear()
        return
      case 'process.attached':
        Object.assign(watched, { attached: true, busy: false })
        return
      case 'process.rehydrated':
        Object.assign(watched, { attached: false, busy: false })
        return
      case 'process.exited':
        watched.state = 'zombie'
        return
      case 'process.reaped':
        requireRule(watched.state === 'zombie', 'zombie → dead')
        Object.assign(watched, { state: 'dead', attached: false })
        return
      case 'process.resumed':
        requireRule(watched.state === 'dead', 'only a dead process gets a new incarnation')
        watched.state = 'created'
        if (body.endsTurn) watched.turnOpen = false
        return
      case 'process.held': {
        const { reason, root, by } = body.hold
        const hold = `${reason} ${root} ${by}`
        requireRule(!watched.holds.has(hold), 'a hold is added once')
        requireRule(!watched.stopping, 'a process that stops is not held')
        watched.holds.add(hold)
        return
      }
      case 'process.released':
        for (const { reason, root, by } of body.holds)
          requireRule(watched.holds.delete(`${reason} ${root} ${by}`), 'only an existing hold is released')
        return
      case 'process.stopping':
        requireRule(
          !watched.stopping || watched.wrapping || body.stopping.exit.cause === 'person',
          'the first stop request is the only one, except for its time and a request of the user',
        )
        Object.assign(watched, { stopping: true, wrapping: body.stopping.wrapUp !== undefined })
        return
      default:
    }
  }

  #checkWork(watched: WatchedProcess, body: Fact['body']): void {
    switch (body.type) {
      case 'process.working':
        requireRule(watched.holds.size === 0 || watched.command, 'no turn begins or continues while the process is held')
        requireRule(!watched.stopping || watched.wrapping || watched.command, 'no turn begins or continues while the process stops')
        requireRule(
          body.turn === watched.turn || (body.turn === watched.turn + 1 && (!watched.turnOpen || watched.command)),
          'one turn at a time',
        )
        Object.assign(watched, { turn: body.turn, turnOpen: true })
        return
      case 'process.ready':
        if (body.outcome !== undefined) Object.assign(watched, { turnOpen: false, busy: false })
        return
      case 'model.started':
        requireRule(
          watched.external || (watched.holds.size === 0 && (!watched.stopping || watched.wrapping)),
          'no model call begins while the process is held or stops',
        )
        requireRule(
          !watched.modelOpen && watched.calls.size === 0 && !watched.compacting,
          'a step begins when the previous one is complete',
        )
        watched.modelOpen = true
        return
      case 'model.finished':
      case 'model.failed':
        watched.modelOpen = false
        return
      case 'tool.started':
        watched.calls.add(body.callId)
        return
      case 'tool.finished':
        requireRule(watched.calls.delete(body.callId), 'a tool call is answered once')
        return
      default:
    }
  }

  #checkEffect(effect: Effect): void {
    if (!effect.type.startsWith('driver.') || !('uuid' in effect)) return
    const watched = this.#all.get(effect.uuid)
    requireRule(watched !== undefined && watched.attached && watched.pid === effect.pid, 'effects go only to an attached driver')
    if (effect.type !== 'driver.deliver' && effect.type !== 'driver.proceed') return
    // The message of a resume goes into the open turn.
    requireRule(!watched.busy || (effect.type === 'driver.deliver' && effect.turn === watched.turn), 'a driver has one turn at a time')
    watched.busy = true
  }
}
