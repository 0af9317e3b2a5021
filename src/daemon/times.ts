// Times as people and programs read them: ISO 8601 with the local offset. Test: test/tables/times.test.ts.

/** `2026-11-20T11:02:03.456+01:00` for ms since the epoch. */
export function iso(ms: number): string {
  const date = new Date(ms)
  const minutes = -date.getTimezoneOffset()
  const sign = minutes < 0 ? '-' : '+'
  const local = new Date(ms + minutes * 60_000).toISOString().slice(0, -1)
  const pad = (n: number): string => String(n).padStart(2, '0')
  return `${local}${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms)
}

/** `14:05`, or `2026-11-21 14:05` where it is another day than that of `from`: for notes. */
export function localTime(ms: number, from: number): string {
  const [day, time] = iso(ms).split('T') as [string, string]
  const short = time.slice(0, 5)
  return iso(from).startsWith(day) ? short : `${day} ${short}`
}
