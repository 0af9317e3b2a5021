// One task of a crew: its text, its thread of messages, reports and verdicts, and its change, and what the user is
// asked about it. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { CrewTaskView, TaskDetailView } from '../../src/api/views/crew.ts'
import type { CrewDiffView } from '../../src/api/views/crew-diff.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock } from '../../src/faces/format.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { ask } from '../actions.ts'
import { useLive } from '../live.ts'
import { daemonNow } from './clock.tsx'
import { DiffView } from './diff-view.tsx'
import { Questions } from './questions.tsx'

interface WholeTask {
  readonly task: TaskDetailView
  readonly change: CrewDiffView
}

export function CrewTask({ row, task }: { readonly row: RowView; readonly task: CrewTaskView }): JSX.Element {
  const { value, error } = useLive<WholeTask>(row.uuid, `task ${task.id}`, () => readTask(row.uuid, task.id))
  return (
    <article class="crew-task" data-task={task.id} data-state={task.state}>
      <p>
        <a href={`/p/${row.uuid}/board`}>All tasks</a>
      </p>
      <h3>
        {task.id} · {task.title} <span class="quiet">{task.state.replaceAll('_', ' ')}</span>
      </h3>
      <Questions uuid={row.uuid} task={task.id} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? null : <Whole whole={value.value} />}
    </article>
  )
}

async function readTask(uuid: string, id: string): Promise<WholeTask> {
  const [{ task }, change] = await Promise.all([
    ask<{ task: TaskDetailView }>(`/v1/crews/${uuid}/task?${new URLSearchParams({ id })}`),
    ask<CrewDiffView>(`/v1/crews/${uuid}/diff?${new URLSearchParams({ task: id })}`),
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
      {change.left.length > 0 ? <p class="problem">Not shown whole: {change.left.join(', ')}</p> : null}
    </>
  )
}
