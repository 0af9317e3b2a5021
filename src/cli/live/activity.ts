// Describes what a process does at this moment, by its row: its question, its open call, or what it waits for. For a tool call, also the
// last line that the tool has printed. Pure. Test: test/tables/cli/live/activity.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import { formatCount, formatElapsed } from '../../faces/format.ts'
import { displayWidth, fitWidth, oneLine } from '../print/text.ts'

/** Returns the activity in at most `columns`. Truncates texts, not the duration. `now`: wall ms; `printed`: the last line of the call. */
export function activityText(
  row: RowView,
  { now, printed = '' }: { readonly now: number; readonly printed?: string },
  columns: number,
  ellipsis: string,
): string {
  const { doing, why, status } = row
  if (why && (why.kind === 'ask' || status === 'suspended')) return fitWidth(oneLine(why.text), columns, ellipsis)
  if (!doing) return ''
  const time = ` ${formatElapsed(now - Date.parse(doing.since))}${doing.more === undefined ? '' : ` (+${doing.more})`}`
  const output = printed === '' ? '' : fitWidth(`: ${printed}`, Math.max(0, Math.floor((columns - time.length) / 2)), ellipsis)
  const what = fitWidth(callText(doing, now), Math.max(1, columns - time.length - displayWidth(output)), ellipsis)
  return fitWidth(what + time + output, columns, ellipsis)
}

function callText({ what, name = '', input = '', out, until }: NonNullable<RowView['doing']>, now: number): string {
  switch (what) {
    case 'tool':
      return oneLine(`${name} ${input}`).trim()
    case 'model':
      return out === undefined ? 'calls the model' : `answers, ${formatCount(out, 'token')} so far,`
    case 'compaction':
      return 'compacts the context'
    case 'retry':
      return `repeats the call in ${formatElapsed(Math.max(0, Date.parse(until ?? '') - now))}, after`
  }
}
