// One task of a crew: its text, its change, its question to the user, its attempts with reports and verdicts, and its commands. The
// question stands below its evidence. Test: test/e2e/web/crew.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { CrewTaskView, CrewView, TaskDetailView } from '../../src/api/views/crew.ts'
import type { CrewDiffView } from '../../src/api/views/crew-diff.ts'
import type { ReportTaskView } from '../../src/api/views/crew-report.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { failedTexts } from '../../src/faces/crew-board.ts'
import { formatCost, formatCount, formatElapsed } from '../../src/faces/format.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { endOrNow } from '../parts/clock.tsx'
import { DiffView } from '../parts/diff-view.tsx'
import { Questions } from '../parts/questions.tsx'
import { CommandButtons } from './command-buttons.tsx'
import { taskCommands } from './commands.ts'
import { useReport } from './report.tsx'
import { Findings, Attempts } from './attempts.tsx'

interface CrewTaskProps {
  readonly row: RowView
  readonly crew: CrewView
  readonly task: CrewTaskView
}

export function CrewTask({ row, crew, task }: CrewTaskProps): JSX.Element {
  const { value, error } = useLive<TaskDetailView>(row.uuid, `task ${task.id}`, () => readTask(row.uuid, task.id))
  // When the task changes, its verdicts and checks may have changed, too.
  const version = JSON.stringify([task.state, task.asks, task.verdict, task.check, task.attempts])
  const { value: read, error: reportError } = useReport(crew, version)
  const report = read.value?.report.tasks.find(({ id }) => id === task.id) ?? null
  const isNewest = read.value?.version === version
  const whole = value.value
  return (
    <article class="crew-task" data-task={task.id} data-state={task.state}>
      <p>
        <a href={`/p/${row.uuid}/board`}>All tasks</a>
      </p>
      <div class="title">
        <h3>
          {task.id} · {visibleText(task.title)} <span class="quiet">{task.state.replaceAll('_', ' ')}</span>
        </h3>
        <CommandButtons uuid={crew.uuid} label="Task" commands={taskCommands(crew, task, whole)} />
      </div>
      <p class="quiet">{taskFacts(task)}</p>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {reportError.value === null ? null : <p class="problem">The report cannot be read: {reportError.value}</p>}
      {whole === null ? null : (
        <>
          <p class="agent-text">{visibleText(whole.text)}</p>
          {whole.acceptance === null ? null : <blockquote>{visibleText(whole.acceptance)}</blockquote>}
          {task.asks === null || report === null ? null : isNewest ? (
            <Findings attempt={lastFindings(report)} />
          ) : (
            <p class="quiet">The findings are being read.</p>
          )}
        </>
      )}
      {task.kind === 'human' || task.startedAt === null ? null : <TaskChange row={row} task={task} />}
      <Questions uuid={row.uuid} task={task.id} />
      {whole === null ? null : <h4>Thread</h4>}
      {whole === null ? null : <Attempts report={report} history={whole.history} />}
      {report === null ? null : <p class="quiet">{timeText(report)}</p>}
    </article>
  )
}

/** The last verdict and the last run of the verify command, as evidence about the change in question. */
function lastFindings({ verdicts, checks }: ReportTaskView): Pick<ReportTaskView, 'verdicts' | 'checks'> {
  return { verdicts: verdicts.slice(-1), checks: checks.slice(-1) }
}

function timeText({ workedMs, waitedMs, askedMs, note }: ReportTaskView): string {
  return [
    `worked ${formatElapsed(workedMs)}`,
    `waited ${formatElapsed(waitedMs)}`,
    ...(askedMs >= 1_000 ? [`${formatElapsed(askedMs)} of that for your answer`] : []),
    ...(note === null ? [] : [`commit: ${visibleText(note)}`]),
  ].join(' · ')
}

/** Who worked on the task, in how many attempts, how long, and at what cost. */
function taskFacts({
  needs,
  implementers,
  reviewer,
  verdict,
  attempts,
  denials,
  startedAt,
  endedAt,
  spent,
  commit,
  merged,
  reason,
}: CrewTaskView): string {
  const end = endOrNow(endedAt)
  return [
    ...(needs.length === 0 ? [] : [`needs ${needs.join(', ')}`]),
    ...(implementers.length === 0 ? ['not begun'] : [`by ${implementers.join(', ')}`]),
    ...(reviewer === null ? [] : [`reviewed by ${reviewer}${verdict === null ? '' : `: ${verdict}`}`]),
    ...failedTexts({ attempts, denials }),
    ...(startedAt === null ? [] : [formatElapsed(end - Date.parse(startedAt))]),
    ...(spent.costUsd === 0 ? [] : [formatCost(spent.costUsd, spent.unpriced)]),
    ...(merged === null ? (commit === null ? [] : [`commit ${commit.slice(0, 7)}`]) : [`merged ${merged.slice(0, 7)}`]),
    ...(reason === null ? [] : [visibleText(reason)]),
  ].join(' · ')
}

async function readTask(uuid: string, id: string): Promise<TaskDetailView> {
  return (await callApi<{ task: TaskDetailView }>(`/v1/crews/${uuid}/task?${new URLSearchParams({ id })}`)).task
}

const VERSIONS = [
  ['auto', 'now'],
  ['review', 'under review'],
  ['commit', 'its commit'],
] as const
type Version = (typeof VERSIONS)[number][0]

/** The change of a task. If the task has a commit, the user chooses between the present files, the reviewed files and the commit. */
function TaskChange({ row, task }: Pick<CrewTaskProps, 'row' | 'task'>): JSX.Element {
  const [wanted, setWanted] = useState<Version>('auto')
  const version = task.commit === null ? 'auto' : wanted
  const query = new URLSearchParams({ task: task.id, which: version })
  const { value, error } = useLive(row.uuid, `change ${query}`, () => callApi<CrewDiffView>(`/v1/crews/${row.uuid}/diff?${query}`))
  return (
    <section class="task-change" aria-label="Change">
      <div class="title">
        <h4>Change</h4>
        {task.commit === null ? null : (
          <span class="buttons" role="group" aria-label="Version of the change">
            {VERSIONS.map(([name, text]) => (
              <button key={name} type="button" aria-pressed={name === version} onClick={() => setWanted(name)}>
                {text}
              </button>
            ))}
          </span>
        )}
      </div>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? null : <ChangedFiles change={value.value} />}
    </section>
  )
}

function ChangedFiles({
  change: { note, files: changed, insertions, deletions, diff, left },
}: {
  readonly change: CrewDiffView
}): JSX.Element {
  const sizes = changed.length === 0 ? '' : ` · ${formatCount(changed.length, 'file')}, +${insertions} −${deletions}`
  return (
    <>
      <p class="quiet">
        {visibleText(note)}
        {sizes}
      </p>
      {[...diffByFile(diff ?? '')].map(([path, text]) => (
        <figure key={path} class="change">
          <figcaption>{visibleText(path)}</figcaption>
          <DiffView path={path} text={text} none="A binary file." />
        </figure>
      ))}
      {left.length > 0 ? <p class="problem">Not shown in full: {visibleText(left.join(', '))}</p> : null}
    </>
  )
}
