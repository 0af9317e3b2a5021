// Numbers for people: durations, money, tokens, sizes, times, short ids. Two units and three digits are enough to decide by.
// Pure: the present is an input. Test: test/tables/cli-format.test.ts.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `4s`, `3m 12s`, `2h 05m`, `3d 4h`: two units at most. */
export function elapsed(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / SECOND)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h ${two(minutes % 60)}m`
  return `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** A short time, exact enough to compare: `12ms`, `3.2s`, then as `elapsed`. */
export function took(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)}ms`
  return ms < 59_950 ? `${(ms / SECOND).toFixed(1)}s` : elapsed(Math.round(ms / SECOND) * SECOND)
}

/** Below it a cent is too coarse. */
const SMALL_USD = 0.1

/** `$0.0042`, `$1.37`; a lower bound, because some call had no known price, is `$0.0042+`. */
export function cost(usd: number, lowerBound = false): string {
  return `$${usd.toFixed(usd !== 0 && usd < SMALL_USD ? 4 : 2)}${lowerBound ? '+' : ''}`
}

/** What a person allowed, as exactly as it was said: `$2`, `$1.50`, `$0.0025`. */
export function allowance(usd: number): string {
  return `$${Number.isInteger(usd) || !Number.isInteger(Math.round(usd * 1e9) / 1e7) ? usd : usd.toFixed(2)}`
}

/** `950`, `1.2k`, `182k`, `3.4M`. */
export function tokens(count: number): string {
  if (count < 1000) return String(count)
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** `950 B`, `1.2 KiB`, `34 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let unit = 0
  let rest = bytes / 1024
  for (; rest >= 1023.5 && unit < UNITS.length - 1; unit++) rest /= 1024
  return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest)} ${UNITS[unit]}`
}

/** `just now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 days ago`; `in 3 min` for what is to come. */
export function ago(ms: number): string {
  const past = Math.abs(ms)
  if (past < 5 * SECOND) return 'just now'
  const text = past < MINUTE ? `${Math.floor(past / SECOND)} s`
    : past < HOUR ? `${Math.floor(past / MINUTE)} min`
      : past < 2 * DAY ? `${Math.floor(past / HOUR)} h` : `${Math.floor(past / DAY)} days`
  return ms < 0 ? `in ${text}` : `${text} ago`
}

/** A time on the clock of who reads it, and how long ago: `2026-11-20 13:36:55, 3 min ago`. */
export function when(iso: string, now: number): string {
  const at = new Date(iso)
  return `${dateOf(at)} ${timeOf(at)}, ${ago(now - at.getTime())}`
}

/** A time on the clock of who reads it: `13:36:55`, with the date when it is of another day. */
export function clock(iso: string, now: number): string {
  const at = new Date(iso)
  const date = dateOf(at)
  return date === dateOf(new Date(now)) ? timeOf(at) : `${date} ${timeOf(at)}`
}

function dateOf(at: Date): string {
  return [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
}

function timeOf(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
}

/** The last 8 digits of a UUID: the first ones of a v7 are its time. */
export function shortId(uuid: string): string {
  return uuid.slice(-8)
}

/** `1 step`, `2 steps`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
