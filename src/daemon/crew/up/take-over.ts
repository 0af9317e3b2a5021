// Decides which done tasks of an earlier crew with the same name a new crew takes over. A second `crew up` with the same tasks then does
// only the others. Writes notes about tasks that are taken over, done again, or left out. Must never change anything.
// Test: test/e2e/crew/take-over.test.ts.
import { inRepository } from '../../../drivers/git/worktree.ts'
import { assignTaskIds } from '../../../kernel/crew/decide/commands/task-commands.ts'
import { crewGitSpec } from '../../../kernel/crew/state/queries.ts'
import { taskTextsOf } from '../../../kernel/crew/text/task-text.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { readTaskFacts } from '../queries.ts'
import type { NewTask, TakenTask } from '../../../kernel/model/crew/commands.ts'
import type { CrewFact } from '../../../kernel/model/crew/facts.ts'
import type { Task } from '../../../kernel/model/crew/crew.ts'
import type { Git } from '../../../drivers/git/git.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { Store } from '../../../store/store.ts'
import type { CrewDefinition } from './definition.ts'
import type { ProcessQueries } from '../../views/process-queries.ts'
import type { TaskId } from '../../../kernel/model/crew/words.ts'
import type { CrewGitSpec } from '../../../kernel/model/process-spec.ts'

export interface TakeOver {
  /** all tasks with their ids; the tasks that are taken over have `taken` */
  readonly tasks: readonly NewTask[]
  /** the earlier crew; null if nothing is taken over */
  readonly from: { readonly uuid: string; readonly pid: number; readonly name: string | null; readonly endedAt: number | null } | null
  /** the reason why a task is done again, by task id */
  readonly redoReasons: ReadonlyMap<TaskId, string>
  readonly notes: readonly string[]
}

interface TakeOverDeps {
  readonly reads: Pick<ProcessQueries, 'list' | 'find'>
  readonly store: Pick<Store, 'tail'>
  /** null without a repository */
  readonly git: Git | null
  /** wall ms */
  readonly now: number
  /** true: only plans the start of the crew */
  readonly isPlan: boolean
}

/** maximum number of left-out tasks that a note names */
const MAX_NAMED_TASKS = 10
/** The flags with which a crew starts although all its tasks are done. */
const START_ANYWAY_HINT = '--anew does all of them again, --stay starts the crew for more tasks'

/** Plans the takeover. Errors: CONFLICT if all tasks are done already, unless the crew stays or is only planned. */
export async function planTakeOver(
  definition: CrewDefinition,
  gitSpec: CrewGitSpec | null,
  env: Readonly<Record<string, string>>,
  deps: TakeOverDeps,
): Promise<TakeOver> {
  const tasks = assignTaskIds(definition.tasks)
  const earlierCrew = definition.startsAnew ? undefined : await findNewestCrew(definition, gitSpec, deps)
  const emptyTakeOver: TakeOver = { tasks: definition.tasks, from: null, redoReasons: new Map(), notes: [] }
  if (!earlierCrew) return emptyTakeOver
  const facts = (await readTaskFacts(deps.store, earlierCrew.uuid)).map(({ seq, body }) => ({ seq, body: body as CrewFact }))
  const takenTasks = new Map<TaskId, TakenTask>()
  const redoReasons = new Map<TaskId, string>()
  for (const task of sortByNeeds(tasks)) {
    const earlierTask = earlierCrew.crew?.tasks.find(({ id }) => id === task.id)
    if (earlierTask?.state !== 'done') continue
    const reason =
      changeReason(
        task,
        earlierTask,
        facts.map(({ body }) => body),
      ) ??
      missingNeedReason(task, takenTasks) ??
      (await missingCommitReason(earlierTask, { gitSpec, env, merge: definition.merge, git: deps.git }))
    if (reason !== null) redoReasons.set(task.id, reason)
    else takenTasks.set(task.id, toTakenTask(earlierTask, earlierCrew, gitSpec, facts))
  }
  const crewText = `in crew ${earlierCrew.spec.name ?? earlierCrew.pid} (PID ${earlierCrew.pid}, ended ${agoText(deps.now - (earlierCrew.clock.exitedAt ?? deps.now))})`
  const leftOut = leftOutNote(earlierCrew, tasks, crewText)
  if (takenTasks.size === 0 && redoReasons.size === 0) return { ...emptyTakeOver, notes: leftOut }
  const from = { uuid: earlierCrew.uuid, pid: earlierCrew.pid, name: earlierCrew.spec.name, endedAt: earlierCrew.clock.exitedAt }
  const isAllDone = takenTasks.size === tasks.length
  const hasNothingToDo = isAllDone && !definition.stay
  const summary = `all ${tasks.length} tasks are done already, ${crewText}`.replace('all 1 tasks are', 'its only task is')
  if (hasNothingToDo && !deps.isPlan)
    throw new KernelError(
      'CONFLICT',
      `${summary}: there is nothing to do`,
      { done: { uuid: earlierCrew.uuid, tasks: tasks.length, words: summary } },
      [START_ANYWAY_HINT, ...leftOut].map((text) => `${text}.`).join(' '),
    )
  return {
    tasks: tasks.map((task) => ({ ...task, ...(takenTasks.has(task.id) ? { taken: takenTasks.get(task.id) as TakenTask } : {}) })),
    from,
    redoReasons,
    notes: [
      ...(hasNothingToDo
        ? [`${summary}: nothing would start; ${START_ANYWAY_HINT}`]
        : takenTasks.size > 0
          ? [
              `${takenTasks.size} of ${tasks.length} tasks ${takenTasks.size === 1 ? 'is' : 'are'} done already, ${crewText}: taken over; --anew does all again`,
            ]
          : []),
      ...[...redoReasons].map(([id, reason]) => `${id} was done ${crewText}, and is done again: ${reason}`),
      ...leftOut,
    ],
  }
}

