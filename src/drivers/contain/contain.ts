// Containment: what owns the programs of one incarnation. The only folder that spawns or signals.
// Owns the contract of all kinds; cgroup.ts, pidns.ts and group.ts keep it. Tests: test/processes/contain*.test.ts.
import type { ContainmentIntent, ContainmentKind, OsHandle } from '../../kernel/types.ts'
import type { Readable, Writable } from 'node:stream'
import type { CageUse } from './use.ts'

/** How a program is to be started. No shell: `argv` is what runs. */
export interface SpawnRequest {
  readonly argv: readonly string[]
  readonly cwd: string
  /** the whole environment; the containment adds its marker and TMPDIR */
  readonly env: Readonly<Record<string, string>>
  /** `pipe` keeps stdin open for writing; else it is /dev/null */
  readonly stdin: 'null' | 'pipe'
}

/** How a program ended, as the operating system says. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
}

/** One program that was started inside a containment. */
export interface Program {
  readonly handle: OsHandle
  /** real pipes, not sockets. They end when every holder has closed them, or when `exited` and `drainMs` have passed */
  readonly stdout: Readable
  readonly stderr: Readable
  readonly stdin: Writable | null
  /** resolves once when the program itself has ended (its children may live on, owned by the containment) */
  readonly exited: Promise<ProgramExit>
  /** signals this program's group, after its identity was checked; false if it was stale or gone */
  signal(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): boolean
}

export interface Ladder {
  /** the signal to begin with; SIGKILL skips the grace */
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'
  readonly graceMs: number
  /** called once, when the grace is over and the kill is about to begin */
  readonly onKill?: () => void
}

/** `stopped` within the grace · `killed` after it · `gone` before anything was sent · `stale`: not ours any more · `survived`: members are left · `unowned`: no handle is known */
export type StopOutcome = 'stopped' | 'killed' | 'gone' | 'stale' | 'survived' | 'unowned'

export interface StopResult {
  readonly outcome: StopOutcome
  /** PIDs that still live; empty unless `survived` */
  readonly survivors: readonly number[]
}

/** What the programs of a containment have used since it was made; memory is as it is now. */
export interface Metered extends CageUse {
  /** what they wrote to stdout and stderr, as far as it was read */
  readonly outputBytes: number
}

/** Owns every program of one incarnation. */
export interface Containment {
  readonly intent: ContainmentIntent
  /** Starts a program inside. Errors: `COMMAND_NOT_FOUND` (127), `NOT_RUNNABLE` (126), `INVALID`; `NOT_FOUND` once it is disposed of. Nothing is left of one that cannot be started. */
  spawn(request: SpawnRequest): Promise<Program>
  /** PIDs of living members (zombies do not count) */
  members(): Promise<readonly number[]>
  /** What all its programs have used so far, also those that have ended, and at the end what they had; null if there was none, or nobody tells. `known`: as far as that is told without a dear look at who came in meanwhile. */
  measure(how?: 'look' | 'known'): Metered | null
  /** How much memory its programs may have together, where the system sees to it; null: as much as there is. */
  limitMemory(bytes: number | null): void
  /** resolves with the first program that is started */
  readonly used: Promise<void>
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** The stop ladder: signal + SIGCONT, grace, kill of the whole containment, wait until it is empty (5 s at most). */
  stop(ladder: Ladder): Promise<StopResult>
  /** Kills what is left and removes the containment itself. Idempotent. */
  dispose(): Promise<StopResult>
}

/** Whether a kind works here, or the reason why not. */
export interface Probe {
  readonly kind: ContainmentKind
  readonly ok: boolean
  readonly detail: string
}

/** Makes containments of the strongest kind that works here, and ends what a dead daemon left. */
export interface Container extends AsyncDisposable {
  readonly kind: ContainmentKind
  /** what was tried at start, the strongest kind first */
  readonly probes: readonly Probe[]
  /** the intent for an incarnation: pure, so that it can be recorded before anything is made */
  plan(uuid: string, pid: number, kind: ContainmentKind | 'auto'): ContainmentIntent
  /** makes what the intent says. Errors: those of `checkOffline`, where its programs are to see no network */
  open(intent: ContainmentIntent, tmpDir: string, network?: 'off'): Promise<Containment>
  /** Errors: `INVALID`, with why the network cannot be taken from programs here. */
  checkOffline(): Promise<void>
  /** Ends all that an earlier daemon's incarnation left, by its intent and handle; checks identity before each signal. */
  recover(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult>
}
