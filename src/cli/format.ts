// Numbers for people: durations, money, tokens, short ids. Pure. Test: test/tables/cli-text.test.ts.

/** `4s`, `3m12s`, `2h05m`, `3d04h`: two units at most. */
export function elapsed(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h${two(minutes % 60)}m`
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`
}

/** A short time, exact enough to compare: `12ms`, `3.2s`, then as `elapsed`. */
export function took(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)}s` : elapsed(ms)
}

/** `$0.0123`; a lower bound, because some call had no known price, is `$0.0123+`. */
export function cost(usd: number, lowerBound = false): string {
  return `$${usd.toFixed(4)}${lowerBound ? '+' : ''}`
}

/** `950`, `1.2k`, `3.4M`. */
export function tokens(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
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
