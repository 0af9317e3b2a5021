// The ways to resume a process, according to its row and its driver. Lists show them, and a resume is refused with the same texts.
// Test: test/tables/kernel/decide/resume-modes.test.ts.
import { CAPABILITIES, resumeSource, isExternal, isPlainCommand, needsInput } from '../model/capabilities.ts'
import { forkObstacle } from './fork.ts'
import { isSuspended } from '../model/status.ts'
import type { Process } from '../model/process.ts'

/** The modes of a resume. Null: the mode is possible; a text: the reason why not. */
export interface ResumeModes {
  readonly continue: string | null
  readonly fork: string | null
  /** the steps that a fork can continue from; null: none can be chosen */
  readonly fromStep: { readonly from: number; readonly to: number } | null
  readonly rerun: string | null
}

const INPUT_LOST = 'its input was not recorded, so it cannot run again'

/** The possible modes of a resume of this process. */
export function resumeModes(process: Process): ResumeModes {
  const { spec, progress } = process
  const fork = forkObstacle(process)
  return {
    // A suspended process continues as it is, and needs nothing from its history.
    continue: isSuspended(process) ? null : continueObstacle(process),
    fork,
    fromStep: fork === null && !isExternal(spec) ? { from: 0, to: progress.wholeStep } : null,
    rerun: rerunObstacle(process),
  }
}

/** Why a process cannot continue from its history; null: it can. */
export function continueObstacle(process: Process): string | null {
  const crewObstacle = finishedCrewObstacle(process)
  if (crewObstacle !== null) return crewObstacle
  if (resumeSource(process) !== 'rerun') return null
  const problem = `${isPlainCommand(process.spec) ? 'a command has no session' : `agent ${process.spec.agent} reported no session`} to continue`
  return needsInput(process) ? `${problem}; ${INPUT_LOST}` : `${problem}; --rerun runs it again`
}

/** Why a finished crew can neither continue nor run again; null: the process is not a finished crew. */
function finishedCrewObstacle({ crew }: Process): string | null {
  return crew?.ending?.ended
    ? 'the crew is done, and its members have left; `reeve crew up` with the same name and tasks takes over the finished tasks'
    : null
}

/** Why a process cannot start over; null: it can. */
export function rerunObstacle(process: Process): string | null {
  const crewObstacle = finishedCrewObstacle(process)
  if (crewObstacle !== null) return crewObstacle
  if (CAPABILITIES[process.spec.driver].recordsContext)
    return 'a native agent continues from its context: resume it without --rerun, or start over with --fork --from-step 0'
  if (isSuspended(process)) return 'it is suspended, and continues where it is'
  return process.spec.input ? INPUT_LOST : null
}
