// Finds the processes that hold a program's pipe open. A proxy between a program and the daemon holds the same pipes, which hides
// that the program has closed them. This check detects such a program. Reads only. Tests: test/processes/contain/pipes.test.ts.
import { readdirSync, readlinkSync } from 'node:fs'

/** An output stream of a program. */
export interface OutputPipe {
  /** the pipe's unique name in the lists of open files; null if unknown */
  readonly link: string | null
  /** whether our descriptor of the pipe is closed */
  readonly isPipeClosed: boolean
  /** reads the remaining data from the pipe and ends the stream */
  finish(): void
}

/** Returns the system's name of the pipe behind one of our file descriptors; null if unknown. */
export function pipeLinkOf(fd: number): string | null {
  return readLink(`/proc/self/fd/${fd}`)
}

/**
 * Ends outputs of living programs that only their proxies still hold open. Two checks must agree, because one check could miss a
 * descriptor that is being passed on.
 */
export class UnheldOutputs {
  readonly #suspects = new Set<OutputPipe>()

  /** Checks the outputs. Calls `members` only if there is an output to check. */
  check(outputs: Iterable<OutputPipe>, members: () => readonly number[]): void {
    let pids: readonly number[] | null = null
    for (const output of outputs) {
      if (output.isPipeClosed || output.link === null) continue
      pids ??= members()
      const { link } = output
      if (pids.some((pid) => holdsOpen(pid, link))) this.#suspects.delete(output)
      else if (this.#suspects.delete(output)) output.finish()
      else this.#suspects.add(output)
    }
  }
}

/** Whether a process holds the pipe open. True also if its descriptors may not be read. The usual descriptors are checked first. */
function holdsOpen(pid: number, link: string): boolean {
  const dir = `/proc/${pid}/fd`
  if (['1', '2'].some((fd) => readLink(`${dir}/${fd}`) === link)) return true
  try {
    return readdirSync(dir).some((fd) => readLink(`${dir}/${fd}`) === link)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    // The descriptor was closed, or its process has ended.
    return null
  }
}
