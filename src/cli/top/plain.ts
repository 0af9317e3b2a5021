// `reeve top` without a screen: all rows once (`--once`), or a line for each change (`--plain`), for screen readers, pipes and scripts.
// Test: test/e2e/screen/top.test.ts.
import { applyRowEvent, connect, type Reeve, type RowView } from '../../index.ts'
import { meetsFilter, parseFilter } from '../../faces/filter.ts'
import { formatClock } from '../../faces/format.ts'
import { titleOf } from '../../faces/process-names.ts'
import type { Output } from '../print/output.ts'
import { oneLine } from '../print/text.ts'
import { plainTableLines } from './frame-lines.ts'
import { TopModel } from './model.ts'
import type { TopOptions } from './top.ts'

/** the width without a terminal */
const DEFAULT_COLUMNS = 120

/** Prints the needs and the rows once. */
export async function printOnce(reeve: Reeve, out: Output, { showsEnded, filter }: TopOptions): Promise<void> {
  const rows = await reeve.rows({ scope: 'recent' })
  const model = new TopModel()
  model.showsEnded = showsEnded
  model.onRows({ type: 'reset', ...rows }, performance.now(), Date.now())
  model.setFilter(filter)
  const shown = model.lines().flatMap(({ uuid }) => model.rows.get(uuid) ?? [])
  if (out.json) return out.value({ cursor: rows.cursor, sums: rows.sums, needs: model.needs, rows: shown })
  model.select(null)
  const columns = Number.isFinite(out.columns) ? out.columns : DEFAULT_COLUMNS
  for (const line of plainTableLines(model, columns, { wall: Date.now(), mono: performance.now() }, out)) await out.line(line)
}

/** Prints a line for each change of a status or of what a process waits for, until a signal ends the program. */
export async function printChanges(reeve: Reeve, out: Output, { showsEnded, filter }: TopOptions): Promise<void> {
  await reeve.daemon()
  const end = new AbortController()
  const leave = (): void => end.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, leave)
  const rows = new Map<string, RowView>()
  const shown = new Map<string, string>()
  let isFirst = true
  for await (const event of connect({ start: false }).followRows({ scope: 'recent', signal: end.signal })) {
    applyRowEvent(rows, event)
    const parts = parseFilter(filter, rows)
    const changed = event.type === 'rows' ? event.up.map(({ uuid }) => uuid) : event.type === 'reset' ? [...rows.keys()] : []
    for (const row of changed.flatMap((uuid) => rows.get(uuid) ?? [])) {
      const text = oneLine(row.why?.text ?? row.note ?? '')
      const state = text === '' ? row.status : `${row.status}: ${text}`
      const isKnown = shown.get(row.uuid) === state || !meetsFilter(parts, row, Date.now())
      shown.set(row.uuid, state)
      // A process that ended before the command began has not changed.
      if (!isKnown && !(isFirst && row.endedAt !== null && !showsEnded)) await printChange(row, state, out)
    }
    for (const uuid of shown.keys()) if (!rows.has(uuid)) shown.delete(uuid)
    isFirst = false
  }
}

async function printChange(row: RowView, state: string, out: Output): Promise<void> {
  const at = new Date().toISOString()
  const { uuid, pid, name, status, why, asks, cost } = row
  if (out.json) await out.record({ version: 1, at, uuid, pid, name, status, why, asks, costUsd: cost.usd })
  else await out.line(`${formatClock(at, Date.now())} ${pid} ${oneLine(titleOf(row))}: ${state}`)
}
