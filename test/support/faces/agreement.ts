// Compares the answers of the faces at the same moment. They are the processes of `reeve ps --json -a`, the snapshot of rows, and the rows
// that a reader has folded from the stream. What waits for the user, and what `reeve top` draws, must agree with them. Fields that live
// output and open budgets change all the time are left out.
import { setImmediate as nextTurn } from 'node:timers/promises'
import xterm from '@xterm/headless'
import { expect } from 'vitest'
import { oneLine } from '../../../src/api/text/safe-text.ts'
import { frameBytes } from '../../../src/cli/screen/frame.ts'
import { frameOf, plainTableLines } from '../../../src/cli/top/frame-lines.ts'
import { TopModel } from '../../../src/cli/top/model.ts'
import { markOf } from '../../../src/faces/marks.ts'
import type { Client } from '../../../src/api/client/client.ts'
import { applyRowEvent, needsAfter, type RowEvent } from '../../../src/api/row-events.ts'
import type { HeartbeatView } from '../../../src/api/views/heartbeat.ts'
import type { NeedsView, NeedView } from '../../../src/api/views/needs.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { RowsView, RowView } from '../../../src/api/views/rows.ts'
import { connect } from '../../../src/index.ts'

/** How many states of the folded rows are kept. */
const MAX_STATES = 100
/** The longest search for a moment in which all answers show the same state, in ms. */
const MOMENT_MS = 10_000

/** A reader that folds the stream, and remembers its rows at each cursor. */
export class RowReader implements AsyncDisposable {
  readonly #rows = new Map<string, RowView>()
  #needs: readonly NeedView[] = []
  readonly #states = new Map<string, Pick<RowsView, 'rows' | 'needs'>>()
  readonly #abort = new AbortController()
  readonly #ended: Promise<void>
  #wake = Promise.withResolvers<void>()
  resets = 0

  constructor(home: string, scope: 'recent' | 'all') {
    this.#ended = this.#read(connect({ home, start: false }).followRows({ scope, signal: this.#abort.signal }))
  }

  /** Resolves when this number of snapshots has come: one at the beginning, and one of each later daemon. */
  async waitForResets(count: number): Promise<void> {
    while (this.resets < count) await this.#waitForEvent()
  }

  /** The rows in the order of their birth, and the needs, as they were at a cursor. Waits for them. */
  async stateAt(cursor: string): Promise<Pick<RowsView, 'rows' | 'needs'>> {
    const late = AbortSignal.timeout(MOMENT_MS)
    for (;;) {
      const state = this.#states.get(cursor)
      if (state) return state
      late.throwIfAborted()
      await this.#waitForEvent()
    }
  }

