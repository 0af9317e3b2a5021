// The board of a crew: its settings, its tasks by state, its members, and the commands of the user. It also shows the report, or one task
// in full. Cards cannot be moved by hand, because only the crew changes the state of a task. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { CrewMemberView, CrewTaskView, CrewView } from '../../src/api/views/crew.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { cardText, LANES, laneOf, type Lane } from '../../src/faces/crew-board.ts'
import { formatCost, formatCount } from '../../src/faces/format.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { isPending, perform } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { isNarrow } from '../frame/narrow.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { path, query, setQuery } from '../router.ts'
import { rowSignal } from '../rows.ts'
import { isStale, may } from '../connection-state.ts'
import { CommandButtons, CommandDialog } from './command-buttons.tsx'
import { crewCommands, memberCommands } from './commands.ts'
import { CrewReport } from './report.tsx'
import { CrewTask } from './task.tsx'

const VIEWS = ['board', 'report'] as const

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
          {query.value.get('view') === 'report' ? (
            <CrewReport crew={crew} />
          ) : (
            <>
              <div class="lanes">
                {LANES.map((lane) => (
                  <BoardLane key={lane} lane={lane} crew={crew} />
                ))}
              </div>
              <Members crew={crew} />
            </>
          )}
        </>
      )}
      <CommandDialog />
    </section>
  )
}

/** How far the crew is, how it works, and the commands that the user can give it. */
function CrewHead({ crew }: { readonly crew: CrewView }): JSX.Element {
  const { uuid, tasks, members, coordinator, gate, merge, reviews, branch, base, exitedAt, resumable } = crew
  const view = query.value.get('view') ?? 'board'
  const facts = [
    `${tasks.filter(({ state }) => state === 'done').length} of ${tasks.length} done`,
    formatCount(members.filter(({ state }) => state !== 'gone').length, 'member'),
    coordinator === 'agent' ? 'an agent coordinates' : 'engine',
    `gate ${gate}`,
    ...(reviews ? [] : ['no reviews']),
    ...(branch === null ? ['no repository'] : [`${merge === 'auto' ? 'merges into' : 'leaves commits beside'} ${branch}`]),
    ...(base === null ? [] : [`from ${base.slice(0, 7)}`]),
  ]
  return (
    <div class="crew-head">
      <span class="quiet">{facts.join(' · ')}</span>
      <span class="buttons" role="group" aria-label="View">
        {VIEWS.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setQuery('view', name === 'board' ? '' : name)}>
            {name}
          </button>
        ))}
      </span>
      <CommandButtons uuid={uuid} label="Crew" commands={crewCommands(crew)} />
      {exitedAt !== null && resumable && may('steer') ? (
        <button type="button" disabled={isStale.value || isPending(uuid, 'resume')} onClick={() => void perform(uuid, 'resume', {})}>
          {isPending(uuid, 'resume') ? 'Resuming …' : 'Resume the crew'}
        </button>
      ) : null}
    </div>
  )
}

interface BoardLaneProps {
  readonly lane: Lane
  readonly crew: CrewView
}

/** A lane with its cards. On a phone lanes stand below each other, and only those that can change are open. */
function BoardLane({ lane, crew }: BoardLaneProps): JSX.Element {
  const tasks = crew.tasks.filter((task) => laneOf(task) === lane)
  const cards = tasks.map((task) => <Card key={task.id} task={task} crew={crew} />)
  const title = (
    <h3>
      {lane} <span class="quiet">{tasks.length}</span>
    </h3>
  )
  return (
    <section class={tasks.length === 0 ? 'lane none' : 'lane'} data-lane={lane} aria-label={lane}>
      {isNarrow.value ? (
        <details open={(lane !== 'done' && lane !== 'queued') || tasks.some(({ asks }) => asks !== null)}>
          <summary>{title}</summary>
          {cards}
        </details>
      ) : (
        <>
          {title}
          {cards}
        </>
      )}
    </section>
  )
}

function Card({ task, crew }: { readonly task: CrewTaskView; readonly crew: CrewView }): JSX.Element {
  const { id, title, asks, state, implementer, reviewer } = task
  const holder = crew.members.find((member) => member.id === (state === 'in_review' ? reviewer : implementer) && member.task === id)
  return (
    <a class={asks === null ? 'card' : 'card asks'} href={`/p/${crew.uuid}/board/${id}`} data-task={id}>
      <strong>
        {id} {holder ? <MemberMark member={holder} hasWord={false} /> : null}
      </strong>
      <span>{visibleText(title)}</span>
      <span class="quiet">{visibleText(cardText(task, crew.tasks, daemonNow()))}</span>
    </a>
  )
}

/** The mark of the process of a member: whether it works, is silent, asks or is held. */
function MemberMark({ member: { uuid }, hasWord }: { readonly member: CrewMemberView; readonly hasWord: boolean }): JSX.Element | null {
  const row = uuid === null ? undefined : rowSignal(uuid).value
  if (row === undefined) return null
  const mark = markOf(row)
  return (
    <span class={`status-word ${mark.tone}`} title={visibleText(row.why?.text ?? mark.word)}>
      <MarkIcon name={markNameOf(row)} /> <span class={hasWord ? '' : 'hidden'}>{mark.word}</span>
    </span>
  )
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
                {member.uuid === null ? member.id : <a href={`/p/${member.uuid}`}>{member.id}</a>} <MemberMark member={member} hasWord />{' '}
                <span class="quiet">{visibleText(memberText(member))}</span>
              </span>
              <CommandButtons uuid={crew.uuid} label={member.id} commands={memberCommands(crew, member)} />
            </li>
          ))}
      </ul>
    </section>
  )
}

function memberText({ agent, phase, task, contextTokens, contextWindow, costUsd, unpriced, note, asks }: CrewMemberView): string {
  return [
    ...(agent === null ? [] : [agent]),
    `${phase.replaceAll('_', ' ')}${task === null ? '' : ` ${task}`}`,
    ...(contextWindow === null || contextWindow === 0 ? [] : [`context ${Math.round((100 * contextTokens) / contextWindow)} %`]),
    ...(costUsd === 0 ? [] : [formatCost(costUsd, unpriced)]),
    ...(asks[0] ? [`asks: ${asks[0].text}`] : note === null ? [] : [note]),
  ].join(' · ')
}
