// Makes the rows of `reeve ps --watch` from those that the daemon sends. Pure. Test: test/e2e/screen/watch.test.ts.
import type { RowView } from '../../index.ts'
import { needsUser } from '../../faces/attention.ts'
import { elapsedAt } from '../../faces/format.ts'
import type { PsRow } from '../print/ps-columns.ts'

/** A row of the table. Rows of `--json` do not have the additional fields. */
export interface WatchRow extends PsRow {
  readonly attention?: RowView['attention']
  readonly needsUser?: boolean
}

/** Returns the rows as `reeve ps` orders them: the ended ones first, the newest end last, then the living ones by PID. `now`: wall ms. */
export function psRows(rows: ReadonlyMap<string, RowView>, now: number): WatchRow[] {
  const all = [...rows.values()].toSorted((a, b) => compareEnds(a.endedAt, b.endedAt) || a.pid - b.pid)
  return all.map((row) => psRow(row, row.under === null ? undefined : rows.get(row.under), now))
}

function compareEnds(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return Date.parse(a) - Date.parse(b)
}

function psRow({ parent, origin, task, branch, cost, tokens, ...row }: RowView, above: RowView | undefined, now: number): WatchRow {
  return {
    ...row,
    needsUser: needsUser(row, now),
    ppid: above?.endedAt === null ? above.pid : 0,
    parentUuid: parent,
    originUuid: origin?.uuid ?? null,
    taskId: task,
    worktree: branch === null ? null : { branch },
    usage: { costUsd: cost.usd, inputTokens: tokens.input, unpriced: cost.unpriced },
    elapsedMs: elapsedAt(row, now),
  }
}
