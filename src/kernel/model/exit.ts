// Exit statuses: a code, a reason as text, and a cause, which does not follow from the code. Has the exits of the kernel, and those of
// agents that end by themselves. Test: test/tables/kernel/model/exit.test.ts.
import { SIGNAL_TABLE } from './signals.ts'
import type { Report } from './reports.ts'
import type { ExitStatus } from './process.ts'
import type { Sender } from './ids.ts'
import type { Cause, Signal } from './words.ts'

export const COMPLETED_EXIT: ExitStatus = { code: 0, reason: 'completed', cause: 'agent' }
/** The exit of a crew member that was retired after its work. */
export const RETIRED_EXIT: ExitStatus = { code: 0, reason: 'retired', cause: 'agent' }
export const INTERRUPTED_EXIT: ExitStatus = { code: 1, reason: 'interrupted', cause: 'daemon' }
export const MAX_STEPS_EXIT: ExitStatus = { code: 1, reason: 'max steps exceeded', cause: 'limit' }
export const TIMED_OUT_EXIT: ExitStatus = { code: 1, reason: 'timed out', cause: 'limit' }

function causeOf(by: Sender): Cause {
  if (by === 'user') return 'person'
  return by === 'system' ? 'daemon' : 'parent'
}

/** The exit of a process that a signal of the kernel ends. A suspended process exits with code 1. */
export function signalExit(signal: Signal, by: Sender, isSuspended: boolean): ExitStatus {
  const cause = causeOf(by)
  if (isSuspended) return { code: 1, reason: 'context cancelled while paused', signal, cause }
  return { code: 128 + SIGNAL_TABLE[signal].posix, reason: `${signal} from ${by}`, signal, cause }
}

export function failedExit(error: string): ExitStatus {
  return { code: 1, reason: error, error, cause: 'agent' }
}

/** The signals that may end a program, with their numbers on Linux, as shells add them to 128. */
const OS_SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGIO: 29,
  SIGPWR: 30,
  SIGSYS: 31,
}

/** The fields of an exit that a rate limit or a refused account caused. */
function providerLimitOf({ resumeAt, account }: Extract<Report, { type: 'exited' }>): Partial<ExitStatus> {
  if (account) return { account }
  return resumeAt === undefined ? {} : { cause: 'limit', resumeAt }
}

/** True when a rate limit or a refused account ended the process. Its work has not failed, so it is held. */
export function isProviderLimited({ resumeAt, account }: ExitStatus): boolean {
  return resumeAt !== undefined || account === true
}

/** The exit of an agent that ended without a request of the kernel. */
export function naturalExit(report: Extract<Report, { type: 'exited' }>): ExitStatus {
  // An exit code of 0 does not count as success when the driver reports an error.
  if (report.error !== undefined) return { ...failedExit(report.error), code: report.code || 1, ...providerLimitOf(report) }
  if (report.osSignal !== null) {
    return { code: 128 + (OS_SIGNALS[report.osSignal] ?? 0), reason: `ended by ${report.osSignal}`, cause: 'agent' }
  }
  if (report.code === 0) return COMPLETED_EXIT
  if (report.code === null) return { code: 1, reason: 'unexpected exit', cause: 'agent' }
  return { code: report.code, reason: report.reason ?? `exit code ${report.code}`, cause: 'agent' }
}
