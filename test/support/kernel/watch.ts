// Checks the invariants after every input, from its facts and effects alone. Keeps only the state that the rules need, and throws
// the name of a violated rule.
import { isNotice, isSignalMessage } from '../../../src/kernel/model/signals.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Decision } from '../../../src/kernel/decide/draft.ts'
import { takesMessages } from './model-signals.ts'

interface Watched {
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

function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`broken: ${rule}`)
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
const ALLOWED_AFTER_DEATH = new Set<Fact['body']['type']>(['process.resumed', 'process.pinned', 'process.retired', 'message.taken'])

export class Watch {
  readonly #all = new Map<string, Watched>()
  #lastPid = 0

  check(input: InputBody, { changes, effects }: Decision): void {
    this.#checkAnswers(input, changes.facts, effects)
    if (input.type === 'fork') must(!changes.facts.some(({ uuid }) => uuid === input.origin.uuid), 'a fork changes nothing of its origin')
    for (const fact of changes.facts) this.#checkFact(fact)
    must(changes.lastPid === this.#lastPid, 'the last PID is the last that a fact gave out')
    for (const effect of effects) this.#checkEffect(effect)
    for (const row of changes.processes.values()) {
      const { life, clock, seq, pid } = row
      const known = this.#all.get(row.uuid)
      must(known !== undefined && known.seq === seq && known.pid === pid && known.state === life.state, 'a row matches its last fact')
      must(clock.elapsedMs >= 0, 'elapsed time is never negative')
      this.#context(row)
      const isStopped = life.state !== 'running' || life.holds.length > 0
      must(
        isStopped ? clock.since === null : clock.since !== null,
        'the clock is stopped exactly while the process does not run or is suspended',
      )
      if (life.state === 'dead')
        must(life.exit.cause !== undefined && clock.exitedAt !== null, 'a dead process has an exit with a cause and a time')
      if (life.state === 'running' && isStopped)
        must(clock.elapsedMs === known.elapsed || known.holds.size === 1, 'elapsed time does not grow while the process is suspended')
      known.elapsed = clock.elapsedMs
    }
  }

  #checkAnswers(input: InputBody, facts: readonly Fact[], effects: readonly Effect[]): void {
    const answers = effects.filter((effect) => effect.type === 'reply' || effect.type === 'refuse')
    if (!('reply' in input)) return must(answers.length === 0, 'only a request is answered')
    must(answers.length === 1 && answers[0]?.to === input.reply, 'a request has exactly one answer')
    if (answers[0].type === 'refuse')
      must(
        facts.every(({ body }) => body.type === 'capability.refused') && facts.length <= 1 && effects.length === 1,
        'a refused request changes nothing, but a missing capability is recorded',
      )
    if (answers[0].type === 'reply' && answers[0].value.type === 'ack' && answers[0].value.ack === 'late')
      must(facts.length === 0, 'a late report changes nothing')
  }

