// Counts every write of a daemon to its store: commits of the pipeline, removals, batches of a sweep and of an import. A callback runs
// before each write, and after it, when the write is durable but not yet visible. `OperationSequence` is a fixed sequence of operations
// that causes every kind of write, in the same order each time. Test: test/processes/crash/boundaries.deep.test.ts.
import { join } from 'node:path'
import { Archive } from '../../../src/daemon/archive/archive.ts'
import { GarbageCollector } from '../../../src/daemon/operations/collector.ts'
import { findForkPoint } from '../../../src/daemon/operations/fork-point.ts'
import { Removals, Sweeper } from '../../../src/daemon/operations/removals.ts'
import type { RequestBody } from '../../../src/daemon/loop/pipeline.ts'
import type { Report } from '../../../src/kernel/model/reports.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Commit, Staging, HomeStore } from '../../../src/store/store.ts'
import { uuidOf } from '../store/facts.ts'
import { openCore } from './daemon-core.ts'
import type { Core } from './daemon-core.ts'
import { kernelSpec } from './world.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { SpecChanges } from '../spec-changes.ts'

export type Moment = 'before' | 'after'
/** Called before and after each write, with the write's number from 1 and a description. */
export type BoundaryCallback = (number: number, moment: Moment, description: string, store: HomeStore) => Promise<void>

export const [ROOT, CHILD, FORK, FORK_OF_FORK] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)] as const
export const ALL_UUIDS: readonly Uuid[] = [ROOT, CHILD, FORK, FORK_OF_FORK]

/** A store that calls `onBoundary` before and after each write. */
function countWrites(store: HomeStore, onBoundary: BoundaryCallback): HomeStore {
  let writes = 0
  const performWrite = async <T>(description: string, write: () => Promise<T>): Promise<T> => {
    const number = (writes += 1)
    await onBoundary(number, 'before', description, store)
    const writeResult = await write()
    await onBoundary(number, 'after', description, store)
    return writeResult
  }
  const staging = (inner: Staging): Staging => ({
    add: (facts) => performWrite('import: facts', () => inner.add(facts)),
    publish: (process) => performWrite('import: publish', () => inner.publish(process)),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  })
  const overrides: Partial<HomeStore> = {
    commit: (commit) => performWrite(commitText(commit), () => store.commit(commit)),
    remove: (uuid, time) => performWrite('remove', () => store.remove(uuid, time)),
    sweep: () => performWrite('sweep', () => store.sweep()),
    stage: () => staging(store.stage()),
  }
  return new Proxy(store, {
    get: (target, key) => {
      const value: unknown = overrides[key as keyof HomeStore] ?? Reflect.get(target, key)
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
    },
  })
}

function commitText({ facts }: Commit): string {
  return [...new Set(facts.map(({ body }) => body.type))].join(' ')
}

/** Returns the counters, processes and facts of the store as text, with the tombstones of removed processes. */
export async function readWholeStore(store: HomeStore): Promise<string> {
  const { counters, processes } = await store.load()
  const journals = await Promise.all(
    ALL_UUIDS.map(async (uuid) => [
      (await store.process(uuid)) ?? null,
      (await store.tombstone(uuid)) ?? null,
      await store.facts(uuid, 0, 1_000),
    ]),
  )
  return JSON.stringify(
    [counters, processes.map(({ uuid }) => uuid).toSorted(), journals, await store.since({ afterCursor: 0, limit: 5_000 })],
    sortKeys,
  )
}

function sortKeys(_: string, value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value
}

