// Named values in the table `setting`: the account of the home, and what the channels of notifications have handled.
// Test: test/tables/store/home-book.test.ts.
import type { HomeBook } from '../../kernel/model/home.ts'
import { damageError } from '../errors.ts'
import { rowSum } from '../rows/checksums.ts'
import type { Reader } from './connection.ts'
import { columnArrays, escapeText, unnest } from './rows.ts'

const HOME = 'home'

/** A value by its name. */
export type Setting = readonly [name: string, value: unknown]

export function homeSetting(book: HomeBook): Setting {
  return [HOME, book]
}

export function notifiedSetting(channel: string, cursor: number): Setting {
  return [notifiedName(channel), cursor]
}

function notifiedName(channel: string): string {
  return `notified ${escapeText(channel)}`
}

/** Returns the statement that writes settings, and its values, which are the parameters from `$first` on. */
export function putSettings(first: number, settings: readonly Setting[]): readonly [statement: string, values: readonly unknown[]] {
  const rows = settings.map(([name, value]) => {
    const text = JSON.stringify(value)
    return [name, text, rowSum([name, text])]
  })
  return [
    `INSERT INTO reeve.setting SELECT u.* FROM f, ${unnest(first, ['text', 'text', 'bigint'])} AS u
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, sum = excluded.sum`,
    columnArrays(rows, 3),
  ]
}

async function readSetting(reader: Reader, name: string): Promise<unknown> {
  const text = 'SELECT value, sum FROM reeve.setting WHERE name = $1'
  const [row] = await reader.read<{ value: string; sum: number }>(`The setting ${name}`, { text, values: [name] })
  if (row === undefined) return null
  if (rowSum([name, row.value]) !== row.sum) throw damageError({ table: 'meta' }, `the setting ${name} is damaged`)
  return JSON.parse(row.value) as unknown
}

/** Returns the account of the home; null if it was never written. */
export async function readHome(reader: Reader): Promise<HomeBook | null> {
  return (await readSetting(reader, HOME)) as HomeBook | null
}

/** Returns the cursor up to which a channel has handled all facts; null if it was never used. */
export async function readNotified(reader: Reader, channel: string): Promise<number | null> {
  return (await readSetting(reader, notifiedName(channel))) as number | null
}
