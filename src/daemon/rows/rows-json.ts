// Serializes rows in pieces, so that ten thousand of them do not block the event loop. Test: test/e2e/rows/rows.test.ts.
import type { RowShape } from './scope.ts'
import type { RowView } from '../../api/views/rows.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'

/** The number of rows in one piece of work. */
const PIECE_ROWS = 100

/** The JSON of rows: a list of them, or a list of values for each field. */
export async function rowsJson(rows: readonly RowView[], shape: RowShape, slices: Pick<SliceQueue, 'next'>): Promise<string> {
  const [first] = rows
  const fields = first === undefined ? [] : (Object.keys(first) as (keyof RowView)[])
  const columns = fields.map((): string[] => [])
  const pieces: string[] = []
  for (let start = 0; start < rows.length; start += PIECE_ROWS) {
    await slices.next()
    const pieceRows = rows.slice(start, start + PIECE_ROWS)
    if (shape === 'objects') pieces.push(listText(pieceRows))
    else for (const [index, field] of fields.entries()) columns[index]?.push(listText(pieceRows.map((row) => row[field])))
  }
  if (shape === 'objects') return `[${pieces.join(',')}]`
  return `{${fields.map((field, index) => `${JSON.stringify(field)}:[${columns[index]?.join(',')}]`).join(',')}}`
}

/** The JSON of the items, without the brackets of the list. */
function listText(items: readonly unknown[]): string {
  return JSON.stringify(items).slice(1, -1)
}