/** A note about unfinished tasks of the earlier crew that are not in the new list, such as tasks of `crew add`. */
function leftOutNote({ pid, crew }: Process, tasks: readonly NewTask[], crewText: string): readonly string[] {
  const ids = (crew?.tasks ?? [])
    .filter(({ id, state }) => state !== 'done' && state !== 'cancelled' && !tasks.some((task) => task.id === id))
    .map(({ id }) => id)
  if (ids.length === 0) return []
  const [names, verb] = [ids.slice(0, MAX_NAMED_TASKS).join(', '), ids.length === 1 ? 'was' : 'were']
  const more = ids.length > MAX_NAMED_TASKS ? ` and ${ids.length - MAX_NAMED_TASKS} more` : ''
  return [
    `${names}${more} ${verb} not finished ${crewText}, and ${verb} not taken over: \`reeve crew show ${pid} ${ids[0]}\` shows the task`,
  ]
}

function agoText(ms: number): string {
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) => Math.round(ms / unit)) as [number, number, number]
  if (seconds < 90) return `${seconds} s ago`
  if (minutes < 90) return `${minutes} min ago`
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`
}

/** The newest ended crew of the same name in the same repository. Without a repository: in the same directory. */
async function findNewestCrew(
  { name, cwd }: CrewDefinition,
  gitSpec: CrewGitSpec | null,
  { reads }: TakeOverDeps,
): Promise<Process | undefined> {
  const rows = (await reads.list({ all: true, fields: ['uuid', 'driver', 'name', 'state', 'createdAt'] })).filter(
    (row) => row.driver === 'crew' && row.name === name && row.state === 'dead',
  )
  for (const { uuid } of rows.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))) {
    const process = await reads.find(uuid)
    const git = process && crewGitSpec(process)
    if (process && (gitSpec ? git?.repository === gitSpec.repository : !git && process.spec.cwd === cwd)) return process
  }
  return undefined
}

/** Sorts tasks so that each comes after the tasks that it needs. */
function sortByNeeds<T extends NewTask & { readonly id: TaskId }>(tasks: readonly T[]): readonly T[] {
  const placed = new Set<TaskId>()
  const ordered: T[] = []
  for (let remaining = [...tasks]; remaining.length > 0;) {
    const placeable = remaining.filter(({ needs = [] }) => needs.every((need) => placed.has(need)))
    if (placeable.length === 0) return [...ordered, ...remaining]
    for (const task of placeable) placed.add(task.id)
    ordered.push(...placeable)
    remaining = remaining.filter(({ id }) => !placed.has(id))
  }
  return ordered
}

/** Why the task differs from the earlier one; null if both are the same. */
function changeReason(task: NewTask, before: Task, facts: readonly CrewFact[]): string | null {
  const { text, acceptance } = taskTextsOf(before, facts)
  if ((task.kind ?? 'work') !== before.kind || (task.role ?? null) !== before.role) return 'its kind or role changed'
  if (
    task.title.trim() !== before.title ||
    task.text.trim() !== text?.trim() ||
    (task.acceptance?.trim() ?? null) !== (acceptance?.trim() ?? null)
  )
    return 'its text changed'
  return [...new Set(task.needs ?? [])].toSorted().join() === [...before.needs].toSorted().join() ? null : 'its needs changed'
}

/** Why the task must be done again: a task that it needs is done again. Null if all its needs are taken over. */
function missingNeedReason({ needs = [] }: NewTask, taken: ReadonlyMap<TaskId, TakenTask>): string | null {
  const need = needs.find((id) => !taken.has(id))
  return need === undefined ? null : `it needs ${need}, which is not done`
}

interface CommitQuery {
  readonly gitSpec: CrewGitSpec | null
  readonly env: Readonly<Record<string, string>>
  readonly merge: CrewDefinition['merge']
  readonly git: Git | null
}

/** Why the task's commit cannot be used. Null if the crew's base has it, or with `merge: leave` if the task's own branch has it. */
async function missingCommitReason({ id, commit }: Task, { gitSpec, env, merge, git }: CommitQuery): Promise<string | null> {
  if (commit === null || !gitSpec || !git) return null
  const call = inRepository({ repository: gitSpec.repository, env })
  const isIn = async (ref: string): Promise<boolean> => (await git.tryLine(['merge-base', '--is-ancestor', commit, ref], call)) !== null
  if (await isIn(gitSpec.base)) return null
  if (merge === 'leave' && (await isIn(`refs/heads/${gitSpec.branch}.${id}`))) return null
  return `its commit ${commit.slice(0, 10)} is neither on ${gitSpec.branch} nor in your checkout`
}

function toTakenTask(
  { commit, merged, seqs, byWord }: Task,
  { uuid, spec }: Process,
  gitSpec: CrewGitSpec | null,
  facts: readonly { readonly seq: number; readonly body: CrewFact }[],
): TakenTask {
  const fact = facts.find(({ seq }) => seq === (seqs.answer ?? seqs.report))?.body
  const report =
    fact?.type === 'task.reported'
      ? fact.summary
      : fact?.type === 'task.answered'
        ? (fact.text ?? fact.option)
        : fact?.type === 'task.taken'
          ? (fact.report ?? null)
          : null
  return {
    crew: uuid,
    name: spec.name ?? uuid.slice(-8),
    commit,
    merged: commit === null || !gitSpec || merged === null ? null : gitSpec.base,
    ...(report === null ? {} : { report }),
    ...(byWord === undefined ? {} : { byWord }),
  }
}
