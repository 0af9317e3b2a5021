// Sets up the worktree of a new worker before its first turn: copies files (`copy:`) and runs a command (`setup:`). A worker whose setup
// fails is lost, with the reason. This is not a failed attempt. Test: test/tables/kernel/crew/decide/worktree-setup.test.ts.
import { hasPassed, commandResultText } from './verify-results.ts'
import { isWorker } from '../state/queries.ts'
import { haltCrew } from './halt.ts'
import { dismissForLostFiles } from './lost-files.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import type { CrewDraft } from './draft.ts'
import type { Member } from '../../model/crew/crew.ts'
import type { Job, JobResult } from '../../model/crew/facts.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/**
 * Whether the worktree of the member still needs its setup. Setup runs once per worktree, which a worker keeps when it is stopped and
 * resumed.
 */
export function needsSetup({ git, setup, copy = [] }: CrewSpec, member: Member): boolean {
  return git !== null && isWorker(member) && !member.setUp && (setup !== undefined || copy.length > 0)
}

export function handleSetupResult(draft: CrewDraft, { member: id }: Extract<Job, { type: 'setup' }>, result: JobResult): void {
  const member = draft.findMember(id)
  if (member?.state !== 'on' || member.setUp) return
  if (result.type !== 'setUp') return failSetup(draft, id, unexpectedResultText(result))
  const { type: _, ...details } = result
  const { command, ran } = result
  const ok = ran === null || hasPassed(ran)
  draft.emit({ type: 'crew.setup', member: id, ok, ...details })
  if (ok || ran === null || command === null) return
  const lastLine = ran.output.trim().split('\n').at(-1) ?? ''
  failSetup(draft, id, `${commandResultText({ command, ran })}${lastLine === '' ? '' : `: ${lastLine}`}`)
}

/**
 * Dismisses a worker whose setup failed, as lost. A crew of the engine halts after two failures without any success, until the user
 * repairs the cause.
 */
function failSetup(draft: CrewDraft, id: Member['id'], reason: string): void {
  dismissForLostFiles(draft, id, reason, `${SETUP_FAILED_PREFIX}${reason}`)
  const { members } = draft.crew
  const failedMembers = members.filter(({ leave }) => leave?.how === 'lost' && leave.reason.startsWith(SETUP_FAILED_PREFIX))
  if (draft.spec.coordinator === 'engine' && failedMembers.length >= MAX_FAILED_SETUPS && !members.some((member) => member.setUp))
    haltCrew(draft, `no worktree can be set up: ${reason}`)
}

/** the beginning of the reason of each member that was lost in its setup */
const SETUP_FAILED_PREFIX = 'setup failed: '
/** number of failed setups after which a crew halts, if no setup has succeeded */
const MAX_FAILED_SETUPS = 2
