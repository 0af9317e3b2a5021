// One task of a crew: its text, its thread of messages, reports and verdicts, its change, what the user is asked about it, and what the
// user can do to it. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { CrewTaskView, CrewView, TaskDetailView } from '../../src/api/views/crew.ts'
import type { CrewDiffView } from '../../src/api/views/crew-diff.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock, formatCost, formatElapsed } from '../../src/faces/format.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { callApi } from '../actions.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { DiffView } from '../parts/diff-view.tsx'
import { Questions } from '../parts/questions.tsx'
import { CommandButtons } from './command-buttons.tsx'
import { taskCommands } from './commands.ts'

interface WholeTask {
  readonly task: TaskDetailView
  readonly change: CrewDiffView
}

interface CrewTaskProps {
  readonly row: RowView
  readonly crew: CrewView
  readonly task: CrewTaskView
}

export function CrewTask({ row, crew, task }: CrewTaskProps): JSX.Element {
  const { value, error } = useLive<WholeTask>(row.uuid, `task ${task.id}`, () => readTask(row.uuid, task.id))
  return (
    <article class="crew-task" data-task={task.id} data-state={task.state}>
      <p>
        <a href={`/p/${row.uuid}/board`}>All tasks</a>
      </p>
      <div class="title">
        <h3>
          {task.id} · {task.title} <span class="quiet">{task.state.replaceAll('_', ' ')}</span>
        </h3>
        <CommandButtons uuid={crew.uuid} label="Task" commands={taskCommands(crew, task, value.value?.task ?? null)} />
      </div>
      <p class="quiet">{taskFacts(task)}</p>
      <Questions uuid={row.uuid} task={task.id} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? null : <Whole whole={value.value} />}
    </article>
  )
}

/** Who did what to it, in how many attempts, how long, and for how much. */
function taskFacts({
  needs,
  implementers,
  reviewer,
  verdict,
  attempts,
  startedAt,
  endedAt,
  spent,
  commit,
  merged,
  reason,
}: CrewTaskView): string {
  const end = endedAt === null ? daemonNow() : Date.parse(endedAt)
  return [
    ...(needs.length === 0 ? [] : [`needs ${needs.join(', ')}`]),
    ...(implementers.length === 0 ? ['nobody has begun'] : [`by ${implementers.join(', ')}`]),
    ...(reviewer === null ? [] : [`reviewed by ${reviewer}${verdict === null ? '' : `: ${verdict}`}`]),
    ...(attempts === 0 ? [] : [`${attempts} failed`]),
    ...(startedAt === null ? [] : [formatElapsed(end - Date.parse(startedAt))]),
    ...(spent.costUsd === 0 ? [] : [formatCost(spent.costUsd, spent.unpriced)]),
    ...(merged === null ? (commit === null ? [] : [`commit ${commit.slice(0, 7)}`]) : [`merged ${merged.slice(0, 7)}`]),
    ...(reason === null ? [] : [reason]),
  ].join(' · ')
}

async function readTask(uuid: string, id: string): Promise<WholeTask> {
  const [{ task }, change] = await Promise.all([
    callApi<{ task: TaskDetailView }>(`/v1/crews/${uuid}/task?${new URLSearchParams({ id })}`),
    callApi<CrewDiffView>(`/v1/crews/${uuid}/diff?${new URLSearchParams({ task: id })}`),
  ])
  return { task, change }
}

function Whole({ whole: { task, change } }: { readonly whole: WholeTask }): JSX.Element {
  const files = diffByFile(change.diff ?? '')
  return (
    <>
      <p class="agent-text">{task.text}</p>
      {task.acceptance === null ? null : <blockquote>{task.acceptance}</blockquote>}
      <h4>Thread</h4>
      <ol class="thread">
        {task.history.map(({ seq, at, what, text }) => (
          <li key={seq}>
            <span class="quiet number">{formatClock(at, daemonNow())}</span> {what}
            {text === null ? null : <p class="agent-text">{text}</p>}
          </li>
        ))}
      </ol>
      <h4>Change</h4>
      <p class="quiet">{change.note}</p>
      {[...files].map(([path, text]) => (
        <figure key={path} class="change">
          <figcaption>{path}</figcaption>
          <DiffView path={path} text={text} none="A binary file." />
        </figure>
      ))}
      {change.left.length > 0 ? <p class="problem">Not shown in full: {change.left.join(', ')}</p> : null}
    </>
  )
}
