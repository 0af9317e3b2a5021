// Who has a program's pipe open. A proxy that stands between a program and us holds the same pipes and hides that the program
// has closed them; so somebody has to look. Reads only. Tests: test/processes/contain-pipes.test.ts.
import { readdirSync, readlinkSync } from 'node:fs'

/** One of a program's output streams. */
export interface Output {
  /** what the system calls the pipe, in a process's list of open files; no two have the same */
  readonly link: string | null
  readonly closedPipe: boolean
  /** takes what is in it and ends it */
  finish(): void
}

/** What the system calls the file that we have open under this number. */
export function linkOf(fd: number): string | null {
  return readLink(`/proc/self/fd/${fd}`)
}

/** Ends the outputs of living programs that nobody holds any more but their proxies: seen so at two looks, as what is handed on meanwhile could be missed by one. */
export class Unheld {
  readonly #suspects = new Set<Output>()

  /** `members` are asked for only if there is an output to look at */
  look(outputs: Iterable<Output>, members: () => readonly number[]): void {
    let pids: readonly number[] | null = null
    for (const output of outputs) {
      if (output.closedPipe || output.link === null) continue
      pids ??= members()
      const { link } = output
      if (pids.some((pid) => holds(pid, link))) this.#suspects.delete(output)
      else if (this.#suspects.delete(output)) output.finish()
      else this.#suspects.add(output)
    }
  }
}

/** Yes, also for one that may not be looked at. The usual places come first. */
function holds(pid: number, link: string): boolean {
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
    return null
  }
}
