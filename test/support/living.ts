// What lives, seen without the code under test: processes by a number that a test put into their arguments.
// Also how tests wait: for a fact, with a deadline, never for a time.
import { readdirSync, readFileSync } from 'node:fs'
import { randomInt } from 'node:crypto'

const DEADLINE_MS = 50_000
const LOOK_MS = 10

/** How many members of the torture tree sleep or are stopped; one more with `all`. */
export const TORTURE_SLEEPERS = 9

export interface Living {
  readonly pid: number
  readonly ppid: number
  readonly state: string
  readonly argv: readonly string[]
}

/** A number that is in no other process's arguments. */
export function newToken(): string {
  return String(randomInt(1e11, 1e12))
}

/** All processes with `word` within one of their arguments, zombies left out. */
export function livingWith(word: string): Living[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    const found = readLiving(Number(name))
    return found !== null && found.argv.some((arg) => arg.includes(word)) ? [found] : []
  })
}

/** Those that have arrived where they stay: `sleep`s, and what has stopped itself. */
export function sleepersWith(token: string): Living[] {
  return livingWith(token).filter(({ argv, state }) => argv[0] === 'sleep' || state === 'T')
}

/** Kills what a failed test left behind: only processes that carry the test's own number. */
export function killLeft(token: string): void {
  for (const { pid } of livingWith(token)) killIfThere(pid)
}

/** The end of one may have ended others. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until `look` gives something that is neither false nor null; fails with the last look after 20 s. */
export async function eventually<T>(look: () => T | false | null, words = 'the condition'): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const found = look()
    if (found !== false && found !== null) return found
    if (performance.now() > deadline) throw new Error(`${words} did not come true within ${DEADLINE_MS} ms: ${look.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

export function readLiving(pid: number): Living | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state = '', ppid = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return null
    return { pid, ppid: Number(ppid), state, argv: readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0') }
  } catch {
    return null
  }
}
