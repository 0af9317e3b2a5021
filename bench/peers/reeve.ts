// reeve in the benchmark of peers: kernel, pipeline and store as in the daemon. A step is three acknowledged reports: the model's message,
// and then the tool's result together with the start of the next model call. Used by bench/peers.ts.
import { systemClock } from '../../src/daemon/loop/clock.ts'
import { findForkPoint } from '../../src/daemon/operations/fork-point.ts'
import { Pipeline } from '../../src/daemon/loop/pipeline.ts'
import { Table } from '../../src/daemon/loop/table.ts'
import { loadContext } from '../../src/drivers/native/context/load-context.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import { specOf, uuidOf } from '../../test/support/store/facts.ts'
import { randomText, timed } from '../support/measure.ts'
import type { Report } from '../../src/kernel/model/reports.ts'
import type { Store } from '../../src/store/store.ts'
import type { Peer, Place } from './peer.ts'

interface Kernel extends AsyncDisposable {
  readonly store: Store
  readonly pipeline: Pipeline
  readonly table: Table
}

async function open({ dir }: Place): Promise<Kernel> {
  const store = await openSqliteStore({ dir })
  const table = new Table(10_000)
  const { processes, counters } = await store.load()
  table.apply(processes, counters.pid)
  const pipeline: Pipeline = new Pipeline({
    table,
    store,
    clock: systemClock,
    cursor: counters.cursor,
    publish: () => {},
    perform: (effect) => {
      if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
      else if (effect.type === 'checkpoint') pipeline.joinNextBatch({ type: 'checkpoint', uuid: effect.uuid, pid: effect.pid, error: null })
    },
    defer: () => false,
    log: (message, error) => console.error(message, error),
  })
  return { store, pipeline, table, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}

async function startAgent({ pipeline, table }: Kernel, uuid: string): Promise<Reporter> {
  await pipeline.request({ type: 'spawn', by: 'user', uuid, spec: specOf({ interactive: true, limits: {} }), parent: null })
  const pid = table.get(uuid)?.pid ?? 0
  const report = (body: Report): Promise<unknown> => pipeline.request({ type: 'report', uuid, pid, report: body })
  pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: 'bench' }, missingKeys: [] })
  await report({ type: 'up' })
  await report({ type: 'model.started', step: 1, attempt: 1, model: 'bench' })
  return new Reporter(report)
}

const USAGE = { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.001 }

/** Sends the reports of a driver, in their order. */
class Reporter {
  readonly #report: (body: Report) => Promise<unknown>
  #step = 0
  #turn = 0

  constructor(report: (body: Report) => Promise<unknown>) {
    this.#report = report
  }

  async step(bytes?: number): Promise<void> {
    const [step, callId] = [++this.#step, `call_${this.#step}`]
    await this.#report({
      type: 'model.finished',
      step,
      finish: 'tool-calls',
      durationMs: 1,
      usage: USAGE,
      message: [
        { type: 'text', text: randomText(bytes) },
        { type: 'tool-call', callId, name: 'bash', input: {} },
      ],
      calls: [{ callId, name: 'bash', effect: 'once' }],
    })
    const finished = this.#report({ type: 'tool.finished', callId, outcome: 'ok', content: randomText(bytes), durationMs: 1 })
    await Promise.all([finished, this.#report({ type: 'model.started', step: step + 1, attempt: 1, model: 'bench' })])
  }

  async answer(bytes: number): Promise<void> {
    const step = ++this.#step
    await this.#report({
      type: 'model.finished',
      step,
      finish: 'stop',
      durationMs: 1,
      usage: USAGE,
      message: [{ type: 'text', text: randomText(bytes) }],
      calls: [],
    })
    await this.#report({ type: 'turn.ended', turn: ++this.#turn, outcome: 'ok' })
  }

  /** Reports that the model call for the next message has started. */
  async startModelCall(): Promise<void> {
    await this.#report({ type: 'model.started', step: this.#step + 1, attempt: 1, model: 'bench' })
  }
}

const AGENT_UUID = uuidOf(1)

export const reeve: Peer = {
  async runSteps(place, steps) {
    await using kernel = await open(place)
    const agent = await startAgent(kernel, AGENT_UUID)
    const times: number[] = []
    for (let step = 0; step < steps; step++) times.push(await timed(() => agent.step()))
    return times
  },
  async runInParallel(place, agents, steps) {
    await using kernel = await open(place)
    const reporters = await Promise.all(Array.from({ length: agents }, (_, index) => startAgent(kernel, uuidOf(index + 1))))
    return await timed(() =>
      Promise.all(
        reporters.map(async (agent) => {
          for (let step = 0; step < steps; step++) await agent.step()
        }),
      ),
    )
  },
  async resume({ dir }, steps) {
    return timed(async () => {
      await using store = await openSqliteStore({ dir })
      const process = await store.process(AGENT_UUID)
      const { context } = await loadContext((...page) => store.filteredFacts(AGENT_UUID, ...page), process?.context?.ranges ?? null)
      if (context.messages.length < 2 * steps) throw new Error(`reeve read ${context.messages.length} messages`)
    })
  },
  async fork(place, steps, forks) {
    await using kernel = await open(place)
    const times: number[] = []
    for (let fork = 0; fork < forks; fork++) {
      times.push(
        await timed(async () => {
          const origin = await kernel.store.process(AGENT_UUID)
          if (origin === undefined) throw new Error('there is no origin')
          const forkPoint = await findForkPoint(kernel.store, origin, { fromStep: Math.floor(steps / 2) })
          await kernel.pipeline.request({
            type: 'fork',
            by: 'user',
            uuid: uuidOf(1_000 + kernel.table.lastPid),
            origin,
            at: forkPoint,
            spec: null,
            message: null,
          })
        }),
      )
    }
    return times
  },
  async session(place, { turns, stepsPerTurn, messageBytes }) {
    await using kernel = await open(place)
    const agent = await startAgent(kernel, AGENT_UUID)
    for (let turn = 1; turn <= turns; turn++) {
      for (let step = 0; step < stepsPerTurn; step++) await agent.step(messageBytes)
      await agent.answer(messageBytes)
      if (turn === turns) return
      await kernel.pipeline.request({ type: 'send', by: 'user', uuid: AGENT_UUID, id: `m${turn}`, text: randomText(messageBytes) })
      await agent.startModelCall()
    }
  },
}
