// Reads the end of the daemon's log, and formats its JSON lines as time, level and message. Reads the file itself, so that it works
// without a daemon. Test: test/tables/cli/service/daemon-log.test.ts.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { stripControls } from '../print/text.ts'

const LEVELS: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }
/** the most bytes that one call reads; older ones are skipped */
const READ_BYTES = 1024 * 1024

export class DaemonLog {
  readonly #file: string
  /** where the next call starts to read */
  #offset: number | undefined
  /** the beginning of an incomplete line */
  #partialLine: Buffer = Buffer.alloc(0)

  constructor(file: string) {
    this.#file = file
  }

  /** Returns the complete lines since the last call; at the first call the last lines of the file. Empty if there is no file. */
  readNewLines(): string[] {
    let fd: number
    try {
      fd = openSync(this.#file, 'r')
    } catch {
      // No daemon has written a log yet.
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
    // A file that is shorter than before is a new one.
    const continuedAt = this.#offset !== undefined && this.#offset <= size ? this.#offset : undefined
    if (continuedAt === undefined) this.#partialLine = Buffer.alloc(0)
    const start = Math.max(continuedAt ?? 0, size - READ_BYTES)
    const bytes = Buffer.alloc(size - start)
    const read = readSync(fd, bytes, 0, bytes.length, start)
    this.#offset = start + read
    const isContinued = start === (continuedAt ?? 0)
    const all = Buffer.concat([isContinued ? this.#partialLine : Buffer.alloc(0), bytes.subarray(0, read)])
    const from = isContinued ? 0 : all.indexOf(0x0a) + 1
    const end = all.lastIndexOf(0x0a) + 1
    this.#partialLine = all.subarray(end)
    return all
      .toString('utf8', from, Math.max(from, end))
      .split('\n')
      .filter((line) => line !== '')
  }
}

/** Returns a JSON line as `time level message (error)`, and any other line unchanged. */
export function readableLine(line: string): string {
  const entry = parseEntry(line)
  if (!entry || entry['msg'] === undefined) return stripControls(line)
  const { time, level, msg, err } = entry as { time?: number | string; level?: number; msg: unknown; err?: { message?: string } }
  const at = time === undefined ? '' : `${new Date(time).toISOString()} `
  const cause = err?.message && err.message !== msg ? ` (${err.message})` : ''
  return stripControls(`${at}${LEVELS[level ?? 30] ?? level} ${String(msg)}${cause}`)
}

function parseEntry(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // The caller prints a line that is not JSON unchanged.
    return undefined
  }
}
