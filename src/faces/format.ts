// Formats durations, money, tokens, sizes, times and short ids for people: at most two units, and about three digits. Pure: the current
// time is a parameter. Test: test/tables/faces/format.test.ts.
import type { RowView } from '../api/views/rows.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats a duration with at most two units: `4s`, `3m 12s`, `2h 05m`, `3d 4h`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / SECOND)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h ${twoDigits(minutes % 60)}m`
  return `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** Formats a short duration more exactly: `12ms`, `3.2s`. From a minute on, formats like `formatElapsed`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)}ms`
  return ms < 59_950 ? `${(ms / SECOND).toFixed(1)}s` : formatElapsed(Math.round(ms / SECOND) * SECOND)
}

/** an amount below this has four decimals */
const SMALL_USD = 0.1

/** Formats a cost: `$0.0042`, `$1.37`; `?` if it is unknown; `$0.0042+` for a lower bound, when the price of some call is unknown. */
export function formatCost(usd: number | null, isLowerBound = false): string {
  if (usd === null) return '?'
  return `$${usd.toFixed(usd !== 0 && usd < SMALL_USD ? 4 : 2)}${isLowerBound ? '+' : ''}`
}

/** Formats a cost for a table. `-`: no model was called. */
export function costCell({ costUsd, unpriced }: { readonly costUsd: number | null; readonly unpriced: boolean }, isUsed: boolean): string {
  return costUsd === 0 && !isUsed ? '-' : formatCost(costUsd, unpriced)
}

/** Formats a limit in USD with the precision that the user gave: `$2`, `$1.50`, `$0.0025`. */
export function formatLimitUsd(usd: number): string {
  return `$${Number.isInteger(usd) || !Number.isInteger(Math.round(usd * 1e9) / 1e7) ? usd : usd.toFixed(2)}`
}

/** Formats a number of tokens: `950`, `1.2k`, `182k`, `3.4M`. */
export function formatTokens(count: number): string {
  if (count < 1000) return String(count)
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** Formats a size: `950 B`, `1.2 KiB`, `34 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let unit = 0
  let rest = bytes / 1024
  for (; rest >= 1023.5 && unit < UNITS.length - 1; unit++) rest /= 1024
  return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest)} ${UNITS[unit]}`
}

/** Formats a time in the past: `just now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 days ago`. A negative `ms` gives `in 3 min`. */
export function formatAgo(ms: number): string {
  const distance = Math.abs(ms)
  if (distance < 5 * SECOND) return 'just now'
  const text =
    distance < MINUTE
      ? `${Math.floor(distance / SECOND)} s`
      : distance < HOUR
        ? `${Math.floor(distance / MINUTE)} min`
        : distance < 2 * DAY
          ? `${Math.floor(distance / HOUR)} h`
          : `${Math.floor(distance / DAY)} days`
  return ms < 0 ? `in ${text}` : `${text} ago`
}

/** Formats a local time and how long ago it was: `2026-11-20 13:36:55, 3 min ago`. */
export function formatMoment(iso: string, now: number): string {
  const at = new Date(iso)
  return `${dateOf(at)} ${timeOf(at)}, ${formatAgo(now - at.getTime())}`
}

/** Formats a local time: `13:36:55`, preceded by the date unless it is today. */
export function formatClock(iso: string, now: number): string {
  const at = new Date(iso)
  const date = dateOf(at)
  return date === dateOf(new Date(now)) ? timeOf(at) : `${date} ${timeOf(at)}`
}

function dateOf(at: Date): string {
  return [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join('-')
}

function timeOf(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':')
}

/** Returns the last 8 digits of a UUID. The first digits encode a time, and are often the same for several processes. */
export function shortId(uuid: string): string {
  return uuid.slice(-8)
}

/** Returns a number with its noun: `1 step`, `2 steps`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}

/** The active time of a process in ms, which does not grow while the process is suspended. `now`: wall ms of the daemon. */
export function elapsedAt({ elapsedMs, runsSince }: Pick<RowView, 'elapsedMs' | 'runsSince'>, now: number): number {
  return elapsedMs + (runsSince === null ? 0 : Math.max(0, now - Date.parse(runsSince)))
}

/** The cost of a process and all processes below it; `~`: partly estimated. Empty if none of them has called a model. */
export function treeCostText({ cost, sub, step }: Pick<RowView, 'cost' | 'sub' | 'step'>): string {
  if (sub.usd === 0 && cost.usd === 0 && step === 0) return ''
  return `${formatCost(cost.usd === null ? null : sub.usd, cost.unpriced)}${cost.estimated ? '~' : ''}`
}
