// What the daemon is to do after a commit: data, in order. The kernel never acts. One exhaustive switch performs them
// (src/daemon/incarnations.ts). Test: the transcripts of test/tables.
import type { Job } from '../crew/types.ts'
import type { Ack } from './reports.ts'
import type { ErrorCode } from './errors.ts'
import type { ReplyTo } from './inputs.ts'
import type { Pid, Uuid } from './types.ts'

/** What a request answers. */
export type ReplyValue =
  /** of a call that was asked for: how long its answer may be, or why it may not begin */
  | { readonly type: 'ack'; readonly ack: Ack; readonly maxOutputTokens?: number | null; readonly reason?: string }
  /** `affected` processes; how many living children of an ended one go on; a remark */
  | { readonly type: 'done'; readonly uuid: Uuid; readonly affected: number; readonly childrenGoOn: number; readonly note: string | null }

export type Effect =
  | { readonly type: 'reply'; readonly to: ReplyTo; readonly value: ReplyValue }
  | { readonly type: 'refuse'; readonly to: ReplyTo; readonly code: ErrorCode; readonly message: string; readonly details?: Readonly<Record<string, unknown>>; readonly hint?: string }
  /** plan its containment and come back with `start` */
  | { readonly type: 'start'; readonly uuid: Uuid; readonly pid: Pid }
  | { readonly type: 'driver.start'; readonly uuid: Uuid; readonly pid: Pid }
  | { readonly type: 'driver.deliver'; readonly uuid: Uuid; readonly pid: Pid; readonly message: string; readonly seq: number; readonly turn: number }
  | { readonly type: 'driver.proceed'; readonly uuid: Uuid; readonly pid: Pid; readonly turn: number }
  | { readonly type: 'driver.answer'; readonly uuid: Uuid; readonly pid: Pid; readonly id: string; readonly option: string | null; readonly text: string | null }
  | { readonly type: 'driver.interrupt'; readonly uuid: Uuid; readonly pid: Pid }
  | { readonly type: 'driver.pause'; readonly uuid: Uuid; readonly pid: Pid; readonly freeze: boolean }
  | { readonly type: 'driver.unpause'; readonly uuid: Uuid; readonly pid: Pid }
  | { readonly type: 'driver.stop'; readonly uuid: Uuid; readonly pid: Pid; readonly signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'; readonly graceMs: number }
  /** put the process of a run's node together, and come back with `composeNode` */
  | { readonly type: 'compose.start'; readonly uuid: Uuid; readonly pid: Pid; readonly node: string; readonly ask: number }
  /** do it for the crew, and come back with `job_done`; it may be asked again */
  | { readonly type: 'crew.job'; readonly uuid: Uuid; readonly pid: Pid; readonly job: Job }
  /** read the rows of these, who have ended, and come back with `retire` for each */
  | { readonly type: 'crew.retire'; readonly uuid: Uuid; readonly pid: Pid; readonly members: readonly Uuid[] }
  /** read what waits for these, and come back with `crewMoved`; `all`: they are all that the receiver comes after, and the crew */
  | { readonly type: 'crew.move'; readonly uuid: Uuid; readonly pid: Pid; readonly from: readonly Uuid[]; readonly to: Uuid | null; readonly all: boolean }
  | { readonly type: 'checkpoint'; readonly uuid: Uuid; readonly pid: Pid }
  /** the release order's steps that are actions; see release.ts */
  | { readonly type: 'release'; readonly action: ReleaseAction; readonly uuid: Uuid; readonly pid: Pid }

export const RELEASE_ORDER = ['orphans', 'cancel', 'await', 'channel', 'context', 'reap', 'remove'] as const

/** `orphans` and `reap` are facts, the others are done by the daemon. */
export type ReleaseAction = Exclude<(typeof RELEASE_ORDER)[number], 'orphans' | 'reap'>