/** Makes the operations that a daemon has besides its pipeline: removals, collection, export and import. */
export function operationsOf(core: Core) {
  const getProcess = async (uuid: Uuid): Promise<Process> => {
    const process = core.table.get(uuid) ?? (await core.store.process(uuid))
    if (!process) throw new Error(`no process ${uuid}`)
    return process
  }
  const log = (message: string, error: unknown): void => {
    throw new Error(message, { cause: error })
  }
  const sweeper = new Sweeper(core.store, log)
  const removals = new Removals({
    reads: { get: getProcess, resolve: getProcess },
    store: core.store,
    clock: core.clock,
    sweeper,
    worktrees: { checkIdle: () => {}, remove: async () => null },
  })
  const findProcess = (uuid: Uuid): Promise<Process | undefined> => core.store.process(uuid)
  const gcRules = async () => ({ retention_days: 0, max_entries: 1, max_bytes: 0, interval_seconds: 60 })
  return {
    get: getProcess,
    sweeper,
    removals,
    collector: new GarbageCollector({
      store: core.store,
      local: core.store,
      reads: { find: findProcess },
      removals,
      sweeper,
      clock: core.clock,
      readConfig: gcRules,
      log: () => {},
    }),
    archive: new Archive({
      store: core.store,
      pipeline: core.pipeline,
      clock: core.clock,
      sweeper,
      get: getProcess,
      find: findProcess,
      readRetentionRules: gcRules,
      onImported: () => {},
      protectFromRemoval: (ref, readWork) => removals.readWithoutRemoval(ref, readWork),
    }),
  }
}