  #checkFact({ uuid, seq, pid, body }: Fact): void {
    if (body.type === 'process.spawned') {
      must(!this.#all.has(uuid) && seq === 1, 'a process is spawned once, by its first fact')
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
      must(!this.#all.has(uuid) && seq === body.origin.seq + 1, 'a fork begins after the last fact that it has of its origin')
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
    const known = this.#all.get(uuid)
    must(known !== undefined, 'a journal begins with the spawn')
    must(seq === known.seq + 1, 'seq is gap-free')
    known.seq = seq
    if (
      body.type === 'process.spawned' ||
      body.type === 'process.forked' ||
      body.type === 'process.resumed' ||
      body.type === 'process.rehydrated'
    ) {
      must(body.pid > this.#lastPid, 'PIDs only rise')
      this.#lastPid = body.pid
      known.pid = body.pid
    }
    must(pid === known.pid, 'a fact bears the PID of its incarnation')
    must(known.state !== 'dead' || ALLOWED_AFTER_DEATH.has(body.type), 'the dead are frozen')
    must(
      known.state === 'running' ||
        !ONLY_WHILE_RUNNING.has(body.type) ||
        (known.crew && (body.type === 'process.waiting' || body.type === 'process.unasked')),
      `${body.type} is of running processes`,
    )
    this.#life(known, body)
    this.#work(known, body)
    this.#compaction(known, body)
    if (body.type === 'process.queue') known.waiting.set(body.id, seq)
    if (body.type === 'process.incoming' || body.type === 'message.taken') known.waiting.delete(body.id)
    // The signal was sent to the incarnation that has ended.
    if (body.type === 'process.resumed')
      for (const id of known.waiting.keys()) if (isSignalMessage(id) || isNotice(id)) known.waiting.delete(id)
  }

  /** Checks that the parts are in order and disjoint, and that they lose no waiting message. */
  #context({ uuid, seq, context, queue }: Process): void {
    if (!context?.ranges) return
    must(
      context.ranges.every(([first, last], i) => first <= last && last <= seq && first > (context.ranges?.[i - 1]?.[1] ?? -1) + 1),
      'the parts of a context are in order and apart',
    )
    const open = context.ranges.at(-1)?.[0] ?? Infinity
    for (const [id, waits] of this.#all.get(uuid)?.waiting ?? []) {
      // A notice about a signal or a loop is dropped when it is out of date.
      if ((isSignalMessage(id) || isNotice(id)) && !queue.some((message) => message.id === id)) continue
      must(
        waits >= open || context.ranges.some(([first, last]) => first <= waits && waits <= last),
        'a message that waits is in the context to come',
      )
    }
  }

  #compaction(known: Watched, body: Fact['body']): void {
    switch (body.type) {
      case 'process.started':
      case 'process.attached':
      case 'process.ready':
        known.cutOff = known.compacting && body.type !== 'process.ready'
        known.compacting = false
        return
      case 'model.finished':
        known.steps += 1
        return
      case 'compaction.started':
        must(known.holds.size === 0 && (!known.stopping || known.wrapping), 'no compaction begins while it is held or stops')
        must(!known.modelOpen && known.calls.size === 0 && !known.compacting, 'a compaction begins between two steps')
        must(known.compactedAt !== known.steps, 'never twice without a step between')
        known.compacting = true
        return
      case 'compaction.failed':
      case 'context.compacted':
        must(
          known.compacting || (known.cutOff && body.type === 'compaction.failed' && body.error === 'interrupted'),
          'a compaction ends that has begun',
        )
        Object.assign(known, { compacting: false, cutOff: false })
        if (body.type === 'context.compacted') known.compactedAt = known.steps
        return
      case 'limit.warned':
        must(body.of > 0 && body.used >= 0.8 * body.of, 'a warning has its cause')
        return
      default:
    }
  }

  #life(known: Watched, body: Fact['body']): void {
    switch (body.type) {
      case 'process.started':
        must(known.state === 'created', 'created → running')
        Object.assign(known, { state: 'running', attached: body.attached, stopping: false, wrapping: false, busy: false, elapsed: 0 })
        known.holds.clear()
        return
      case 'process.attached':
        Object.assign(known, { attached: true, busy: false })
        return
      case 'process.rehydrated':
        Object.assign(known, { attached: false, busy: false })
        return
      case 'process.exited':
        known.state = 'zombie'
        return
      case 'process.reaped':
        must(known.state === 'zombie', 'zombie → dead')
        Object.assign(known, { state: 'dead', attached: false })
        return
      case 'process.resumed':
        must(known.state === 'dead', 'only the dead get a new incarnation')
        known.state = 'created'
        if (body.endsTurn) known.turnOpen = false
        return
      case 'process.held': {
        const { reason, root, by } = body.hold
        const hold = `${reason} ${root} ${by}`
        must(!known.holds.has(hold), 'the same hold twice is one')
        must(!known.stopping, 'what stops is not paused')
        known.holds.add(hold)
        return
      }
      case 'process.released':
        for (const { reason, root, by } of body.holds)
          must(known.holds.delete(`${reason} ${root} ${by}`), 'only a hold that is there is released')
        return
      case 'process.stopping':
        must(
          !known.stopping || known.wrapping || body.stopping.exit.cause === 'person',
          'the first stop request is the only one, except for its time and a request of the user',
        )
        Object.assign(known, { stopping: true, wrapping: body.stopping.wrapUp !== undefined })
        return
      default:
    }
  }

  #work(known: Watched, body: Fact['body']): void {
    switch (body.type) {
      case 'process.working':
        must(known.holds.size === 0 || known.command, 'no turn begins or goes on while it is held')
        must(!known.stopping || known.wrapping || known.command, 'no turn begins or goes on while it stops')
        must(body.turn === known.turn || (body.turn === known.turn + 1 && (!known.turnOpen || known.command)), 'one turn at a time')
        Object.assign(known, { turn: body.turn, turnOpen: true })
        return
      case 'process.ready':
        if (body.outcome !== undefined) Object.assign(known, { turnOpen: false, busy: false })
        return
      case 'model.started':
        must(
          known.external || (known.holds.size === 0 && (!known.stopping || known.wrapping)),
          'no model call begins while it is held or stops',
        )
        must(!known.modelOpen && known.calls.size === 0 && !known.compacting, 'a step begins when the one before is whole')
        known.modelOpen = true
        return
      case 'model.finished':
      case 'model.failed':
        known.modelOpen = false
        return
      case 'tool.started':
        known.calls.add(body.callId)
        return
      case 'tool.finished':
        must(known.calls.delete(body.callId), 'a tool call is answered once')
        return
      default:
    }
  }

  #checkEffect(effect: Effect): void {
    if (!effect.type.startsWith('driver.') || !('uuid' in effect)) return
    const known = this.#all.get(effect.uuid)
    must(known !== undefined && known.attached && known.pid === effect.pid, 'only a driver that is there is asked')
    if (effect.type !== 'driver.deliver' && effect.type !== 'driver.proceed') return
    // The message of a resume goes into the open turn.
    must(!known.busy || (effect.type === 'driver.deliver' && effect.turn === known.turn), 'a driver has one turn at a time')
    known.busy = true
  }
}
