// The form that starts a crew in a directory where processes have worked: a crew of its reeve.yaml, or one that the form describes. Before
// the start the form shows the daemon's plan, and the command line that does the same. Test: test/e2e/web/pages/crews.test.ts.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { CrewPlanView, CrewUpView } from '../../src/api/views/crew-up.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { useReader } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { WithPlaces } from '../parts/forms/places.tsx'
import { navigate } from '../router.ts'
import { isStale, may } from '../connection-state.ts'
import { COMMIT_GATES } from '../word-lists.ts'
import { crewUpBody, crewUpCommand, CREW_POLICIES, emptyForm, emptyTask, type CrewForm, type TaskForm } from './start-form.ts'

/** what was typed; it stays while other pages are shown */
const form = signal<CrewForm>(emptyForm)
const isSending = signal(false)

function setField<K extends keyof CrewForm>(name: K, value: CrewForm[K]): void {
  form.value = { ...form.value, [name]: value }
}

export function StartCrew(): JSX.Element {
  if (!may('start')) return <p class="quiet">This session may not start agents.</p>
  return (
    <WithPlaces command={['reeve', 'crew', 'up']}>
      {({ dirs, agents, chosen, choose }) => <CrewStartForm dirs={dirs} agents={agents} cwd={chosen} onDirectory={choose} />}
    </WithPlaces>
  )
}

interface FormProps {
  readonly dirs: readonly string[]
  readonly agents: readonly { readonly name: string; readonly usable: boolean }[]
  readonly cwd: string
  readonly onDirectory: (dir: string) => void
}

function CrewStartForm({ dirs, agents, cwd, onDirectory }: FormProps): JSX.Element {
  const body = crewUpBody(form.value, cwd)
  const plan = usePlan(JSON.stringify(body))
  const start = async (event: Event): Promise<void> => {
    event.preventDefault()
    isSending.value = true
    try {
      const { process } = await callApi<CrewUpView>('/v1/crews', { method: 'POST', body })
      failure.value = null
      form.value = emptyForm
      navigate(`/p/${process.uuid}/board`)
    } catch (error) {
      failure.value = failureOf(error, 'Look at the list before you start it again.')
    } finally {
      isSending.value = false
    }
  }
  return (
    <section class="start" aria-label="Start a crew">
      <h2>Start a crew</h2>
      <form class="fork-form" onSubmit={(event) => void start(event)}>
        <CrewFields dirs={dirs} agents={agents} cwd={cwd} onDirectory={onDirectory} />
        <TaskList />
        {isComplete(body) ? (
          <Plan plan={plan.value.value} error={plan.error.value} />
        ) : (
          <p class="quiet plan">Write what to do in each task.</p>
        )}
        <CommandLine words={crewUpCommand(form.value, cwd)} />
        {(body.tasks ?? []).length === 0 ? null : (
          <p class="quiet">The command reads the tasks above from a file, as docs/reference/crews.md describes.</p>
        )}
        <p class="buttons">
          <button
            type="submit"
            class="primary"
            disabled={isSending.value || isStale.value || !isComplete(body) || plan.value.value === null || plan.error.value !== null}
          >
            {isSending.value ? 'Starting …' : 'Start'}
          </button>
        </p>
      </form>
    </section>
  )
}

/** Whether each task has a text. The daemon makes no plan for a task without one. */
function isComplete({ tasks = [] }: ReturnType<typeof crewUpBody>): boolean {
  return tasks.every(({ text }) => text.trim() !== '')
}

/** the plan is made again when nothing was typed for this time, in ms */
const PLAN_AFTER_MS = 400

/** What a request would start, according to the daemon. `text`: the request as JSON. */
function usePlan(text: string): ReturnType<typeof useReader<CrewPlanView>> {
  const [settled, settle] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => settle(text), PLAN_AFTER_MS)
    return () => clearTimeout(timer)
  }, [text])
  return useReader<CrewPlanView>(
    () => !isStale.value && isComplete(JSON.parse(settled) as ReturnType<typeof crewUpBody>),
    `plan ${settled}`,
    async (before) => before ?? callApi('/v1/crews/plan', { method: 'POST', body: JSON.parse(settled) as object }),
  )
}

