// Formats times for users and programs: ISO 8601 with the local offset. Test: test/tables/daemon/views/format-times.test.ts.

/** Formats ms since the epoch, for example as `2026-11-20T11:02:03.456+01:00`. */
export function isoTime(ms: number): string {
  const date = new Date(ms)
  const minutes = -date.getTimezoneOffset()
  const sign = minutes < 0 ? '-' : '+'
  const local = new Date(ms + minutes * 60_000).toISOString().slice(0, -1)
  const pad = (n: number): string => String(n).padStart(2, '0')
  return `${local}${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}

/** Formats a time for a note: `14:05`, or `2026-11-21 14:05` if it is on another day than `from`. Both are ms since the epoch. */
export function localTime(ms: number, from: number): string {
  const [day, time] = isoTime(ms).split('T') as [string, string]
  const short = time.slice(0, 5)
  return isoTime(from).startsWith(day) ? short : `${day} ${short}`
}
