// Counts every write of a daemon to its store: commits of the pipeline, removals, batches of a sweep and of an import. A callback
// runs before each write, and after it, when the write is durable but not yet visible. `Life` is a fixed sequence of operations that
// causes every kind of write, in the same order each time. Test: test/processes/crash/boundaries.deep.test.ts.
import { join } from 'node:path'
import { Archive } from '../../../src/daemon/archive/archive.ts'
import { GarbageCollector } from '../../../src/daemon/operations/collector.ts'
import { findForkPoint } from '../../../src/daemon/operations/fork-point.ts'
import { Removals, Sweeper } from '../../../src/daemon/operations/removals.ts'
import type { RequestBody } from '../../../src/daemon/loop/pipeline.ts'
import type { Report } from '../../../src/kernel/model/reports.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Commit, Staging, Store } from '../../../src/store/store.ts'
import { uuidOf } from '../store/facts.ts'
import { openCore } from './daemon-core.ts'
import type { Core } from './daemon-core.ts'
import { kernelSpec } from './world.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { SpecChanges } from '../spec-changes.ts'

export type Moment = 'before' | 'after'
/** Called before and after each write, with the write's number from 1 and a description. */
export type AtBoundary = (number: number, moment: Moment, what: string, store: Store) => Promise<void>

export const [ROOT, CHILD, FORK, FORK_OF_FORK] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)] as const
export const ALL: readonly Uuid[] = [ROOT, CHILD, FORK, FORK_OF_FORK]

/** A store that calls `at` before and after each write. */
function counted(store: Store, at: AtBoundary): Store {
  let writes = 0
  const around = async <T>(what: string, write: () => Promise<T>): Promise<T> => {
    const number = (writes += 1)
    await at(number, 'before', what, store)
    const done = await write()
    await at(number, 'after', what, store)
    return done
  }
  const staging = (inner: Staging): Staging => ({
    add: (facts) => around('import: facts', () => inner.add(facts)),
    publish: (process, counters) => around('import: publish', () => inner.publish(process, counters)),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  })
  const own: Partial<Store> = {
    commit: (commit) => around(commitText(commit), () => store.commit(commit)),
    remove: (uuid, time) => around('remove', () => store.remove(uuid, time)),
    sweep: () => around('sweep', () => store.sweep()),
    stage: () => staging(store.stage()),
  }
  return new Proxy(store, {
    get: (target, key) => {
      const value: unknown = own[key as keyof Store] ?? Reflect.get(target, key)
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
    },
  })
}

function commitText({ facts }: Commit): string {
  return [...new Set(facts.map(({ body }) => body.type))].join(' ')
}

/** Returns the whole content of the store as text. */
export async function snapshot(store: Store): Promise<string> {
  const { counters, processes } = await store.load()
  const each = await Promise.all(
    ALL.map(async (uuid) => [
      (await store.process(uuid)) ?? null,
      (await store.tombstone(uuid)) ?? null,
      await store.facts(uuid, 0, 1_000),
    ]),
  )
  return JSON.stringify(
    [counters, processes.map(({ uuid }) => uuid).toSorted(), each, await store.since({ afterCursor: 0, limit: 5_000 })],
    inOrder,
  )
}

function inOrder(_: string, value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value
}

/** Makes the operations of a daemon around a core. */
export function operationsOf(core: Core) {
  const get = async (uuid: Uuid): Promise<Process> => {
    const process = core.table.get(uuid) ?? (await core.store.process(uuid))
    if (!process) throw new Error(`no process ${uuid}`)
    return process
  }
  const log = (words: string, error: unknown): void => {
    throw new Error(words, { cause: error })
  }
  const sweeper = new Sweeper(core.store, log)
  const removals = new Removals({
    reads: { get, resolve: get },
    store: core.store,
    clock: core.clock,
    sweeper,
    worktrees: { checkIdle: () => {}, remove: async () => null },
  })
  const find = (uuid: Uuid): Promise<Process | undefined> => core.store.process(uuid)
  const gc = async () => ({ retention_days: 0, max_entries: 1, max_bytes: 0, interval_seconds: 60 })
  return {
    get,
    sweeper,
    removals,
    collector: new GarbageCollector({
      store: core.store,
      reads: { find },
      removals,
      sweeper,
      clock: core.clock,
      readConfig: gc,
      log: () => {},
    }),
    archive: new Archive({
      store: core.store,
      pipeline: core.pipeline,
      clock: core.clock,
      sweeper,
      get,
      find,
      readRetentionRules: gc,
      protectFromRemoval: (ref, work) => removals.readWithoutRemoval(ref, work),
    }),
  }
}

export async function openCounted(dir: string, at: AtBoundary): Promise<Core> {
  return openCore({
    dir,
    wrap: (store) => counted(store, at),
    perform: (effect, core) => {
      if (effect.type === 'start')
        core.pipeline.submit({
          type: 'start',
          uuid: effect.uuid,
          pid: effect.pid,
          containment: { kind: 'group', path: null, marker: effect.uuid },
          missingKeys: [],
        })
      if (effect.type === 'checkpoint') core.pipeline.joinNextBatch({ type: 'checkpoint', uuid: effect.uuid, pid: effect.pid, error: null })
      if (effect.type === 'release' && effect.action === 'await')
        core.pipeline.submit({ type: 'released', uuid: effect.uuid, pid: effect.pid, survivors: [] })
    },
  })
}

/** A fixed sequence of acts of users and agents. */
export class Life {
  readonly #core: Core
  readonly #doors: ReturnType<typeof operationsOf>
  readonly #dir: string

  constructor(core: Core, dir: string) {
    this.#core = core
    this.#doors = operationsOf(core)
    this.#dir = dir
  }

