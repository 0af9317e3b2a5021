// The feed of rows: snapshots, and a stream of changes for viewers. Makes a projection for the first viewer, and drops it some time after
// the last one. Without viewers it only notes the current work of each process. Combines changes to ten frames a second at most. All
// viewers of a scope get the same frames. A slow viewer that is far behind gets a new snapshot instead. Must never delay or change a
// commit. Tests: test/tables/daemon/rows/row-feed.test.ts, test/e2e/rows/rows.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkTracker } from './doing.ts'
import type { RowNeed } from './row-needs.ts'
import { Projection, type Frame, type ProjectionDeps } from './projection.ts'
import { scopeKey, type RowScope, type RowShape } from './scope.ts'
import { isoTime } from '../views/format-times.ts'
import { rowsJson } from './rows-json.ts'
import type { RowPatch } from '../../api/row-events.ts'
import type { LiveOutput } from '../../drivers/port.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The shortest time between two frames, in ms. */
const FRAME_MS = 100
/** The time between two changes of a row that only live output causes, in ms. */
const LIVE_MS = 1_000
/** The time between two signs of life, in ms. */
const ALIVE_MS = 2_500
/** A projection without viewers is dropped after this time, in ms. */
const LINGER_MS = 10_000
/** The largest weight of the frames that wait for one viewer, in changed rows. A single frame may have more. */
const MAX_WAITING_ROWS = 1_000
/** How long ended processes stay among the recent rows, in ms. */
const RECENT_MS = 86_400_000
/** The time between two searches for rows that are no longer recent, in ms. */
const EXPIRE_MS = 60_000

/** A need counts as this many rows, because it may have the diff of a file. */
const ROWS_PER_NEED = 10
/** A snapshot is kept for this time in ms, because several viewers may begin at once. */
const SHARE_MS = 1_000
/** The field of a snapshot that has the rows. */
const SHAPE_FIELDS = { columns: 'columns', objects: 'rows' } as const

interface Snapshot {
  readonly cursor: string
  readonly text: Promise<string>
}

export interface RowSubscription {
  readonly scope: RowScope
  readonly shape: RowShape
  /** the cursor after which the stream begins; absent: with a snapshot */
  readonly after?: string | undefined
  readonly signal: AbortSignal
}

type RowFeedDeps = Omit<ProjectionDeps, 'work' | 'keepMs'> & { readonly log: (message: string, error: unknown) => void }

export class RowFeed {
  readonly #deps: RowFeedDeps
  readonly #work = new WorkTracker()
  /** `recent` serves all scopes but `all` */
  readonly #projections: { [K in 'recent' | 'all']: SharedProjection | null } = { recent: null, all: null }
  readonly #abort = new AbortController()

  constructor(deps: RowFeedDeps) {
    this.#deps = deps
  }

  /** What is known about the current work of each process. */
  get work(): Pick<WorkTracker, 'of'> {
    return this.#work
  }

