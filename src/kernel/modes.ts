// How a process can go on, as its row says it: what each driver can do with what it told. Nothing is decided here: resuming and
// forking refuse by the same words. Test: test/tables/modes.test.ts.
import { goesOnFrom, isExternal, isPlainCommand } from './capabilities.ts'
import { forkObstacle } from './forking.ts'
import { isSuspended } from './status.ts'
import type { Process } from './types.ts'

/** Null: it can; else why not. */
export interface ResumeModes {
  readonly continue: string | null
  readonly fork: string | null
  readonly fromStep: { readonly from: number; readonly to: number } | null
  readonly rerun: string | null
}

export function resumeModes(process: Process): ResumeModes {
  const { spec, progress } = process
  const fork = forkObstacle(process)
  return {
    // Who is suspended is there as a whole: nothing has to be built from its history.
    continue: isSuspended(process) ? null : continueObstacle(process),
    fork,
    fromStep: fork === null && !isExternal(spec) ? { from: 0, to: progress.wholeStep } : null,
    rerun: rerunObstacle(process),
  }
}

export function continueObstacle(process: Process): string | null {
  const done = doneObstacle(process)
  if (done !== null) return done
  if (goesOnFrom(process) !== 'rerun') return null
  return `${isPlainCommand(process.spec) ? 'a command has no session' : `agent ${process.spec.agent} told no session`} to go on with; it can be run again with --rerun`
}

/** Neither goes on nor runs again: nobody is left in it, and nothing can be added. */
export function doneObstacle({ crew }: Process): string | null {
  return crew?.ending?.ended ? 'the crew is done, and its members are let go; start another one: `reeve crew up`' : null
}

function rerunObstacle(process: Process): string | null {
  const done = doneObstacle(process)
  if (done !== null) return done
  if (process.spec.driver === 'native') return 'a native agent goes on from its context'
  return isSuspended(process) ? 'it is suspended, and goes on where it is' : null
}
