// The board of a crew: its settings, its tasks by state, its members, one task in full, and what the user can tell it. Cards cannot be moved
// by hand, because only the crew changes the state of a task. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { CrewMemberView, CrewTaskView, CrewView } from '../../src/api/views/crew.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCost, formatElapsed, formatTokens } from '../../src/faces/format.ts'
import { callApi, isPending, perform } from '../actions.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { path } from '../router.ts'
import { isStale, may } from '../store.ts'
import { CommandButtons, CommandDialog } from './command-buttons.tsx'
import { crewCommands, memberCommands } from './commands.ts'
import { CrewTask } from './task.tsx'

type Lane = 'queued' | 'implementing' | 'review' | 'feedback' | 'commit' | 'done' | 'failed'

const LANES: readonly Lane[] = ['queued', 'implementing', 'review', 'feedback', 'commit', 'done', 'failed']

const LANE_OF: Readonly<Record<CrewTaskView['state'], Lane>> = {
  queued: 'queued',
  waiting: 'queued',
  implementing: 'implementing',
  awaiting_review: 'review',
  in_review: 'review',
  addressing_feedback: 'feedback',
  approved: 'commit',
  committing: 'commit',
  merging: 'commit',
  done: 'done',
  failed: 'failed',
  cancelled: 'failed',
}

/** A task that waits for the user stands where it will continue. */
function laneOf({ state, asks }: CrewTaskView): Lane {
  if (state !== 'waiting') return LANE_OF[state]
  return asks === 'gate' ? 'commit' : asks === 'review' ? 'review' : 'queued'
}

export function CrewBoard({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive(row.uuid, 'crew', async () => (await callApi<{ crew: CrewView }>(`/v1/crews/${row.uuid}`)).crew)
  const crew = value.value
  if (crew === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The crew is being read.'}</p>
  const wanted = path.value[3]
  const selected = crew.tasks.find(({ id }) => id === wanted)
  return (
    <section class="crew" aria-label="Crew">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {selected ? (
        <CrewTask row={row} crew={crew} task={selected} />
      ) : (
        <>
          <CrewHead crew={crew} />
          <div class="lanes">
            {LANES.map((lane) => (
              <BoardLane key={lane} lane={lane} row={row} tasks={crew.tasks.filter((task) => laneOf(task) === lane)} />
            ))}
          </div>
          <Members crew={crew} />
        </>
      )}
      <CommandDialog />
    </section>
  )
}

/** How far the crew is, how it works, and what the user can tell it. */
function CrewHead({ crew }: { readonly crew: CrewView }): JSX.Element {
  const { uuid, tasks, gate, merge, reviews, branch, base, exitedAt, resumable } = crew
  const facts = [
    `${tasks.filter(({ state }) => state === 'done').length} of ${tasks.length} done`,
    `gate ${gate}`,
    ...(reviews ? [] : ['no reviews']),
    ...(branch === null ? ['no repository'] : [`${merge === 'auto' ? 'merges into' : 'leaves commits beside'} ${branch}`]),
    ...(base === null ? [] : [`from ${base.slice(0, 7)}`]),
  ]
  return (
    <div class="crew-head">
      <span class="quiet">{facts.join(' · ')}</span>
      <CommandButtons uuid={uuid} label="Crew" commands={crewCommands(crew)} />
      {exitedAt !== null && resumable && may('steer') ? (
        <button type="button" disabled={isStale.value || isPending(uuid, 'resume')} onClick={() => void perform(uuid, 'resume', {})}>
          {isPending(uuid, 'resume') ? 'asked' : 'Resume the crew'}
        </button>
      ) : null}
    </div>
  )
}

interface BoardLaneProps {
  readonly lane: Lane
  readonly row: RowView
  readonly tasks: readonly CrewTaskView[]
}

function BoardLane({ lane, row, tasks }: BoardLaneProps): JSX.Element {
  return (
    <section class={tasks.length === 0 ? 'lane none' : 'lane'} data-lane={lane} aria-label={lane}>
      <h3>
        {lane} <span class="quiet">{tasks.length}</span>
      </h3>
      {tasks.map((task) => (
        <a key={task.id} class={task.asks === null ? 'card' : 'card asks'} href={`/p/${row.uuid}/board/${task.id}`} data-task={task.id}>
          <strong>{task.id}</strong>
          <span>{task.title}</span>
          <span class="quiet">{cardText(task)}</span>
        </a>
      ))}
    </section>
  )
}

/** Who has the task and since when, what it waits for, or how it ended. */
function cardText(task: CrewTaskView): string {
  const who = task.state === 'in_review' ? `${task.reviewer ?? 'nobody'} reviews` : (task.implementer ?? '')
  const began = task.startedAt === null ? null : Date.parse(task.startedAt)
  const end = task.endedAt === null ? daemonNow() : Date.parse(task.endedAt)
  return [
    ...(task.asks === null ? [] : [`waits for you: ${task.asks}`]),
    ...(task.state === 'queued' && task.needs.length > 0 ? [`needs ${task.needs.join(', ')}`] : []),
    ...(who === '' ? [] : [who]),
    ...(began === null ? [] : [formatElapsed(end - began)]),
    ...(task.verdict === null ? [] : [task.verdict]),
    ...(task.attempts > 0 ? [`${task.attempts} failed`] : []),
    ...(task.spent.costUsd === 0 ? [] : [formatCost(task.spent.costUsd, task.spent.unpriced)]),
    ...(task.merged === null ? [] : [`merged ${task.merged.slice(0, 7)}`]),
    ...(task.reason === null ? [] : [task.reason]),
  ].join(' · ')
}

function Members({ crew }: { readonly crew: CrewView }): JSX.Element {
  return (
    <section class="members" aria-label="Members">
      <h3>Members</h3>
      <ul>
        {crew.members
          .filter(({ state }) => state !== 'gone')
          .map((member) => (
            <li key={member.id} class={member.asks.length > 0 ? 'asks' : ''} data-member={member.id}>
              <span>
                {member.uuid === null ? member.id : <a href={`/p/${member.uuid}`}>{member.id}</a>}{' '}
                <span class="quiet">{memberText(member)}</span>
              </span>
              <CommandButtons uuid={crew.uuid} label={member.id} commands={memberCommands(crew, member)} />
            </li>
          ))}
      </ul>
    </section>
  )
}

function memberText({ agent, phase, task, status, contextTokens, contextWindow, costUsd, unpriced, note, asks }: CrewMemberView): string {
  return [
    ...(agent === null ? [] : [agent]),
    `${phase.replaceAll('_', ' ')}${task === null ? '' : ` ${task}`}`,
    ...(status === null || status === 'working' || status === 'ready' ? [] : [status]),
    ...(contextWindow === null ? [] : [`${formatTokens(contextTokens)} of ${formatTokens(contextWindow)}`]),
    ...(costUsd === 0 ? [] : [formatCost(costUsd, unpriced)]),
    ...(asks[0] ? [`asks: ${asks[0].text}`] : note === null ? [] : [note]),
  ].join(' · ')
}
