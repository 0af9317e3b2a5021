// What an action costs, as text: all of it for `--dry-run`, and in one line after the action. Adds nothing to what the daemon reported.
// Pure. Test: test/tables/cli/print/details/stakes-text.test.ts.
import type { InFlightView, StakesView } from '../../../api/views/stakes.ts'
import { formatCount, formatElapsed } from '../../../faces/format.ts'
import { processTitle } from '../process-text.ts'
import { oneLine } from '../text.ts'

/** the width of the labels of rows */
const LABEL_COLUMNS = 11
/** the greatest number of open calls or processes that a line names */
const MAX_NAMED = 5

const BECOMES: Readonly<Record<InFlightView['becomes'], string>> = {
  repeated: 'a resume makes it again',
  'asked again': 'a resume asks again',
  'not run': 'it has not begun, and will not run',
  interrupted: 'interrupted; it may or may not have happened',
  finishes: 'it finishes first',
  'stands still': 'it is frozen',
  'goes on': 'it goes on',
}

const EFFECTS: Readonly<Record<StakesView['action'], string>> = {
  stop: 'would end',
  kill: 'would be killed',
  pause: 'would be paused',
  resume: 'would be resumed',
  remove: 'would be removed',
}

/** Returns all that an action would cost, as lines. `now`: wall ms. */
export function stakesLines(stakes: StakesView, now: number): string[] {
  const { action, refused, inFlight, unrecorded, unmerged, task, run, restart, notes } = stakes
  if (refused !== null) return [`${processTitle(stakes)}: refused, because ${oneLine(refused)}`]
  const rows: (readonly [string, string])[] = [
    ...inFlight.map((call) => ['in flight', `${callText(call, now)}: ${BECOMES[call.becomes]}`] as const),
    ...(unrecorded && unrecorded.files > 0
      ? [
          [
            'files',
            `${formatCount(unrecorded.files, 'file')} not ${action === 'remove' ? 'committed' : 'recorded'}, +${unrecorded.added} -${unrecorded.removed}${filesEnd(stakes)}`,
          ] as const,
        ]
      : []),
    ...unmerged.map(
      ({ branch, commits }) => ['branch', `${branch} has ${formatCount(commits, 'commit')} that no other branch has`] as const,
    ),
    ...messagesText(stakes).map((text) => ['messages', text] as const),
    ...childrenTexts(stakes).map((text) => ['children', text] as const),
    ...(task ? [['task', taskText(task)] as const] : []),
    ...(run && run.blocks.length > 0 ? [['run', `${listOf(run.blocks)} cannot start any more`] as const] : []),
    ...(restart === 'comes back' ? [['restart', 'it is started again'] as const] : []),
    ...(action === 'remove' ? [] : [['kept', listOf(keptTexts(stakes)) || 'nothing to continue'] as const]),
    ...notes.map((note) => ['note', oneLine(note)] as const),
  ]
  return [
    `${processTitle(stakes)} ${EFFECTS[action]}`,
    ...rows.map(([label, text], index) => `  ${(rows[index - 1]?.[0] === label ? '' : label).padEnd(LABEL_COLUMNS)}${text}`),
  ]
}

/** Returns what an end has cost, as one line; null if nothing was lost or kept. `now`: wall ms of the request. */
export function stakesSummary(stakes: StakesView, now: number): string | null {
  const { inFlight, messagesLost, task, run, kept } = stakes
  const hasSteps = kept.step !== null
  const lost = inFlight.filter(({ becomes, effect }) => becomes === 'interrupted' && effect !== null)
  const notRun = inFlight.filter(({ unbegun }) => unbegun)
  const parts = [
    ...(lost.length > 0 ? [`interrupted: ${namesOf(lost.map((call) => callText(call, now)))}`] : []),
    ...(notRun.length > 0 ? [`not run: ${namesOf(notRun.map(({ what }) => oneLine(what)))}`] : []),
    ...(messagesLost > 0 ? [`${formatCount(messagesLost, 'message')} lost`] : []),
    ...(task ? [`task ${taskText(task)}`] : []),
    ...(run && run.blocks.length > 0 ? [`cannot start any more: ${namesOf(run.blocks)}`] : []),
    ...(hasSteps ? [`kept: ${listOf(keptTexts(stakes))}`] : []),
  ]
  return parts.length === 0 ? null : `  ${parts.join('; ')}`
}

function callText({ what, since, unbegun }: InFlightView, now: number): string {
  if (unbegun) return `${oneLine(what)} (not begun)`
  return `${oneLine(what)}${since === null ? '' : `, for ${formatElapsed(now - Date.parse(since))}`}`
}

function filesEnd({ kept, action }: StakesView): string {
  if (kept.salvage !== null) return `; they are saved to ${kept.salvage}`
  return kept.worktree === null || action === 'pause' || action === 'resume' ? '' : '; they stay in the worktree'
}

function messagesText({ queue, messagesLost }: StakesView): string[] {
  if (queue === 0) return []
  return [
    `${formatCount(queue, 'message')} queued, ${messagesLost === 0 ? 'kept' : messagesLost === queue ? 'lost' : `${messagesLost} lost`}`,
  ]
}

function childrenTexts({ children: { goOn, end } }: StakesView): string[] {
  return [
    ...(end.length > 0 ? [`${end.length === 1 ? 'ends' : 'end'}: ${namesOf(end.map(processTitle))}`] : []),
    ...(goOn.length > 0 ? [`${goOn.length === 1 ? 'goes' : 'go'} on: ${namesOf(goOn.map(processTitle))}`] : []),
  ]
}

function taskText({ id, becomes, worker }: NonNullable<StakesView['task']>): string {
  return `${id} becomes ${becomes.replaceAll('_', ' ')}${worker === null ? '' : ` (${worker})`}`
}

function keptTexts({ kept, pid, action }: StakesView): string[] {
  const canContinue = kept.resumable && (action === 'stop' || action === 'kill')
  return [
    ...(kept.step === null ? [] : [formatCount(kept.step, 'step')]),
    ...(kept.worktree === null ? [] : ['its worktree']),
    ...(canContinue ? [`\`reeve resume ${pid}\` continues`] : []),
  ]
}

function namesOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function listOf(parts: readonly string[]): string {
  return parts.join(', ')
}