  /** Must be called with the facts of each commit and the processes that it changed, after they were applied. */
  onCommit(facts: readonly StoredFact[], processes: readonly Process[]): void {
    this.#work.onFacts(facts)
    for (const projection of this.#openProjections()) projection.onCommit(processes)
  }

  /** Must be called with output that is not recorded. */
  onLive(uuid: Uuid, output: LiveOutput): void {
    if (this.#work.onLive(uuid, output)) for (const projection of this.#openProjections()) projection.onLive(uuid)
  }

  /** Must be called when an ended process was removed for good. */
  onRemoved(uuid: Uuid): void {
    for (const projection of this.#openProjections()) projection.onRemoved(uuid)
  }

  /** Must be called when processes were added without a commit. All viewers get a new snapshot. */
  reset(): void {
    for (const name of ['recent', 'all'] as const) {
      this.#projections[name]?.close()
      this.#projections[name] = null
    }
  }

  /** Returns the rows of a scope as JSON. */
  async snapshot(scope: RowScope, shape: RowShape): Promise<string> {
    const projection = await this.#projectionFor(scope)
    using _use = projection.use()
    return projection.snapshot(scope, shape)
  }

  /** Yields the events of a scope as bytes, until the signal aborts. */
  async *follow(subscription: RowSubscription): AsyncGenerator<Buffer> {
    const signal = AbortSignal.any([subscription.signal, this.#abort.signal])
    let { after } = subscription
    while (!signal.aborted) {
      const projection = await this.#projectionFor(subscription.scope)
      using _use = projection.use()
      using _kept = subscription.scope.of === 'subtree' ? await projection.keep(subscription.scope.root) : undefined
      // `follow` ends early if a reset closes the projection. The stream then continues with a snapshot of the next projection.
      yield* projection.follow({ ...subscription, after, signal })
      after = undefined
    }
  }

  close(): void {
    this.#abort.abort()
    this.reset()
  }

  #openProjections(): SharedProjection[] {
    return [this.#projections.recent, this.#projections.all].filter((projection) => projection !== null)
  }

  async #projectionFor(scope: RowScope): Promise<SharedProjection> {
    const name = scope.of === 'all' ? 'all' : 'recent'
    const projection = (this.#projections[name] ??= new SharedProjection(
      { ...this.#deps, work: this.#work, keepMs: name === 'all' ? Infinity : RECENT_MS },
      this.#deps.log,
      () => {
        if (this.#projections[name] === projection) this.#projections[name] = null
      },
    ))
    using _use = projection.use()
    await projection.opened
    return projection
  }
}

interface EncodedFrame {
  readonly bytes: Buffer
  /** the changed rows, with each changed need as `ROWS_PER_NEED`; a frame of sums alone counts as one, a sign of life as none */
  readonly rows: number
}

interface Viewer {
  readonly scope: RowScope
  queue: EncodedFrame[]
  /** the sum of `rows` of the frames in the queue */
  waitingRows: number
  mustReset: boolean
  wake: PromiseWithResolvers<void>
}

/** A projection that its viewers share, with these viewers and its timers. */
class SharedProjection {
  readonly #projection: Projection
  readonly #deps: ProjectionDeps
  readonly #log: (message: string, error: unknown) => void
  readonly #onClose: () => void
  readonly #viewers = new Set<Viewer>()
  /** the needs of the newest frame, by scope; only of scopes with viewers */
  readonly #sentNeeds = new Map<string, readonly RowNeed[]>()
  /** the snapshots of the last second, by scope and shape */
  readonly #snapshots = new Map<string, Snapshot>()
  readonly opened: Promise<void>
  readonly #closing = new AbortController()
  /** processes with new live output */
  readonly #live = new Set<Uuid>()
  #users = 0
  #linger: NodeJS.Timeout | null = null
  #alive: NodeJS.Timeout | null = null
  #liveTimer: NodeJS.Timeout | null = null
  #expiredAt = 0
  /** the run that makes a frame, with the pause after it, while there is something to do */
  #flushing: Promise<void> | null = null
  /** the frame that is being made */
  #making: Promise<Frame | null> | null = null
  #isOpen = false

  constructor(deps: ProjectionDeps, log: (message: string, error: unknown) => void, onClose: () => void) {
    this.#deps = deps
    this.#log = log
    this.#onClose = onClose
    this.#projection = new Projection(deps)
    this.opened = this.#open()
  }

  async #open(): Promise<void> {
    await this.#projection.open()
    this.#isOpen = true
    this.#schedule()
  }

  /** Keeps the projection until the result is disposed. */
  use(): Disposable {
    this.#users += 1
    if (this.#linger) clearTimeout(this.#linger)
    this.#linger = null
    return {
      [Symbol.dispose]: () => {
        this.#users -= 1
        if (this.#users === 0) this.#linger = setTimeout(() => this.close(), LINGER_MS).unref()
      },
    }
  }

  close(): void {
    this.#onClose()
    this.#closing.abort()
    for (const timer of [this.#linger, this.#alive, this.#liveTimer]) if (timer) clearTimeout(timer)
    for (const viewer of this.#viewers) viewer.wake.resolve()
  }

  onCommit(processes: readonly Process[]): void {
    this.#projection.onCommit(processes)
    this.#schedule()
  }

  onRemoved(uuid: Uuid): void {
    this.#projection.remove(uuid)
    this.#schedule()
  }

  onLive(uuid: Uuid): void {
    this.#live.add(uuid)
    this.#liveTimer ??= setTimeout(() => {
      this.#liveTimer = null
      for (const liveUuid of this.#live) this.#projection.touch(liveUuid)
      this.#live.clear()
      this.#schedule()
    }, LIVE_MS).unref()
  }

  /**
   * Keeps the row of a process, however old it is, until the result is disposed. Resolves when the row is there, or the projection closed.
   */
  async keep(uuid: Uuid): Promise<Disposable> {
    this.#projection.keep(uuid)
    // A closed projection makes no more frames: this loop would never end, and would block the event loop.
    while (!this.#closing.signal.aborted && !this.#projection.has(uuid) && this.#projection.isDirty) {
      this.#schedule()
      await this.#flushing
    }
    return { [Symbol.dispose]: () => this.#projection.release(uuid) }
  }

  async snapshot(scope: RowScope, shape: RowShape): Promise<string> {
    await this.#catchUp()
    const isOlder = scope.of === 'subtree' && !this.#projection.has(scope.root)
    return this.#snapshotText(scope, shape, { version: 1 }, isOlder ? await this.#readOlder(scope.root) : this.#projection)
  }

  /**
   * Reads the row of a process that has none here, because it ended too long ago. Other viewers must not get it, so it has a projection of
   * its own. That has the whole subtree: a process with a recent row below it would have a row here.
   */
  async #readOlder(root: Uuid): Promise<Projection> {
    const projection = new Projection(this.#deps)
    projection.keep(root)
    while (projection.isDirty) await projection.flush()
    return projection
  }

  async *follow({ scope, shape, after, signal }: RowSubscription): AsyncGenerator<Buffer> {
    const viewer: Viewer = { scope, queue: [], waitingRows: 0, mustReset: false, wake: Promise.withResolvers() }
    const stop = (): void => viewer.wake.resolve()
    signal.addEventListener('abort', stop)
    const key = scopeKey(scope)
    if (!this.#sentNeeds.has(key)) this.#sentNeeds.set(key, this.#projection.needs(scope))
    this.#viewers.add(viewer)
    this.#alive ??= setInterval(() => this.#sendAlive(), ALIVE_MS)
    try {
      const missed = after === undefined ? null : this.#projection.since(after, scope)
      if (missed === null) viewer.mustReset = true
      else
        yield this.#frameBytes(
          'rows',
          { up: missed.up, gone: missed.gone, ...removedField(missed.removed, missed.gone, scope), sums: this.#projection.sums },
          needsText(this.#projection.needs(scope)),
        )
      while (!signal.aborted && !this.#closing.signal.aborted) {
        if (viewer.mustReset) {
          Object.assign(viewer, { mustReset: false, queue: [], waitingRows: 0 })
          const { cursor } = this.#projection
          yield Buffer.from(
            `id: ${cursor}\nevent: reset\ndata: ${await this.#snapshotText(scope, shape, { type: 'reset', version: 1 })}\n\n`,
          )
        }
        // One at a time: what this reader has not taken yet stays within the limit of the queue.
        const frame = viewer.queue.shift()
        if (frame) {
          viewer.waitingRows -= frame.rows
          yield frame.bytes
          continue
        }
        if (!viewer.mustReset) await viewer.wake.promise
        viewer.wake = Promise.withResolvers()
      }
    } finally {
      this.#viewers.delete(viewer)
      if (![...this.#viewers].some((other) => scopeKey(other.scope) === key)) this.#sentNeeds.delete(key)
      signal.removeEventListener('abort', stop)
      if (this.#viewers.size === 0 && this.#alive) {
        clearInterval(this.#alive)
        this.#alive = null
      }
    }
  }

  #state(): { readonly cursor: string; readonly seq: number } {
    return { cursor: this.#projection.cursor, seq: this.#projection.seq }
  }

  /** The JSON of a snapshot. Viewers that ask at the same time share the work. */
  async #snapshotText(scope: RowScope, shape: RowShape, head: object, source = this.#projection): Promise<string> {
    const key = `${scopeKey(scope)} ${shape}`
    let snapshot = this.#snapshots.get(key)
    if (snapshot?.cursor !== this.#projection.cursor) {
      const now = isoTime(this.#deps.clock.now().wall)
      const state = { ...this.#state(), now, sums: this.#projection.sums }
      const needs = source.needs(scope)
      const rows = rowsJson(source.rows(scope), shape, this.#deps.slices)
      snapshot = {
        cursor: state.cursor,
        text: rows.then((text) => `${JSON.stringify(state).slice(1, -1)},"needs":${listText(needs)},"${SHAPE_FIELDS[shape]}":${text}}`),
      }
      this.#snapshots.set(key, snapshot)
      this.#dropSnapshot(key, snapshot)
    }
    return `${JSON.stringify(head).slice(0, -1)},${await snapshot.text}`
  }

  /** Drops a snapshot after the time in which other viewers may want the same one. */
  #dropSnapshot(key: string, snapshot: Snapshot): void {
    setTimeout(() => {
      if (this.#snapshots.get(key) === snapshot) this.#snapshots.delete(key)
    }, SHARE_MS).unref()
  }

  #schedule(): void {
    if (!this.#isOpen || this.#flushing || this.#closing.signal.aborted || !this.#projection.isDirty) return
    this.#flushing = this.#makeFrames()
      .catch((error: unknown) => this.#log('the rows could not be made', error))
      .finally(() => {
        this.#flushing = null
        this.#schedule()
      })
  }

  /** Resolves when the rows have all changes that came before the call. Changes that come meanwhile may be in a later frame. */
  async #catchUp(): Promise<void> {
    await this.#making
    if (!this.#projection.isDirty) return
    // After the pause between two frames, `#schedule` has begun the frame with the later changes.
    await this.#flushing
    await this.#making
  }

  /** Makes a frame, then waits until the next one may come. */
  async #makeFrames(): Promise<void> {
    const began = this.#deps.clock.now().mono
    try {
      this.#making = this.#projection.flush()
      const frame = await this.#making.finally(() => {
        this.#making = null
      })
      if (frame) this.#send(frame)
    } finally {
      // The pause also follows an error, because what failed is tried again.
      await this.#pause(FRAME_MS - (this.#deps.clock.now().mono - began))
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return
    await sleep(ms, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {
      // The projection was closed during the pause.
    })
  }

  #send(frame: Frame): void {
    const encoded = new Map<string, { readonly bytes: Buffer | null; readonly rows: number }>()
    for (const viewer of this.#viewers) {
      const key = scopeKey(viewer.scope)
      const known = encoded.get(key) ?? this.#encode(frame, viewer.scope)
      encoded.set(key, known)
      if (known.bytes === null || viewer.mustReset) continue
      if (viewer.waitingRows > 0 && viewer.waitingRows + known.rows > MAX_WAITING_ROWS)
        Object.assign(viewer, { mustReset: true, queue: [], waitingRows: 0 })
      else {
        const rows = Math.max(1, known.rows)
        viewer.queue.push({ bytes: known.bytes, rows })
        viewer.waitingRows += rows
      }
      viewer.wake.resolve()
    }
  }

  /** The bytes of a frame for all viewers of a scope; null: it has nothing for them. */
  #encode({ changes, sums, removed }: Frame, scope: RowScope): { readonly bytes: Buffer | null; readonly rows: number } {
    const up: RowPatch[] = []
    const gone: Uuid[] = []
    for (const { uuid, before, after, patch } of changes) {
      const wasIn = before !== null && this.#projection.isIn(scope, before)
      if (after !== null && patch !== null && this.#projection.isIn(scope, after)) up.push(wasIn ? patch : after)
      else if (wasIn) gone.push(uuid)
    }
    const needs = this.#changedNeeds(scope)
    const removedHere = removedField(removed, gone, scope)
    const rows = up.length + gone.length + (removedHere.removed?.length ?? 0) + ROWS_PER_NEED * (needs?.changed.length ?? 0)
    if (rows === 0 && sums === null && needs === null) return { bytes: null, rows }
    const body = { up, gone, ...removedHere, ...(sums ? { sums } : {}) }
    return { bytes: this.#frameBytes('rows', body, needs === null ? '' : needsText(needs.all, needs.changed)), rows }
  }

  /** The needs of a scope, with those that have changed since the last frame; null: none has. */
  #changedNeeds(scope: RowScope): { readonly all: readonly RowNeed[]; readonly changed: readonly RowNeed[] } | null {
    const key = scopeKey(scope)
    const before = this.#sentNeeds.get(key) ?? []
    const all = this.#projection.needs(scope)
    this.#sentNeeds.set(key, all)
    const texts = new Map(before.map(({ id, text }) => [id, text]))
    const changed = all.filter(({ id, text }) => texts.get(id) !== text)
    const isSame = changed.length === 0 && all.length === before.length && all.every(({ id }, index) => id === before[index]?.id)
    return isSame ? null : { all, changed }
  }

  /** Sends a sign of life. Once a minute, also drops the rows that are no longer recent. */
  #sendAlive(): void {
    const now = this.#deps.clock.now()
    if (now.mono - this.#expiredAt >= EXPIRE_MS) {
      this.#expiredAt = now.mono
      this.#projection.expire()
      this.#schedule()
    }
    const bytes = this.#frameBytes('alive', { now: isoTime(now.wall) })
    for (const viewer of this.#viewers) {
      // A viewer that does not read needs no further signs of life.
      if (viewer.mustReset || viewer.queue.length > 0) continue
      viewer.queue.push({ bytes, rows: 0 })
      viewer.wake.resolve()
    }
  }

  /** `needs`: JSON fields, which are added as they are. */
  #frameBytes(type: 'rows' | 'alive', body: object, needs = ''): Buffer {
    const json = JSON.stringify({ type, ...this.#state(), ...body })
    return Buffer.from(`id: ${this.#projection.cursor}\nevent: ${type}\ndata: ${json.slice(0, -1)}${needs}}\n\n`)
  }
}

/** The field with the removed processes that a scope may know: in a narrow scope only processes whose rows it had. */
function removedField(removed: readonly Uuid[], gone: readonly Uuid[], scope: RowScope): { readonly removed?: readonly Uuid[] } {
  const known = scope.of === 'recent' || scope.of === 'all' ? removed : removed.filter((uuid) => gone.includes(uuid))
  return known.length === 0 ? {} : { removed: known }
}

/** The fields of an event with the changed needs, and with all of them in order. */
function needsText(all: readonly RowNeed[], changed: readonly RowNeed[] = all): string {
  return `,"needs":${listText(changed)},"needIds":${JSON.stringify(all.map(({ id }) => id))}`
}

function listText(needs: readonly RowNeed[]): string {
  return `[${needs.map(({ text }) => text).join(',')}]`
}