function CrewFields({ dirs, agents, cwd, onDirectory }: FormProps): JSX.Element {
  const { crew, name, workers, agent, model, permissions, gate, budget } = form.value
  const text = (label: string, field: 'crew' | 'name' | 'model' | 'budget' | 'workers', value: string, placeholder = ''): JSX.Element => (
    <label>
      {label}
      <input value={value} placeholder={placeholder} onInput={(event) => setField(field, event.currentTarget.value)} />
    </label>
  )
  const choice = (label: string, field: 'agent' | 'permissions' | 'gate', value: string, options: readonly string[]): JSX.Element => (
    <label>
      {label}
      <select value={value} onChange={(event) => setField(field, event.currentTarget.value)}>
        <option value="">as configured</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  )
  return (
    <div class="fork-columns">
      <label>
        Directory
        <select class="directory" value={cwd} onChange={(event) => onDirectory(event.currentTarget.value)}>
          {dirs.map((dir) => (
            <option key={dir}>{dir}</option>
          ))}
        </select>
      </label>
      {text('Crew of its reeve.yaml', 'crew', crew, 'the only one')}
      {text('Name', 'name', name)}
      {text('Workers', 'workers', workers, 'as configured')}
      {choice(
        'Agent',
        'agent',
        agent,
        agents.filter(({ usable }) => usable).map((one) => one.name),
      )}
      {text('Model', 'model', model)}
      {choice('Permissions', 'permissions', permissions, CREW_POLICIES)}
      {choice('Who approves commits', 'gate', gate, COMMIT_GATES)}
      {text('Budget in USD', 'budget', budget, 'as configured')}
    </div>
  )
}

function TaskList(): JSX.Element {
  const { tasks } = form.value
  const change = (index: number, task: TaskForm | null): void =>
    setField(
      'tasks',
      tasks.flatMap((one, other) => (other === index ? (task ?? []) : one)),
    )
  return (
    <>
      {tasks.map((task, index) => (
        <TaskFields key={index} index={index} task={task} onChange={(next) => change(index, next)} />
      ))}
      <p class="buttons">
        <button type="button" onClick={() => setField('tasks', [...tasks, emptyTask])}>
          Add a task
        </button>
        {tasks.length === 0 ? <span class="quiet">Without tasks here, those of reeve.yaml are done.</span> : null}
      </p>
    </>
  )
}

interface TaskFieldsProps {
  readonly index: number
  readonly task: TaskForm
  readonly onChange: (task: TaskForm | null) => void
}

function TaskFields({ index, task, onChange }: TaskFieldsProps): JSX.Element {
  const set = (part: Partial<TaskForm>): void => onChange({ ...task, ...part })
  const id = task.id === '' ? `task-${index + 1}` : task.id
  return (
    <fieldset class="task-fields">
      <legend>{id}</legend>
      <label>
        What to do
        <textarea rows={2} required value={task.text} onInput={(event) => set({ text: event.currentTarget.value })} />
      </label>
      <label>
        It is done when
        <textarea rows={2} value={task.acceptance} onInput={(event) => set({ acceptance: event.currentTarget.value })} />
      </label>
      <div class="fork-columns">
        <label>
          Id
          <input value={task.id} placeholder={id} onInput={(event) => set({ id: event.currentTarget.value })} />
        </label>
        <label>
          Tasks that it needs
          <input value={task.needs} onInput={(event) => set({ needs: event.currentTarget.value })} />
        </label>
        <button type="button" class="plain" aria-label={`Remove ${id}`} onClick={() => onChange(null)}>
          Remove
        </button>
      </div>
    </fieldset>
  )
}

/** What would be started, or why nothing would. */
function Plan({ plan, error }: { readonly plan: CrewPlanView | null; readonly error: string | null }): JSX.Element {
  if (error !== null) return <p class="problem plan">{error}</p>
  if (plan === null) return <p class="quiet plan">The plan is being made.</p>
  const { name, branch, base, gate, merge, members, tasks, notes, verify, limits } = plan
  return (
    <section class="plan" aria-label="Plan">
      <p>
        <strong>{name}</strong>{' '}
        <span class="quiet">
          {branch === null ? 'without a repository' : `${merge === 'auto' ? 'merges into' : 'leaves commits beside'} ${branch}`}
          {base === null ? '' : ` from ${base.slice(0, 7)}`} · gate {gate}
          {verify === null ? '' : ` · checked by ${[verify.command].flat().join(' ')}`}
          {limits.budgetUsd === undefined ? '' : ` · at most $${limits.budgetUsd}`}
        </span>
      </p>
      <ul>
        {members.map(({ role, count, agent, model, permissions }) => (
          <li key={role}>
            {count} × {role} <span class="quiet">{[agent, model, permissions].filter((word) => word !== null).join(' · ')}</span>
          </li>
        ))}
      </ul>
      <ol>
        {tasks.map(({ id, title, needs, takenOver, by }) => (
          <li key={id}>
            {id} · {title}{' '}
            <span class="quiet">
              {[
                ...(needs.length === 0 ? [] : [`needs ${needs.join(', ')}`]),
                ...(takenOver ? ['an earlier crew has done it'] : []),
                ...(by === null ? [] : [by.agent]),
              ].join(' · ')}
            </span>
          </li>
        ))}
      </ol>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
    </section>
  )
}