  /** Pause, resume, forks, checkpoints, ends; then removal, export and import. */
  async live(): Promise<void> {
    await this.#work()
    await this.#pauses()
    await this.#forks()
    await this.#ends()
    await this.#histories()
  }

  async #work(): Promise<void> {
    await this.#spawn(ROOT, null, { interactive: true })
    await this.#spawn(CHILD, ROOT, {})
    this.#core.clock.wind(31_000)
    await this.#step(ROOT, 1)
    await this.#step(CHILD, 1)
  }

  async #pauses(): Promise<void> {
    await this.#signal(ROOT, 'SIGPAUSE', { subtree: true })
    await this.#report(ROOT, { type: 'drained' })
    await this.#report(CHILD, { type: 'drained' })
    await this.#resume(CHILD)
    await this.#signal(CHILD, 'SIGPAUSE', { freeze: true })
    await this.#report(CHILD, { type: 'frozen', inFlight: 'a call' })
    await this.#signal(ROOT, 'SIGPAUSE', { subtree: true })
    await this.#resume(ROOT, { subtree: true })
    await this.#resume(CHILD)
  }

  async #forks(): Promise<void> {
    await this.#step(ROOT, 2)
    await this.#fork(FORK, ROOT, 1)
    await this.#report(FORK, { type: 'up' })
    await this.#step(FORK, 2)
    await this.#fork(FORK_OF_FORK, FORK, 2)
    await this.#report(FORK_OF_FORK, { type: 'up' })
    await this.#request({ type: 'pin', by: 'user', uuid: FORK, endedRow: null, pinned: true })
  }

  async #ends(): Promise<void> {
    await this.#report(CHILD, { type: 'turn.ended', turn: 1, outcome: 'ok' })
    for (const uuid of [ROOT, FORK, FORK_OF_FORK]) {
      await this.#signal(uuid, 'SIGTERM', {})
      await this.#report(uuid, { type: 'exited', code: null, osSignal: 'SIGTERM' })
    }
    await this.#resume(ROOT, { message: { id: 'again', text: 'once more' } })
    await this.#report(ROOT, { type: 'up' })
    await this.#signal(ROOT, 'SIGKILL', {})
    await this.#report(ROOT, { type: 'exited', code: null, osSignal: 'SIGKILL' })
  }

  async #histories(): Promise<void> {
    const { removals, sweeper, archive, collector } = this.#doors
    await removals.remove(ROOT)
    await sweeper.waitUntilIdle()
    await archive.export(FORK_OF_FORK, this.#dir, new AbortController().signal)
    await removals.remove(FORK_OF_FORK)
    await sweeper.waitUntilIdle()
    await archive.import(join(this.#dir, 'steps', FORK_OF_FORK), new AbortController().signal)
    await sweeper.waitUntilIdle()
    await collector.run()
    await sweeper.waitUntilIdle()
    await this.#resume(FORK, { message: { id: 'on', text: 'go on' } })
    await this.#signal(FORK, 'SIGPAUSE', {})
    this.#core.pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    await this.#core.pipeline.waitUntilIdle()
  }

  async #spawn(uuid: Uuid, parent: Uuid | null, changes: SpecChanges): Promise<void> {
    await this.#request({ type: 'spawn', by: 'user', uuid, parent, spec: kernelSpec(changes) })
    await this.#report(uuid, { type: 'up' })
  }

  /** Reports a step with one tool call, as a native agent does. */
  async #step(uuid: Uuid, step: number): Promise<void> {
    const callId = `${uuid}.${step}`
    await this.#report(uuid, { type: 'model.started', step, attempt: 1, model: 'm' })
    await this.#report(uuid, {
      type: 'model.finished',
      step,
      finish: 'tool-calls',
      durationMs: 1,
      calls: [{ callId, name: 'bash', effect: 'once' }],
      message: [{ type: 'tool-call', callId, name: 'bash', input: {} }],
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    await this.#report(uuid, { type: 'tool.finished', callId, outcome: 'ok', content: `done ${step} `.repeat(2_000), durationMs: 1 })
  }

  async #fork(uuid: Uuid, from: Uuid, fromStep: number): Promise<void> {
    const origin = await this.#doors.get(from)
    await this.#request({
      type: 'fork',
      by: 'user',
      uuid,
      origin,
      at: await findForkPoint(this.#core.store, origin, { fromStep }),
      message: null,
      spec: null,
    })
  }

  async #resume(
    uuid: Uuid,
    how: { readonly subtree?: boolean; readonly message?: { readonly id: string; readonly text: string } } = {},
  ): Promise<void> {
    const process = await this.#doors.get(uuid)
    const { subtree = false, message = null } = how
    await this.#request({
      type: 'resume',
      by: 'user',
      uuid,
      endedRow: process.life.state === 'dead' ? process : null,
      subtree,
      only: false,
      rerun: false,
      message,
      spec: null,
    })
  }

  #signal(
    uuid: Uuid,
    signal: 'SIGPAUSE' | 'SIGTERM' | 'SIGKILL',
    { subtree = false, freeze = false }: { readonly subtree?: boolean; readonly freeze?: boolean },
  ): Promise<void> {
    return this.#request({ type: 'signal', by: 'user', uuid, signal, subtree, graceMs: null, freeze })
  }

  async #report(uuid: Uuid, report: Report): Promise<void> {
    const { pid } = await this.#doors.get(uuid)
    await this.#request({ type: 'report', uuid, pid, report })
  }

  /** Sends a request, and waits for its consequences. */
  async #request(body: RequestBody): Promise<void> {
    await this.#core.pipeline.request(body)
    await this.#core.pipeline.waitUntilIdle()
  }
}
