// An in-memory KernelPort for tests of the native and ACP drivers. It turns reports into facts as the real kernel does, and answers the
// reports of one event-loop turn together. Tests read each report with the number of its commit, and wait for facts.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KernelPort, LiveOutput } from '../../../src/drivers/port.ts'
import type { BodyOf, FactBody, FactType, StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Ack, CallRequest, CallGrant, Report } from '../../../src/kernel/model/reports.ts'
import type { OpenCall } from '../../../src/kernel/model/process.ts'

const DEADLINE_MS = 100_000

export interface ReportRecord {
  readonly report: Report
  readonly ack: Ack
  /** reports with the same number were answered together */
  readonly commit: number
  /** monotonic ms */
  readonly atMs: number
}

interface PendingReport {
  readonly report: Report
  readonly resolve: (ack: Ack) => void
}

export class FakeKernel implements KernelPort {
  readonly facts: StoredFact[] = []
  readonly records: ReportRecord[] = []
  readonly liveOutputs: LiveOutput[] = []
  /** the token limit of the answer to a granted call */
  grantedTokens: number | null = null
  /** called before each answer to `model.started`: 'go' by default */
  onModelStarted: (step: number) => 'go' | 'stop' = () => 'go'
  /** called when a fact is made, before any answer */
  onFact: (body: FactBody) => void = () => undefined
  /** reports are never acknowledged */
  acknowledgesNothing = false
  /** how often the agent waited for the end of a pause */
  pauseWaitCount = 0
  readonly #abort = new AbortController()
  readonly #watchers = new Set<() => void>()
  readonly #openCalls = new Map<string, OpenCall & { readonly step: number }>()
  #queue: PendingReport[] = []
  #commit = 0
  #isHeld = false
  #turn = 0

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get openCalls(): readonly OpenCall[] {
    return [...this.#openCalls.values()].map(({ callId, name, effect }) => ({ callId, name, effect }))
  }

  report(report: Report): Promise<Ack> {
    const { promise, resolve } = Promise.withResolvers<Ack>()
    if (this.acknowledgesNothing) return promise
    this.#queue.push({ report, resolve })
    if (this.#queue.length === 1)
      nextTurn().then(
        () => this.#flush(),
        () => undefined,
      )
    return promise
  }

  async requestCall(request: CallRequest): Promise<CallGrant> {
    const ack = await this.report(request)
    if (ack === 'go') return { ack, maxOutputTokens: this.grantedTokens }
    return { ack: ack === 'ok' ? 'late' : ack, reason: null }
  }

  async waitUntilUnpaused(): Promise<void> {
    this.signal.throwIfAborted()
    if (!this.#isHeld) return
    this.pauseWaitCount += 1
    this.#notifyWatchers()
    const aborted = Promise.withResolvers<never>()
    this.signal.addEventListener('abort', () => aborted.reject(this.signal.reason), { once: true })
    await Promise.race([this.waitFor(() => !this.#isHeld, 'the hold is released'), aborted.promise])
  }

  showLive(event: LiveOutput): void {
    this.liveOutputs.push(event)
    this.#notifyWatchers()
  }

  #recordFailure({ resumeAt, ...body }: Extract<Report, { type: 'model.failed' | 'compaction.failed' }>): Ack {
    this.emit(body)
    if (resumeAt === undefined) return 'ok'
    this.hold()
    return 'held'
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#notifyWatchers()
  }

  cancel(): void {
    this.#abort.abort()
  }

  emit(body: FactBody, at = 0): void {
    const seq = this.facts.length + 1
    this.facts.push({ uuid: 'test', seq, pid: 1, at, cursor: seq, body })
    this.onFact(body)
    this.#notifyWatchers()
  }

  /** Begins the next turn with a message, as the kernel does; returns its number. */
  beginTurn(id: string, text: string): number {
    this.#turn += 1
    this.emit({ type: 'process.queue', id, from: 'user', text })
    this.emit({ type: 'process.incoming', id, from: 'user', turn: this.#turn, queuedAt: this.facts.length })
    this.emit({ type: 'process.working', turn: this.#turn, message: id })
    return this.#turn
  }

  /** Takes over the facts of an earlier incarnation, and closes calls that must not run twice, as the kernel does. */
  inherit(facts: readonly StoredFact[]): void {
    for (const { body, at } of facts) {
      this.#track(body)
      this.emit(body, at)
    }
    for (const call of [...this.#openCalls.values()].filter((open) => open.effect === 'once')) {
      this.#finishTool({ type: 'tool.finished', callId: call.callId, outcome: 'interrupted', content: 'interrupted', durationMs: 0 })
    }
  }

  get turn(): number {
    return this.#turn
  }

  history = (afterSeq: number, limit: number): Promise<readonly StoredFact[]> =>
    Promise.resolve(this.facts.slice(afterSeq, afterSeq + limit))

  factsOf<T extends FactType>(type: T): readonly BodyOf<T>[] {
    return this.facts.map((fact) => fact.body).filter((body): body is BodyOf<T> => body.type === type)
  }

  reportsOf<T extends Report['type']>(type: T): readonly (ReportRecord & { readonly report: Extract<Report, { type: T }> })[] {
    return this.records.filter(
      (each): each is ReportRecord & { readonly report: Extract<Report, { type: T }> } => each.report.type === type,
    )
  }

  /** Resolves when the condition is true; fails with the types of the reports after DEADLINE_MS. */
  waitFor(isTrue: () => boolean, description: string): Promise<void> {
    if (isTrue()) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(
      () =>
        reject(
          new Error(`${description}: not within ${DEADLINE_MS} ms; reports: ${this.records.map((each) => each.report.type).join(' ')}`),
        ),
      DEADLINE_MS,
    )
    const check = (): void => {
      if (!isTrue()) return
      clearTimeout(timer)
      this.#watchers.delete(check)
      resolve()
    }
    this.#watchers.add(check)
    return promise
  }

  waitForTurnEnd(turn = this.#turn): Promise<void> {
    return this.waitFor(() => this.factsOf('process.ready').some((ready) => ready.turn === turn), `turn ${turn} has ended`)
  }

  #flush(): void {
    const batch = this.#queue
    this.#queue = []
    this.#commit += 1
    for (const { report, resolve } of batch) {
      const ack = this.#decide(report)
      this.records.push({ report, ack, commit: this.#commit, atMs: performance.now() })
      resolve(ack)
    }
    this.#notifyWatchers()
  }

  #decide(report: Report): Ack {
    switch (report.type) {
      case 'model.started': {
        if (this.signal.aborted) return 'stop'
        if (this.#isHeld) return 'held'
        const ack = this.onModelStarted(report.step)
        if (ack === 'go') this.emit(report)
        return ack
      }
      case 'model.finished': {
        const { calls, ...body } = report
        this.emit(body)
        for (const call of calls) {
          const started = { type: 'tool.started', step: report.step, ...call } as const
          this.#track(started)
          this.emit(started)
        }
        return 'ok'
      }
      case 'model.failed':
        return this.#recordFailure(report)
      case 'compaction.started':
        return this.#compact(report)
      case 'compaction.failed':
        if (report.resumeAt !== undefined) return this.#recordFailure(report)
        this.emit(report)
        return report.retryInMs === null ? this.#holdForFullContext() : 'ok'
      case 'context.compacted':
        this.emit(report)
        return 'ok'
      case 'tool.finished':
        return this.#finishTool(report)
      case 'turn.ended':
        this.emit({ ...report, type: 'process.ready' })
        return 'ok'
      case 'mcp.servers':
        this.emit(report)
        return 'ok'
      case 'usage':
        this.emit({ ...report, type: 'usage.reported' })
        return 'ok'
      case 'refused':
        this.emit({ ...report, type: 'capability.refused' })
        return 'ok'
      case 'note':
        this.emit({ type: 'process.note', text: report.text })
        return 'ok'
      default:
        return 'ok'
    }
  }

  #compact(report: Extract<Report, { type: 'compaction.started' }>): Ack {
    if (this.signal.aborted) return 'stop'
    if (this.#isHeld) return 'held'
    if (this.factsOf('context.compacted').at(-1)?.step === report.step) return this.#holdForFullContext()
    this.emit(report)
    return 'go'
  }

  #holdForFullContext(): Ack {
    this.hold()
    this.emit({ type: 'process.held', hold: { reason: 'context-full', by: 'system', at: 0 }, mono: 0 })
    return 'held'
  }

  #finishTool(report: Extract<Report, { type: 'tool.finished' }>): Ack {
    const call = this.#openCalls.get(report.callId)
    if (call === undefined) return 'late'
    this.#openCalls.delete(report.callId)
    this.emit({ ...report, step: call.step, name: call.name })
    return 'ok'
  }

  #track(body: FactBody): void {
    if (body.type === 'tool.started') this.#openCalls.set(body.callId, body)
    if (body.type === 'tool.finished') this.#openCalls.delete(body.callId)
    if (body.type === 'process.incoming') this.#turn = body.turn
  }

  #notifyWatchers(): void {
    for (const check of this.#watchers) check()
  }
}
