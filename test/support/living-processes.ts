// Finds, signals, kills and measures OS processes of a test, without the code under test. Finds them by a token that the test put into
// their arguments, by their working directory, or by a PID that a program printed.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { randomInt } from 'node:crypto'

/** The number of sleeping or stopped processes of a torture tree (programs/torture.sh). Its argument `all` adds one. */
export const TORTURE_SLEEPERS = 9

export interface LivingProcess {
  readonly pid: number
  readonly ppid: number
  readonly state: string
  /** in ticks since the machine's start: a reused PID has another value */
  readonly startTicks: number
  readonly argv: readonly string[]
}

/** Returns a token that no other process has in its arguments. */
export function newToken(): string {
  return String(randomInt(1e11, 1e12))
}

/** Returns all processes with `word` in one of their arguments, except zombies. */
export function findProcessesWith(word: string): LivingProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readArguments(name).includes(word))
    .flatMap((name) => {
      const found = readProcess(Number(name))
      return found !== null && found.argv.some((arg) => arg.includes(word)) ? [found] : []
    })
}

/** Returns all processes whose working directory is this folder, except zombies. */
export function findProcessesIn(folder: string): LivingProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readWorkingFolder(name) === folder)
    .flatMap((name) => readProcess(Number(name)) ?? [])
}

/** Returns the processes of a torture tree that are in their final state: `sleep`s, and programs that stopped themselves. */
export function findSleepersWith(token: string): LivingProcess[] {
  return findProcessesWith(token).filter(({ argv, state }) => argv[0] === 'sleep' || state === 'T')
}

/** Kills the processes that a failed test left behind: those with the test's token in an argument. */
export function killRemaining(token: string): void {
  for (const { pid } of findProcessesWith(token)) killIfAlive(pid)
}

/** Kills the process if it still exists: the end of another process may have ended it. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Signals a process that was found before. Fails if it is null, or if its PID belongs to another process by now. */
export function signalFound(seen: LivingProcess | null | undefined, signal: NodeJS.Signals): void {
  if (!seen || readProcess(seen.pid)?.startTicks !== seen.startTicks)
    throw new Error(`the process for ${signal} does not exist: ${JSON.stringify(seen)}`)
  process.kill(seen.pid, signal)
}

/**
 * Finds the process with a PID that another program printed. The process must descend from the test or have `home` in its environment.
 * The check is needed because a PID from another PID namespace, or of an ended process, may belong to a process of the user.
 */
export function findOwnProcess(pid: number, home: string): LivingProcess {
  const found = readProcess(pid)
  if (found === null) throw new Error(`there is no process ${pid}`)
  if (!isDescendant(found) && !readFileSync(`/proc/${pid}/environ`, 'latin1').includes(home))
    throw new Error(`process ${pid} is not of this test: ${found.argv.join(' ')}`)
  return found
}

/** The CPU time that all threads of a process have taken so far, in ms. */
export function cpuMsOf({ pid }: LivingProcess): number {
  const ticks = readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0])
  return ticks.reduce((sum, ns) => sum + Number(ns) / 1e6, 0)
}

/** The memory of a process that is in RAM, in MB. */
export function residentMbOf({ pid }: LivingProcess): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  return (Number(kib) * 1024) / 1e6
}

/** The number of bytes that a process has read so far, from files, pipes and sockets. */
export function readBytesOf({ pid }: LivingProcess): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
}

function isDescendant(living: LivingProcess | null): boolean {
  return living !== null && (living.ppid === process.pid || isDescendant(readProcess(living.ppid)))
}

/** Returns an empty text if the process is gone, or belongs to another user. */
function readWorkingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

/** Returns an empty text if the process is gone. */
function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** Returns the process with a PID; null if there is none, or if it is a zombie. */
export function readProcess(pid: number): LivingProcess | null {
  try {
    // The second field is the name in parentheses, which may contain spaces and parentheses. The fields after it begin with the state.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = '', ppid = ''] = fields
    if (state === 'Z' || state === 'X') return null
    return {
      pid,
      ppid: Number(ppid),
      state,
      startTicks: Number(fields[19]),
      argv: readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0'),
    }
  } catch {
    return null
  }
}