  async #waitForEvent(): Promise<void> {
    const hasEnded = await Promise.race([this.#wake.promise.then(() => false), this.#ended.then(() => true)])
    if (hasEnded) throw new Error('the stream has ended')
  }

  async #read(events: AsyncIterable<RowEvent>): Promise<void> {
    for await (const event of events) {
      if (event.type === 'reset') this.resets += 1
      applyRowEvent(this.#rows, event)
      this.#needs = needsAfter(this.#needs, event)
      this.#states.set(event.cursor, { rows: [...this.#rows.values()].toSorted(byBirth), needs: [...this.#needs] })
      const oldest = this.#states.keys().next()
      if (this.#states.size > MAX_STATES && oldest.done === false) this.#states.delete(oldest.value)
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    await this.#ended.catch(() => undefined) // the daemon may have ended before
  }
}

function byBirth(a: RowView, b: RowView): number {
  return a.uuid < b.uuid ? -1 : 1
}

export interface Moment {
  readonly processes: readonly ProcessView[]
  readonly rows: RowsView
  readonly needs: NeedsView
  readonly heartbeat: HeartbeatView
}

/** Reads all faces until they show the same state; null if the state changes too often. */
export async function readMoment(client: Client, scope: 'recent' | 'all'): Promise<Moment | null> {
  const readCursor = async (): Promise<number> => (await client.get<{ cursor: number }>('/v1/daemon')).cursor
  for (const deadline = performance.now() + MOMENT_MS; performance.now() < deadline; await nextTurn()) {
    const cursor = await readCursor()
    const [{ processes }, rows, needs, heartbeat] = await Promise.all([
      client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true, limit: 10_000 }),
      client.get<RowsView>('/v1/rows', { scope, shape: 'objects' }),
      client.get<NeedsView>('/v1/needs', { all: true, limit: 1_000 }),
      client.get<HeartbeatView>('/v1/heartbeat'),
    ])
    if (rows.seq === cursor && (await readCursor()) === cursor) return { processes, rows, needs, heartbeat }
  }
  return null
}

/** Checks that all faces agree. */
export function expectAgreement({ processes, rows: { rows, needs: sent }, needs: { needs }, heartbeat }: Moment): void {
  const pids = new Map(rows.flatMap(({ uuid, pid, endedAt }) => (endedAt === null ? [[uuid, pid] as const] : [])))
  const byUuid = new Map(rows.map((row) => [row.uuid, row]))
  expect(sent.map(comparableNeed)).toEqual([...needs.filter(isShown), ...needs.filter((need) => !isShown(need))].map(comparableNeed))
  expect(processes.map(({ uuid }) => uuid).toSorted()).toEqual(rows.map(({ uuid }) => uuid).toSorted())
  expectLiveness(heartbeat, byUuid)
  for (const process of processes) {
    const row = byUuid.get(process.uuid) as RowView
    const [ofRow, ofProcess] = [comparableRow(row, pids), comparableProcess(process)]
    expect(ofRow, `the row of ${process.name ?? process.uuid}`).toEqual(ofProcess)
    const own = needs.filter(({ uuid }) => uuid === process.uuid)
    expect({ uuid: row.uuid, attention: row.attention, unseen: row.unseen }).toEqual({
      uuid: row.uuid,
      attention: Math.max(0, ...own.map(({ rank }) => ATTENTION_BASE - rank)),
      unseen: own.some(({ seen }) => !seen),
    })
  }
}

const isShown = ({ snoozedUntil }: NeedView): boolean => snoozedUntil === null

/** Without the evidence of a budget, and without the time of a snooze: the stream keeps it when the snooze is over. */
function comparableNeed({ title: _t, evidence: _e, hold, snoozedUntil: _s, ...steady }: NeedView): object {
  return { ...steady, hold: hold?.reason ?? null }
}

/** Checks the liveness words of the heartbeat against the rows. A process that is not observed now has none. */
function expectLiveness({ processes }: HeartbeatView, rows: ReadonlyMap<string, RowView>): void {
  for (const { uuid, status, word } of processes) {
    const row = rows.get(uuid)
    expect({ uuid, status: row?.status, word: word && (row?.liveness ?? 'alive') }).toEqual({ uuid, status, word })
  }
}

/** The attention of a row is this number less the rank of its most urgent need. */
const ATTENTION_BASE = 7

function comparableRow(row: RowView, pids: ReadonlyMap<string, number>): object {
  const { uuid, pid, name, agent, driver, model, about, directory, labels, state, status, activity, liveness, since, turn, step } = row
  return {
    ...{ uuid, pid, name, agent, driver, model, about, directory, labels, state, status, activity, liveness, since, turn, step },
    ppid: (row.under !== null && pids.get(row.under)) || 0,
    parent: row.parent,
    why: steadyWhy(row.why),
    doing: steadyDoing(row.doing),
    note: steadyNote(row.note),
    queue: row.queue,
    asks: row.asks,
    elapsedMs: row.runsSince === null ? row.elapsedMs : null,
    tokens: row.tokens,
    cost: row.cost,
    treeUsd: row.endedAt === null ? row.sub.usd : null,
    ...{ role: row.role, phase: row.phase, task: row.task, branch: row.branch, pinned: row.pinned, exit: row.exit },
    origin: row.origin,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    lastText: row.lastText,
  }
}

function comparableProcess(process: ProcessView): object {
  const { uuid, pid, name, agent, driver, model, about, directory, labels, state, status, activity, since, turn, step, usage } = process
  const isLiving = state !== 'dead'
  return {
    ...{ uuid, pid, name, agent, driver, model, about, directory, labels, state, status, activity },
    liveness: process.liveness?.word ?? null,
    ...{ since, turn, step },
    ppid: process.ppid,
    parent: process.parentUuid,
    why: steadyWhy(process.why),
    doing: steadyDoing(process.doing),
    note: steadyNote(process.note),
    queue: process.queueCount,
    asks: process.asks.length,
    elapsedMs: state === 'running' && status !== 'suspended' ? null : process.elapsedMs,
    tokens: {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: usage.cacheReadTokens,
      cacheWrite: usage.cacheWriteTokens,
    },
    cost: { usd: usage.costUsd, unpriced: usage.unpriced, estimated: usage.estimated },
    treeUsd: isLiving ? (process.subtreeUsage.costUsd ?? 0) : null,
    ...{ role: process.role, phase: process.phase, task: process.taskId, branch: process.worktree?.branch ?? null, pinned: process.pinned },
    exit: process.exit,
    origin: process.originUuid === null ? null : { uuid: process.originUuid, step: process.originStep },
    createdAt: process.createdAt,
    endedAt: isLiving ? null : process.exitedAt,
    lastText: process.lastText,
  }
}

/** Without the number of tokens so far, which grows between two frames. */
function steadyWhy(why: RowView['why']): RowView['why'] {
  return why && { ...why, text: why.text.replace(/^the model answers, \d+ tokens so far/, 'waits for the model') }
}

function steadyDoing(doing: RowView['doing']): object | null {
  if (doing === null) return null
  const { out: _, ...steady } = doing
  return steady
}

/** Without the evidence of a budget: the row has it as recorded, the process as it is now. */
function steadyNote(note: string | null): string | null {
  return note?.replace(/^(paused: [^(]*\bbudget\b[^(]*)\(.*\)/, '$1') ?? null
}

/** wide enough that no sentence is cut */
const TOP_COLUMNS = 400
const TOP_STYLE = { ascii: false, ellipsis: '…', pauseMark: '⏸', paint: (_: string, text: string) => text }

/** Checks that the lines of `reeve top` have the mark of each process and what it waits for. `rows`: as the stream has sent them. */
export function expectTopAgrees(rows: readonly RowView[], moment: Moment): void {
  const model = topModelOf(rows, [], moment)
  expectTableAgrees(plainTableLines(model, TOP_COLUMNS, clocksOf(moment), TOP_STYLE).slice(1), model, moment)
}

/** Checks that a terminal with the bytes of `reeve top` shows the same, and below its head the needs in their order. */
export async function expectScreenAgrees({ rows, needs }: Pick<RowsView, 'rows' | 'needs'>, moment: Moment): Promise<void> {
  const model = topModelOf(rows, needs, moment)
  model.selectNeed(0) // the list begins with the first need: it follows the selection
  const size = { columns: TOP_COLUMNS, rows: rows.length + SCREEN_EXTRA_ROWS }
  const frame = frameOf(model, size, clocksOf(moment), TOP_STYLE)
  const terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(frameBytes(null, frame, size.rows), resolve))
  const screen = Array.from({ length: size.rows }, (_, row) => terminal.buffer.active.getLine(row)?.translateToString(true) ?? '')
  const titles = screen.findIndex((line) => /^ +PID +NAME /.test(line))
  expectTableAgrees(screen.slice(titles + 1), model, moment)
  const now = Date.parse(moment.rows.now)
  const open = needs.filter(({ snoozedUntil }) => snoozedUntil === null || Date.parse(snoozedUntil) <= now)
  expect(screen.slice(1, titles).map((line) => line.trimEnd())).toEqual(
    open.length === 0 ? [] : [`NEEDS YOU ${open.length}`, ...Array<unknown>(titles - 2).fill(expect.any(String))],
  )
  for (const [index, { title }] of open.slice(0, LISTED_NEEDS).entries()) expect(screen[2 + index]).toContain(oneLine(title).slice(0, 100))
}

/** the lines of a screen beside the rows: enough for the head, nine needs and the keys */
const SCREEN_EXTRA_ROWS = 40
/** fewer than are listed on that screen */
const LISTED_NEEDS = 8

function topModelOf(rows: readonly RowView[], needs: readonly NeedView[], { rows: { cursor, seq, now, sums } }: Moment): TopModel {
  const model = new TopModel()
  model.showsEnded = true
  model.onRows({ type: 'reset', cursor, seq, now, sums, rows, needs }, 0, Date.parse(now))
  return model
}

function clocksOf({ rows: { now } }: Moment): { readonly wall: number; readonly mono: number } {
  return { wall: Date.parse(now), mono: 0 }
}

/** `lines`: those of the table, from the first process on. */
function expectTableAgrees(lines: readonly string[], model: TopModel, { processes }: Moment): void {
  const shown = model.lines().map(({ uuid }, index) => [uuid, lines[index] ?? ''] as const)
  expect(shown.map(([uuid]) => uuid).toSorted()).toEqual(processes.map(({ uuid }) => uuid).toSorted())
  const lineOf = new Map(shown)
  for (const process of processes) {
    const { uuid, pid, status, asks, liveness, why, note } = process
    const line = (lineOf.get(uuid) ?? '').replace(/^[^\d]*/, '')
    const { symbol } = markOf({ status, asks: asks.length, liveness: liveness?.word ?? null })
    expect(line, `the mark of ${pid}`).toMatch(new RegExp(`^${pid} +(▾ )?\\${symbol} `))
    const text = steadyWhy(why)?.text ?? steadyNote(note) ?? status
    if (!text.startsWith('waits for the model') && note === steadyNote(note))
      expect(line, `why ${pid} waits`).toContain(oneLine(text).slice(0, 100))
  }
}
