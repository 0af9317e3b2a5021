// What users record about a process, and an agent about itself: pin, name, labels, and the needs that were seen or put off. The process
// may be alive or dead. Must not change what the agent does. Test: test/tables/kernel/decide/annotate.test.ts.
import { KernelError } from '../model/errors.ts'
import { MAX_LABELS } from '../model/spec-parts.ts'
import { checkActsOnSelf } from './authorize.ts'
import { newestNeedAt } from '../state/attention.ts'
import { checkName } from './spawn.ts'
import type { InputOf, LabelChange } from '../model/inputs.ts'
import type { Sender } from '../model/ids.ts'
import type { Process } from '../model/process.ts'
import type { ProcessSpec } from '../model/process-spec.ts'
import type { DecisionDraft } from './draft.ts'

/** Pins or unpins a process, alive or dead. The garbage collection keeps pinned processes. Errors: NOT_FOUND, PERMISSION. */
export function pinProcess(draft: DecisionDraft, input: InputOf<'pin'>): void {
  const process = loadProcess(draft, input)
  checkActsOnSelf(input.by, process, 'pin')
  const isChange = process.pinned !== input.pinned
  if (isChange) draft.emit(process.uuid, { type: 'process.pinned', pinned: input.pinned, by: input.by })
  const note = isChange ? null : `the process was ${input.pinned ? 'already pinned' : 'not pinned'}`
  draft.replyDone(input.reply, process.uuid, { affected: isChange ? 1 : 0, note })
}

/**
 * Records that the user has seen the needs of a process, alive or dead. Records nothing if there is nothing new. Errors: NOT_FOUND,
 * PERMISSION.
 */
export function markSeen(draft: DecisionDraft, input: InputOf<'seen'>): void {
  const process = loadProcess(draft, input)
  checkActsOnSelf(input.by, process, 'seen mark')
  const isChange = newestNeedAt(process) > (process.seenAt ?? -1)
  if (isChange) draft.emit(process.uuid, { type: 'process.seen', by: input.by })
  draft.replyDone(input.reply, process.uuid, { affected: isChange ? 1 : 0, note: isChange ? null : 'there is nothing new' })
}

/**
 * Puts off the needs of a process, alive or dead, until a time. A null time shows them again. Errors: INVALID for a time that is over;
 * NOT_FOUND; PERMISSION.
 */
export function snoozeProcess(draft: DecisionDraft, input: InputOf<'snooze'>): void {
  const process = loadProcess(draft, input)
  const { by, until } = input
  checkActsOnSelf(by, process, 'snooze')
  if (until !== null && until <= draft.now.wall) throw new KernelError('INVALID', 'needs can be put off only until a time in the future')
  const isChange = until !== null || process.snooze !== undefined
  if (isChange) draft.emit(process.uuid, { type: 'process.snoozed', until, by })
  draft.replyDone(input.reply, process.uuid, { affected: isChange ? 1 : 0, note: isChange ? null : 'its needs are not put off' })
}

/**
 * Gives a process, alive or dead, a new name, or changes its labels. Errors: CONFLICT for the name of a living process; INVALID for the
 * name of a crew or member, and for too many labels; NOT_FOUND; PERMISSION.
 */
export function describeProcess(draft: DecisionDraft, input: InputOf<'describe'>): void {
  const process = loadProcess(draft, input)
  const { change, by } = input
  checkActsOnSelf(by, process, 'name' in change ? 'name' : 'labels')
  const isChange =
    'name' in change ? rename(draft, process, { name: change.name, by }) : relabel(draft, process, { change: change.labels, by })
  const note = isChange ? null : 'name' in change ? 'the process already has this name' : 'the process already has these labels'
  draft.replyDone(input.reply, process.uuid, { affected: isChange ? 1 : 0, note })
}

/** Returns false if the process already has the name. */
function rename(draft: DecisionDraft, process: Process, { name, by }: { readonly name: string; readonly by: Sender }): boolean {
  const { uuid, spec } = process
  const obstacle = renameObstacle(process)
  if (obstacle !== null) throw new KernelError('INVALID', obstacle)
  if (spec.name === name) return false
  checkName(draft, name)
  const from = spec.name === null ? {} : { from: spec.name }
  draft.emit(uuid, { type: 'process.described', what: 'name', spec: { ...spec, name }, by, ...from })
  return true
}

/** Returns false if the process already has these labels. */
function relabel(
  draft: DecisionDraft,
  { uuid, pid, spec }: Process,
  { change, by }: { readonly change: LabelChange; readonly by: Sender },
): boolean {
  const { labels: before = {}, ...rest } = spec
  if (Object.entries(change).every(([key, value]) => (before[key] ?? null) === value)) return false
  const labels = Object.fromEntries(
    Object.entries<string | null>({ ...before, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
  )
  const count = Object.keys(labels).length
  if (count > MAX_LABELS) throw new KernelError('INVALID', `process ${pid} would have ${count} labels; it can have ${MAX_LABELS}`)
  draft.emit(uuid, { type: 'process.described', what: 'labels', spec: { ...rest, ...(count === 0 ? {} : { labels }) } as ProcessSpec, by })
  return true
}

/** The reason why a process must keep its name; null: it can be renamed. */
function renameObstacle({ pid, spec: { name, member, crew } }: Process): string | null {
  if (member) return `process ${pid} is ${member.id} of a crew, and the crew addresses its members by their ids`
  const branch = crew?.git ? `its branch is ${crew.git.branch}, and ` : ''
  return crew ? `crew ${name ?? pid} keeps its name: ${branch}\`crew up\` finds its earlier tasks by the name` : null
}

/** Returns a process; an ended one is loaded into the draft. Errors: NOT_FOUND. */
function loadProcess(draft: DecisionDraft, { uuid, endedRow }: InputOf<'pin' | 'seen' | 'snooze' | 'describe'>): Process {
  const living = draft.get(uuid)
  if (living) return living
  if (!endedRow) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
  draft.loadEnded(endedRow)
  return endedRow
}
