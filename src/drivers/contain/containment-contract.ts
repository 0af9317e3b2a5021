// The contract of containment: a containment owns the programs of one incarnation. In the daemon, only the files of src/drivers/contain
// spawn and signal programs. containment.ts and manager.ts implement the contract for all kinds. A PID is one of the operating system here,
// except in `plan`. Types only.
// Tests: test/processes/contain.
import type { ContainmentIntent, OsHandle } from '../../kernel/model/process.ts'
import type { Readable, Writable } from 'node:stream'
import type { BackendUsage } from './proc/usage.ts'
import type { ContainmentKind } from '../../kernel/model/words.ts'

/** A program to start. No shell is involved: `argv` runs as it is. */
export interface SpawnRequest {
  readonly argv: readonly string[]
  readonly cwd: string
  /** the complete environment, to which the containment adds its marker and TMPDIR */
  readonly env: Readonly<Record<string, string>>
  /** `pipe` keeps stdin open for writing; `null` connects stdin to /dev/null. A text is all that the program can read from stdin */
  readonly stdin: 'null' | 'pipe' | { readonly text: string }
}

/** A program's exit status, as the operating system reports it. */
export interface ProgramExit {
  /** null if a signal ended the program */
  readonly code: number | null
  /** the signal that ended the program; null if it exited */
  readonly signal: string | null
}

/** A program that runs, or ran, inside a containment. */
export interface Program {
  readonly handle: OsHandle
  /** a real pipe, not a socket; it ends when every holder has closed it, or a short time after the exit */
  readonly stdout: Readable
  /** as `stdout` */
  readonly stderr: Readable
  readonly stdin: Writable | null
  /** resolves when the program itself has ended; its children may be alive in the containment */
  readonly exited: Promise<ProgramExit>
  /** checks the program's identity, then signals its process group; false if the program is gone or its PID was reused */
  signal(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): boolean
}

/** How to stop a containment. */
export interface Ladder {
  /** the first signal; SIGKILL skips the grace period */
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'
  readonly graceMs: number
  /** called once, after the grace period and before the kill */
  readonly onKill?: () => void
}

/**
 * The result of a stop. The members are all OS processes of the containment.
 * `stopped`: all members ended within the grace period.
 * `killed`: the last members were ended by SIGKILL.
 * `gone`: all members had ended before any signal was sent.
 * `stale`: another process has the PID now.
 * `survived`: members are still alive.
 * `unowned`: no handle was recorded, so nothing could be signalled.
 */
export type StopOutcome = 'stopped' | 'killed' | 'gone' | 'stale' | 'survived' | 'unowned'

export interface StopResult {
  readonly outcome: StopOutcome
  /** PIDs of processes that are still alive; empty unless the outcome is `survived` */
  readonly survivors: readonly number[]
}

/** The resources that a containment's programs have used since it was created. Memory is the current figure. */
export interface ContainmentUsage extends BackendUsage {
  /** the number of bytes read so far from stdout and stderr of all programs */
  readonly outputBytes: number
}

/** The incarnation's own API socket, mounted over the daemon's socket for the incarnation's programs. */
export interface ApiSocket {
  /** path of the incarnation's own socket */
  readonly socket: string
  /** path of the daemon's socket, over which the incarnation's socket is mounted */
  readonly over: string
  /** directory of all such sockets, hidden from programs */
  readonly dir: string
  /**
   * true if the process is expected to start programs. If the mount fails, `open` then rejects. For other processes, only `spawn`
   * rejects
   */
  readonly isNeeded: boolean
}

/** Owns every program of one incarnation. */
export interface Containment {
  readonly intent: ContainmentIntent
  /** the value of TMPDIR for the programs */
  readonly tmpDir: string
  /**
   * Starts a program inside of the containment. A failed start leaves nothing behind.
   * Errors: `COMMAND_NOT_FOUND` (127), `NOT_RUNNABLE` (126), `INVALID`; `NOT_FOUND` after disposal.
   */
  spawn(request: SpawnRequest): Promise<Program>
  /** PIDs of living members, without zombies */
  members(): Promise<readonly number[]>
  /**
   * Returns the resources that all programs have used so far, including ended ones; after disposal, the final figures. Null if no
   * program was started or the system has no figures. `all` searches for new members first; `known` skips this expensive search.
   */
  measure(memberScope?: 'all' | 'known'): ContainmentUsage | null
  /** Limits the memory of all programs together, where the system can enforce it. Null removes the limit. */
  limitMemory(bytes: number | null): void
  /** resolves when the first program is started */
  readonly firstStart: Promise<void>
  /** Freezes all programs. Errors: `TIMED_OUT`. */
  freeze(): Promise<void>
  /** Continues all programs. */
  thaw(): Promise<void>
  /** Runs the stop ladder: signal and SIGCONT, grace period, kill of all members. Waits at most 5 s until none is left. */
  stop(ladder: Ladder): Promise<StopResult>
  /** Kills all remaining members and removes the containment itself. Idempotent. */
  dispose(): Promise<StopResult>
}

/** Whether a kind of containment works on this machine. */
export interface Probe {
  readonly kind: ContainmentKind
  readonly ok: boolean
  /** the reason if the kind does not work, otherwise a remark */
  readonly detail: string
}

/** Opens containments of the strongest kind that works on this machine, and ends programs that a dead daemon left. */
export interface ContainmentManager extends AsyncDisposable {
  readonly kind: ContainmentKind
  /** the results of the probes at the start, the strongest kind first */
  readonly probes: readonly Probe[]
  /** computes the intent of an incarnation. Creates nothing, so that the intent can be recorded first */
  plan(uuid: string, pid: number, kind: ContainmentKind | 'auto'): ContainmentIntent
  /** opens the containment of an intent. Errors: those of `checkOffline` if `network` is `off`; those of `checkSocketMount` */
  open(intent: ContainmentIntent, tmpDir: string, network?: 'off', apiSocket?: ApiSocket): Promise<Containment>
  /** Checks that programs can run without a network. Errors: `INVALID` with the reason. */
  checkOffline(): Promise<void>
  /** Checks that the daemon's socket can be hidden from programs. Errors: `INVALID` with the reason. */
  checkSocketMount(): Promise<void>
  /**
   * Ends all programs that an incarnation of an earlier daemon left, found by its intent and handle. Checks each identity before a
   * signal.
   */
  recover(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult>
}
