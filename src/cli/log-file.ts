// The daemon's log as people read it: whole lines from the end of the file on, a line of JSON as time, level and message.
// Read directly, so that it can be seen when the daemon is gone. Test: test/tables/cli-text.test.ts.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { safe } from './text.ts'

const LEVELS: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }
/** How much of a log is read at once; of what is older only the end is seen. */
const READ_BYTES = 1024 * 1024

export class LogFile {
  readonly #file: string
  #offset: number | undefined
  #cut: Buffer = Buffer.alloc(0)

  constructor(file: string) {
    this.#file = file
  }

  /** The whole lines since the last call, the first time those at the end; none if there is no such file. */
  next(): string[] {
    let fd: number
    try {
      fd = openSync(this.#file, 'r')
    } catch {
      return []
    }
    try {
      return this.#read(fd)
    } finally {
      closeSync(fd)
    }
  }

  #read(fd: number): string[] {
    const { size } = fstatSync(fd)
    // Shorter than before: it was begun anew.
    const known = this.#offset !== undefined && this.#offset <= size ? this.#offset : undefined
    if (known === undefined) this.#cut = Buffer.alloc(0)
    const start = Math.max(known ?? 0, size - READ_BYTES)
    const bytes = Buffer.alloc(size - start)
    const read = readSync(fd, bytes, 0, bytes.length, start)
    this.#offset = start + read
    const isWhole = start === (known ?? 0)
    const all = Buffer.concat([isWhole ? this.#cut : Buffer.alloc(0), bytes.subarray(0, read)])
    const from = isWhole ? 0 : all.indexOf(0x0a) + 1
    const end = all.lastIndexOf(0x0a) + 1
    this.#cut = all.subarray(end)
    return all.toString('utf8', from, Math.max(from, end)).split('\n').filter((line) => line !== '')
  }
}

/** One line for people: JSON as `time level message (error)`, anything else as it is. */
export function readable(line: string): string {
  const entry = parsed(line)
  if (!entry || entry['msg'] === undefined) return safe(line)
  const { time, level, msg, err } = entry as { time?: number | string; level?: number; msg: unknown; err?: { message?: string } }
  const at = time === undefined ? '' : `${new Date(time).toISOString()} `
  const cause = err?.message && err.message !== msg ? ` (${err.message})` : ''
  return safe(`${at}${LEVELS[level ?? 30] ?? level} ${String(msg)}${cause}`)
}

function parsed(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}
