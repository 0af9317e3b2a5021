// The lines in which a command states what it waits for: for what, since when, and what ends the wait. Pure.
// Test: test/tables/cli/print/wait-text.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import type { WhyView } from '../../api/views/heartbeat.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { formatClock, formatCount } from '../../faces/format.ts'
import { findBlock, type Block, type BlockableProcess } from './blocked.ts'
import { isPlainCommandView, processTitle } from './process-text.ts'
import { oneLine } from './text.ts'

/** What a command waits for. */
export interface Wait {
  /** identifies the wait: it changes when the command waits for something else, not with every change of the texts */
  readonly key: string
  /** such as `PID 5 (docs) to end` */
  readonly what: string
  /** wall ms; absent: since the command began to wait */
  readonly since?: number
  /** what ends the wait, such as `` `reeve stop 5` ends it `` */
  readonly ends: string
}

/** Returns `waits since 13:05:02 for PID 5 (docs) to end; …`. `begunAt`: when the command began to wait, in wall ms. */
export function waitLine({ what, since, ends }: Wait, begunAt: number, now: number): string {
  return oneLine(`waits since ${formatClock(new Date(since ?? begunAt).toISOString(), now)} for ${what}; ${ends}`)
}

/** Joins several waits: the first, and the number of the others. Returns null if there is none. */
export function joinWaits(waits: readonly Wait[]): Wait | null {
  const [first, ...others] = waits
  if (!first || others.length === 0) return first ?? null
  return { ...first, key: waits.map(({ key }) => key).join(' '), what: `${first.what} (and ${formatCount(others.length, 'more wait')})` }
}

export type WaitingView = Pick<
  ProcessView,
  'uuid' | 'pid' | 'name' | 'status' | 'holds' | 'asks' | 'note' | 'driver' | 'format' | 'interactive' | 'why' | 'since'
>

/** What the user waits for a process to become. `exited`: its end. */
export type WaitGoal = 'exited' | 'ready' | 'suspended' | 'waiting' | 'done'

/** The reasons of a wait that only the user or another process can end. */
const IDLE_KINDS: ReadonlySet<WhyView['kind']> = new Set<WhyView['kind']>(['message'])
/** The reasons that are work, which ends by itself. Their texts change with each call, so they are not shown. */
const BUSY_KINDS: ReadonlySet<WhyView['kind']> = new Set<WhyView['kind']>(['model', 'tool', 'work', 'start', 'child', 'node', 'task'])

const GOAL_TEXTS: Readonly<Record<WaitGoal, string>> = {
  exited: 'end',
  ready: 'be ready',
  suspended: 'be suspended',
  waiting: 'ask you',
  done: 'be done',
}

/** Returns the wait for a process that is suspended or asks. */
export function blockWait(process: BlockableProcess, { next }: Block): Wait {
  const title = processTitle(process)
  const since = process.holds.map(({ at }) => at).toSorted()[0] ?? process.asks[0]?.at
  return {
    key: `${process.uuid} ${process.status} ${since}`,
    what: process.status === 'suspended' ? `${title} to go on` : `an answer to ${title}`,
    ...(since === undefined ? {} : { since: Date.parse(since) }),
    ends: `${next}, \`reeve stop ${process.pid}\` ends it`,
  }
}

/** Returns the wait of a command that waits until a process reaches one of the goals. */
export function processWait(process: WaitingView, goals: readonly WaitGoal[] = ['exited']): Wait {
  const { uuid, pid, why, status } = process
  const title = processTitle(process)
  const goal = goals.map((each) => GOAL_TEXTS[each]).join(' or ')
  const since = Date.parse(why?.since ?? process.since)
  const stop = `\`reeve stop ${pid}\` ends it`
  const block = findBlock(process)
  if (block) return blockWait(process, block)
  const impossible = impossibleText(process, goals)
  if (impossible !== null)
    return { key: `${uuid} impossible`, what: `${title} to ${goal}, but ${impossible}`, since, ends: `its end, or ${stop}` }
  if (why && IDLE_KINDS.has(why.kind))
    return {
      key: `${uuid} ${why.kind}`,
      what: `${title} to ${goal}, but it ${why.text}`,
      since,
      ends: `\`reeve send ${pid} TEXT\` gives it one, ${stop}`,
    }
  if (!why || BUSY_KINDS.has(why.kind))
    return { key: `${uuid} ${status}`, what: `${title} to ${goal}: it is ${status}`, since, ends: `it ends by itself, or ${stop}` }
  const then = why.until === undefined ? 'it goes on by itself' : `it goes on by itself at ${formatClock(why.until, since)}`
  return {
    key: `${uuid} ${why.kind} ${why.until ?? ''}`,
    what: `${title} to ${goal}: ${why.text}`,
    since,
    ends: why.kind === 'stop' || why.kind === 'guardian' ? `\`reeve kill -s KILL ${pid}\` ends it now` : `${then}, or ${stop}`,
  }
}

/** Returns why the process can never meet one of the goals; null if it can. */
function impossibleText(process: WaitingView, goals: readonly WaitGoal[]): string | null {
  if (!goals.every((goal) => goal === 'ready' || goal === 'waiting')) return null
  if (isPlainCommandView(process)) return 'a plain command neither becomes ready nor asks'
  if (goals.includes('waiting') || !goals.includes('ready')) return null
  return CAPABILITIES[process.driver].supervisesChildren ? `a ${process.driver} takes no messages` : null
}

/**
 * Whether a process is suspended or asks, and continues only after the user has done something. A limit of a provider with a known end and
 * a restart of the daemon end by themselves.
 */
export function needsUserToContinue(
  process: Pick<WaitingView, 'status' | 'asks' | 'holds' | 'why' | 'uuid' | 'pid' | 'name' | 'note' | 'driver'>,
): boolean {
  const block = findBlock(process)
  if (!block) return false
  if (process.status !== 'suspended') return true
  if (process.why?.kind === 'budget-room' || process.why?.kind === 'drain') return false
  return !process.holds.every(({ reason, wake }) => reason === 'daemon-shutdown' || (reason === 'rate-limit' && wake === true))
}