/** Opens a core whose writes are counted. It answers effects at once, as drivers without programs do. */
export async function openCoreWithCountedWrites(dir: string, onBoundary: BoundaryCallback): Promise<Core> {
  return openCore({
    dir,
    wrap: (store) => countWrites(store, onBoundary),
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

/** A fixed sequence of what users request and agents report. */
export class OperationSequence {
  readonly #core: Core
  readonly #operations: ReturnType<typeof operationsOf>
  readonly #dir: string

  constructor(core: Core, dir: string) {
    this.#core = core
    this.#operations = operationsOf(core)
    this.#dir = dir
  }

  /** Pause, resume, forks, checkpoints, ends; then removal, export and import. */
  async play(): Promise<void> {
    await this.#workProcesses()
    await this.#pauseProcesses()
    await this.#forkProcesses()
    await this.#endProcesses()
    await this.#removeAndImport()
  }

  async #workProcesses(): Promise<void> {
    await this.#spawnProcess(ROOT, null, { interactive: true })
    await this.#spawnProcess(CHILD, ROOT, {})
    this.#core.clock.wind(31_000)
    await this.#reportStep(ROOT, 1)
    await this.#reportStep(CHILD, 1)
  }

  async #pauseProcesses(): Promise<void> {
    await this.#sendSignal(ROOT, 'SIGPAUSE', { subtree: true })
    await this.#submitReport(ROOT, { type: 'drained' })
    await this.#submitReport(CHILD, { type: 'drained' })
    await this.#resumeProcess(CHILD)
    await this.#sendSignal(CHILD, 'SIGPAUSE', { freeze: true })
    await this.#submitReport(CHILD, { type: 'frozen', inFlight: 'a call' })
    await this.#sendSignal(ROOT, 'SIGPAUSE', { subtree: true })
    await this.#resumeProcess(ROOT, { subtree: true })
    await this.#resumeProcess(CHILD)
  }

  async #forkProcesses(): Promise<void> {
    await this.#reportStep(ROOT, 2)
    await this.#forkProcess(FORK, ROOT, 1)
    await this.#submitReport(FORK, { type: 'up' })
    await this.#reportStep(FORK, 2)
    await this.#forkProcess(FORK_OF_FORK, FORK, 2)
    await this.#submitReport(FORK_OF_FORK, { type: 'up' })
    await this.#sendRequest({ type: 'pin', by: 'user', uuid: FORK, endedRow: null, pinned: true })
  }

  async #endProcesses(): Promise<void> {
    await this.#submitReport(CHILD, { type: 'turn.ended', turn: 1, outcome: 'ok' })
    for (const uuid of [ROOT, FORK, FORK_OF_FORK]) {
      await this.#sendSignal(uuid, 'SIGTERM', {})
      await this.#submitReport(uuid, { type: 'exited', code: null, osSignal: 'SIGTERM' })
    }
    await this.#resumeProcess(ROOT, { message: { id: 'again', text: 'once more' } })
    await this.#submitReport(ROOT, { type: 'up' })
    await this.#sendSignal(ROOT, 'SIGKILL', {})
    await this.#submitReport(ROOT, { type: 'exited', code: null, osSignal: 'SIGKILL' })
  }

  async #removeAndImport(): Promise<void> {
    const { removals, sweeper, archive, collector } = this.#operations
    await removals.remove(ROOT)
    await sweeper.waitUntilIdle()
    await archive.export(FORK_OF_FORK, this.#dir, new AbortController().signal)
    await removals.remove(FORK_OF_FORK)
    await sweeper.waitUntilIdle()
    await archive.import(join(this.#dir, 'steps', FORK_OF_FORK), new AbortController().signal)
    await sweeper.waitUntilIdle()
    await collector.run()
    await sweeper.waitUntilIdle()
    await this.#resumeProcess(FORK, { message: { id: 'on', text: 'go on' } })
    await this.#sendSignal(FORK, 'SIGPAUSE', {})
    this.#core.pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    await this.#core.pipeline.waitUntilIdle()
  }

  async #spawnProcess(uuid: Uuid, parent: Uuid | null, changes: SpecChanges): Promise<void> {
    await this.#sendRequest({ type: 'spawn', by: 'user', uuid, parent, spec: kernelSpec(changes) })
    await this.#submitReport(uuid, { type: 'up' })
  }

  /** Reports a step with one tool call, as a native agent does. */
  async #reportStep(uuid: Uuid, step: number): Promise<void> {
    const callId = `${uuid}.${step}`
    await this.#submitReport(uuid, { type: 'model.started', step, attempt: 1, model: 'm' })
    await this.#submitReport(uuid, {
      type: 'model.finished',
      step,
      finish: 'tool-calls',
      durationMs: 1,
      calls: [{ callId, name: 'bash', effect: 'once' }],
      message: [{ type: 'tool-call', callId, name: 'bash', input: {} }],
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    await this.#submitReport(uuid, { type: 'tool.finished', callId, outcome: 'ok', content: `done ${step} `.repeat(2_000), durationMs: 1 })
  }

  async #forkProcess(uuid: Uuid, originUuid: Uuid, fromStep: number): Promise<void> {
    const origin = await this.#operations.get(originUuid)
    await this.#sendRequest({
      type: 'fork',
      by: 'user',
      uuid,
      origin,
      at: await findForkPoint(this.#core.store, origin, { fromStep }),
      message: null,
      spec: null,
    })
  }

  async #resumeProcess(
    uuid: Uuid,
    options: { readonly subtree?: boolean; readonly message?: { readonly id: string; readonly text: string } } = {},
  ): Promise<void> {
    const process = await this.#operations.get(uuid)
    const { subtree = false, message = null } = options
    await this.#sendRequest({
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

  #sendSignal(
    uuid: Uuid,
    signal: 'SIGPAUSE' | 'SIGTERM' | 'SIGKILL',
    { subtree = false, freeze = false }: { readonly subtree?: boolean; readonly freeze?: boolean },
  ): Promise<void> {
    return this.#sendRequest({ type: 'signal', by: 'user', uuid, signal, subtree, graceMs: null, freeze })
  }

  async #submitReport(uuid: Uuid, report: Report): Promise<void> {
    const { pid } = await this.#operations.get(uuid)
    await this.#sendRequest({ type: 'report', uuid, pid, report })
  }

  /** Sends a request, and waits for its consequences. */
  async #sendRequest(body: RequestBody): Promise<void> {
    await this.#core.pipeline.request(body)
    await this.#core.pipeline.waitUntilIdle()
  }
}
