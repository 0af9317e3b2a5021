// Results of the user's commands (setup, verify) that reeve runs for a crew. Types only. Crew facts store these
// results, so a field may be added, but no field may change its meaning. Test:
// test/tables/kernel/crew/decide/verify.test.ts.
import type { CommandEnd } from './words.ts'

/** The outcome of one command that reeve ran for a crew. */
export interface ShellCommandRun {
  readonly end: CommandEnd
  readonly code: number | null
  readonly signal: string | null
  readonly ms: number
  /** the last part of the command's output; for the end `unable`: the reason */
  readonly output: string
  /** number of processes that the command left behind and reeve killed */
  readonly left: number
}

/** The result of a verify command. */
export interface VerifyResult {
  readonly type: 'verified'
  /** the command line */
  readonly command: string
  readonly ran: ShellCommandRun
  /** a commit of the verified files, including uncommitted changes; null outside a repository */
  readonly commit: string | null
  readonly tree: string | null
  /** files that the command changed; reeve restored them */
  readonly changed: readonly string[]
}

/** The result of the setup of a member's worktree. */
export interface SetupResult {
  readonly type: 'setUp'
  /** null when the crew has no setup command */
  readonly command: string | null
  readonly ran: ShellCommandRun | null
  /** number of files copied into the worktree */
  readonly copied: number
  /** some of the files that were not copied, each with its reason */
  readonly skipped: readonly string[]
}
