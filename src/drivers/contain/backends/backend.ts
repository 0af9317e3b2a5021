// The interface of a containment kind, which cgroup.ts, pidns.ts and group.ts implement. All methods but `prepare` are
// synchronous and inspect the current state, so that no decision uses a stale result. Waiting is in stop-ladder.ts and
// containment.ts. Types only. Tests: test/processes/contain.
import type { OsHandle } from '../../../kernel/model/process.ts'
import type { OsSignal } from '../proc/handle.ts'
import type { OutputPipe } from '../proc/pipe-holders.ts'
import type { WaitOptions } from '../stop-ladder.ts'
import type { BackendUsage } from '../proc/usage.ts'

export interface ContainmentBackend {
  /** how callers wait for a change of the members */
  readonly waiting: WaitOptions
  /** Calls `check` after programs have ended, when a check is cheap: at once, or soon in one batch with other containments. */
  scheduleCheck(check: () => void): void
  /** creates what a program needs to enter; called right before each `enter` */
  prepare(): Promise<void>
  /** returns the command line that runs the program in `cwd`, inside of the containment from its first instruction */
  enter(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]]
  /** registers a program that was spawned in the same turn of the event loop */
  admit(handle: OsHandle): void
  /** registers a program's output pipes, for kinds that must check whether a process still holds them open */
  trackOutputs(handle: OsHandle, outputs: readonly OutputPipe[]): void
  /** called when a program has ended; its children may live on */
  programEnded(handle: OsHandle): void
  /** checks the handle's identity, then signals the program's group; false if the program is gone or its PID was reused */
  signalProgram(handle: OsHandle, signal: OsSignal): boolean
  /** PIDs of living members, without zombies */
  members(): readonly number[]
  /** whether no member is left */
  isEmpty(): boolean
  /**
   * Returns the CPU time of all members so far, and the memory of the living ones. Null if the system has no figures. `all` searches for
   * new members first, `known` skips this expensive search, and `none` means that no member is left.
   */
  measure(memberScope: 'all' | 'known' | 'none'): BackendUsage | null
  /** Limits the memory of all members together; null removes the limit. A kind that cannot enforce a limit only measures more exactly. */
  limitMemory(bytes: number | null): void
  /** signals each member separately */
  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void
  /** kills all members */
  kill(): void
  /** freezes all members */
  freeze(): void
  isFrozen(): boolean
  /** continues all members */
  thaw(): void
  /** removes the containment's own resources once no member is left; false if the caller must try again */
  remove(): boolean
}
