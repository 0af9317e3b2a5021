// What users record about a process, alive or dead: its pin and its name. Must not change what the agent does.
// Test: test/tables/kernel/decide/annotate.test.ts.
import { KernelError } from '../model/errors.ts'
import { checkActsOnSelf } from './authorize.ts'
import { checkName } from './spawn.ts'
import type { InputOf } from '../model/inputs.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/** Exempts a process, alive or dead, from collection until it is unpinned. */
export function pinProcess(draft: DecisionDraft, input: InputOf<'pin'>): void {
  const process = loadProcess(draft, input)
  checkActsOnSelf(input.by, process, 'the pin')
  const isChange = process.pinned !== input.pinned
  if (isChange) draft.emit(process.uuid, { type: 'process.pinned', pinned: input.pinned, by: input.by })
  const note = isChange ? null : `the process was ${input.pinned ? 'already pinned' : 'not pinned'}`
  draft.replyDone(input.reply, process.uuid, { affected: isChange ? 1 : 0, note })
}

/** Gives a process, alive or dead, a new name. Errors: CONFLICT for the name of a living process, INVALID for a crew and its members. */
export function describeProcess(draft: DecisionDraft, input: InputOf<'describe'>): void {
  const process = loadProcess(draft, input)
  const { uuid, spec } = process
  checkActsOnSelf(input.by, process, 'the name')
  const obstacle = renameObstacle(process)
  if (obstacle !== null) throw new KernelError('INVALID', obstacle)
  const isChange = spec.name !== input.name
  if (isChange) {
    checkName(draft, input.name)
    draft.emit(uuid, {
      type: 'process.described',
      what: 'name',
      spec: { ...spec, name: input.name },
      by: input.by,
      ...(spec.name === null ? {} : { from: spec.name }),
    })
  }
  draft.replyDone(input.reply, uuid, { affected: isChange ? 1 : 0, note: isChange ? null : 'the process already has this name' })
}

/** The reason why a process must keep its name; null: it can be renamed. */
function renameObstacle({ pid, spec: { name, member, crew } }: Process): string | null {
  if (member) return `process ${pid} is ${member.id} of a crew, and the crew addresses its members by these ids`
  const branch = crew?.git ? `its branch is ${crew.git.branch}, and ` : ''
  return crew ? `crew ${name ?? pid} keeps its name: ${branch}\`crew up\` finds its earlier tasks by the name` : null
}

/** Returns a process; an ended one is loaded into the draft. Errors: NOT_FOUND. */
function loadProcess(draft: DecisionDraft, { uuid, endedRow }: InputOf<'pin' | 'describe'>): Process {
  const living = draft.get(uuid)
  if (living) return living
  if (!endedRow) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
  draft.loadEnded(endedRow)
  return endedRow
}
