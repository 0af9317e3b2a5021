// Exit statuses: the code, the reason in words and, apart from them, the cause. The first cause wins.
// Owns the table of codes. Test: test/tables/exit.test.ts.
import { SIGNALS } from './signals.ts'
import type { Report } from './reports.ts'
import type { Cause, ExitStatus, Sender, Signal } from './types.ts'

export const COMPLETED: ExitStatus = { code: 0, reason: 'completed', cause: 'agent' }
/** Let go after its work. */
export const RETIRED: ExitStatus = { code: 0, reason: 'retired', cause: 'agent' }
export const INTERRUPTED: ExitStatus = { code: 1, reason: 'interrupted', cause: 'daemon' }
export const MAX_STEPS: ExitStatus = { code: 1, reason: 'max steps exceeded', cause: 'limit' }
export const TIMED_OUT: ExitStatus = { code: 1, reason: 'timed out', cause: 'limit' }

function causeOf(by: Sender): Cause {
  if (by === 'user') return 'person'
  return by === 'system' ? 'daemon' : 'parent'
}

/** The end by a signal of ours. A suspended process ends with code 1, as its context is cancelled while it is paused. */
export function signalExit(signal: Signal, by: Sender, suspended: boolean): ExitStatus {
  const cause = causeOf(by)
  if (suspended) return { code: 1, reason: 'context cancelled while paused', signal, cause }
  return { code: 128 + SIGNALS[signal].posix, reason: `${signal} from ${by}`, signal, cause }
}

export function failed(error: string): ExitStatus {
  return { code: 1, reason: error, error, cause: 'agent' }
}

/** POSIX numbers of what the operating system may end a program with. */
const OS_SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10,
  SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGSTKFLT: 16, SIGXCPU: 24, SIGXFSZ: 25,
  SIGVTALRM: 26, SIGPROF: 27, SIGIO: 29, SIGPWR: 30, SIGSYS: 31,
}

/** It met a rate limit, and whoever begins it again meets it again until then. */
function limited({ resumeAt }: Extract<Report, { type: 'exited' }>): Partial<ExitStatus> {
  return resumeAt === undefined ? {} : { cause: 'limit', resumeAt }
}

/** How an agent ended when nobody here asked it to. */
export function naturalExit(report: Extract<Report, { type: 'exited' }>): ExitStatus {
  // Exit codes lie: what failed by its own words has not completed.
  if (report.error !== undefined) return { ...failed(report.error), code: report.code || 1, ...limited(report) }
  if (report.osSignal !== null) {
    return { code: 128 + (OS_SIGNALS[report.osSignal] ?? 0), reason: `ended by ${report.osSignal}`, cause: 'agent' }
  }
  if (report.code === 0) return COMPLETED
  if (report.code === null) return { code: 1, reason: 'unexpected exit', cause: 'agent' }
  return { code: report.code, reason: report.reason ?? `exit code ${report.code}`, cause: 'agent' }
}
