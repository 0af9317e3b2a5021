// What a kind of containment must be able to do; cgroup.ts, pidns.ts and group.ts are the three. All but `prepare` is
// synchronous and looks at the system as it is now, so that nothing is decided on an old look. What waits is in ladder.ts and containment.ts.
import type { OsHandle } from '../../kernel/types.ts'
import type { OsSignal } from './handle.ts'
import type { Output } from './holders.ts'
import type { Waiting } from './ladder.ts'
import type { CageUse } from './use.ts'

export interface Cage {
  readonly waiting: Waiting
  /** Calls back when it is a good time to look, after the programs have ended: at once, or soon together with others. */
  look(look: () => void): void
  /** makes what takes time to be made; right before each `enter` */
  prepare(): Promise<void>
  /** makes what is needed and says what to run, so that the program is inside, in `cwd`, from its first instruction */
  enter(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]]
  /** a program was spawned just now */
  admit(handle: OsHandle): void
  /** what it writes, for who has to look whether somebody still does */
  hears(handle: OsHandle, outputs: readonly Output[]): void
  /** it has ended; its children may live on */
  ended(handle: OsHandle): void
  /** signals the group of the program that this handle is of, after its identity was checked; false if it was stale or gone */
  signalProgram(handle: OsHandle, signal: OsSignal): boolean
  /** PIDs of living members, zombies left out */
  members(): readonly number[]
  isEmpty(): boolean
  /** what all that was ever inside has used, and what is in memory now; null where nobody tells. `known`: without a look at who came in since the last one, where that is dear; `none`: nobody is left */
  measure(how: 'look' | 'known' | 'none'): CageUse | null
  /** how much memory all together may have; who has no means to see to it only measures with more care. Null: as much as there is */
  limitMemory(bytes: number | null): void
  /** signals each member, one by one */
  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void
  kill(): void
  freeze(): void
  isFrozen(): boolean
  thaw(): void
  /** gives back what the cage itself is made of; only when it is empty. False if it has to be tried again */
  remove(): boolean
}
