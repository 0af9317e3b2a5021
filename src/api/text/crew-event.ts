// Describes facts of a crew for users, in task histories, logs and followers: one row per type of fact that is shown.
// Pure, and imports only types. Test: test/tables/api/text/crew-event.test.ts.
import type { FactBody, BodyOf } from '../../kernel/model/facts.ts'

type TaskFactType = Extract<FactBody['type'], `task.${string}`>
type CrewFactType = Extract<FactBody['type'], `crew.${string}`>

/** The description of a fact. */
export interface CrewEventText {
  /** the id of the task or member; null for the crew itself */
  readonly about: string | null
  /** what happened: `assigned to worker-1` */
  readonly what: string
  /** the complete message, comments or output; null if there is none */
  readonly text: string | null
}

type EventRow = readonly [what: string, text?: string | null]

/** the fields of a task that an edit can change */
const EDITABLE = ['title', 'text', 'acceptance', 'needs', 'role', 'reviews', 'limits', 'who'] as const

const TASK_ROWS: { readonly [T in TaskFactType]: (fact: BodyOf<T>) => EventRow } = {
  'task.added': ({ by, kind }) => [`added by ${by}${kind === 'work' ? '' : `, for ${kind === 'human' ? 'the user' : 'a conflict'}`}`],
  'task.ordered': ({ priority, before }) => [before === undefined ? `has priority ${priority}` : `comes before ${before}`],
  'task.assigned': ({ member }) => [`assigned to ${member}`],
  'task.prepared': ({ base }) => [base === null ? 'ready to begin' : `begins at ${shortCommit(base)}`],
  'task.reported': ({ member, summary }) => [`${member} reports it complete`, summary],
  'task.review': ({ member, earlier }) => [
    `${member} reviews it${earlier ? ', although it worked on it earlier: no other worker can' : ''}`,
  ],
  'task.verify': ({ ok, stage, command, ran: { output, end, ms } }) => [
    `${ok ? 'passed verify' : 'failed verify'}${stage === 'merge' ? ' when merged' : ''}${end === 'late' ? `, killed after ${Math.round(ms / 1_000)} s` : end === 'unable' ? ', could not be started' : ''}: ${command}`,
    output,
  ],
  'task.briefed': () => ['the review begins'],
  'task.unreviewed': ({ member, reason }) => [`${member} gave no verdict`, reason],
  'task.verdict': ({ member, verdict, comments }) => [`${verdict} by ${member ?? 'the user'}`, comments],
  'task.asked': ({ question }) => ['the user is asked', question],
  'task.answered': ({ option, text }) => [`answered${option === null ? '' : `: ${option}`}`, text],
  'task.approved': ({ by }) => [by === null ? 'may be committed' : `commit approved by ${by}`],
  'task.committing': () => ['is being committed'],
  'task.uncommitted': ({ reason }) => ['is not committed yet', reason],
  'task.committed': ({ commit, note }) => [`committed as ${shortCommit(commit)}`, note ?? null],
  'task.resolving': ({ files, tasks }) => [
    `its author resolves a conflict${tasks.length > 0 ? ` with ${tasks.join(', ')}` : ''}`,
    files.join('\n'),
  ],
  'task.differs': ({ commit, files }) => [
    `committed as ${shortCommit(commit)}, which differs from the approved change: it is reviewed again`,
    files.join('\n'),
  ],
  'task.merged': ({ merged }) => [`merged: the branch is at ${shortCommit(merged)}`],
  'task.conflict': ({ conflict, files }) => [`a conflict, which ${conflict} resolves`, files.join('\n')],
  'task.resolved': ({ conflict }) => [`${conflict} is done: merging again`],
  'task.parked': () => ['waits for the user, and its worker is free'],
  'task.resumed': ({ member }) => [`${member} has it again`],
  'task.blocked': ({ reason }) => ['waits to be merged', reason],
  'task.requeued': ({ reason, counts }) => [counts ? 'attempt failed' : 'back in the queue', reason],
  'task.done': ({ reason, by }) => [by === undefined ? 'done' : `done unchecked, marked by ${by}`, reason],
  'task.failed': ({ reason }) => ['failed', reason],
  'task.cancelled': ({ reason }) => ['cancelled', reason],
  'task.taken': ({ name, commit, report }) => [
    `done in an earlier crew, ${name}${commit === null ? '' : `, as ${shortCommit(commit)}`}`,
    report ?? null,
  ],
  'task.retried': ({ by }) => [`retried by ${by}`],
  'task.reopened': ({ by, comments }) => [`reopened by ${by}`, comments],
  'task.edited': (fact) => [
    `changed by ${fact.by}: ${EDITABLE.filter((key) => fact[key] !== undefined)
      .map((key) => (key === 'who' ? 'agent and model' : key))
      .join(', ')}`,
    fact.text ?? fact.acceptance ?? null,
  ],
  'task.message': ({ from, to, text }) => [`${from} to ${to}`, text],
}

/** The facts of members and of the crew that are shown. A turn is shown only if it failed or ended without a report. */
const CREW_ROWS: { readonly [T in CrewFactType]?: (fact: BodyOf<T>) => EventRow | null } = {
  'crew.joined': () => ['has joined'],
  'crew.setup': ({ ok, command, ran, copied }) => [
    `${ok ? 'its worktree is set up' : 'the setup of its worktree failed'}${copied > 0 ? `, with ${copied} ${copied === 1 ? 'file' : 'files'} copied` : ''}${command === null ? '' : `: ${command}`}`,
    ok ? null : (ran?.output ?? null),
  ],
  'crew.left': ({ how, reason }) => [how, reason],
  'crew.replaced': ({ heir, summary }) => [`${heir} takes over`, summary],
  'crew.held': ({ held, reason }) => [held ? `is paused${reason === undefined ? '' : ` (${reason})`}` : 'continues'],
  'crew.full': ({ share }) => [`its context is ${Math.round(share * 100)} % full`],
  'crew.turn': ({ end, error }) =>
    // `through`: the turn was accepted without a report, after the last reminder.
    end === 'failed' ? ['its turn failed', error ?? null] : end === 'through' ? ['ended its turn without a report'] : null,
  'crew.notified': ({ text }) => ['to you', text],
  'crew.ending': ({ outcome, summary }) => [outcome, summary],
}

/** The types of facts in a crew's log. Questions, answers and notifications are logged by other facts. */
export const CREW_LOG_FACTS: readonly FactBody['type'][] = [
  ...(Object.keys(TASK_ROWS) as TaskFactType[]),
  'crew.setup',
  'crew.left',
  'crew.replaced',
  'crew.full',
  'crew.turn',
  'crew.ending',
].filter((type) => type !== 'task.asked' && type !== 'task.answered') as FactBody['type'][]

/** The types of facts in the history of a task. */
export const TASK_FACTS: readonly FactBody['type'][] = [...(Object.keys(TASK_ROWS) as TaskFactType[]), 'crew.replaced']

/** Describes a fact; null if the fact is not shown. */
export function crewEventText(fact: FactBody): CrewEventText | null {
  if (isTaskFact(fact)) return toEventText(fact.task, (TASK_ROWS[fact.type] as (each: FactBody) => EventRow)(fact))
  const row = (CREW_ROWS as Readonly<Record<string, ((each: FactBody) => EventRow | null) | undefined>>)[fact.type]
  const event = row?.(fact) ?? null
  return event && toEventText('member' in fact && typeof fact.member === 'string' ? fact.member : null, event)
}

function toEventText(about: string | null, [what, text = null]: EventRow): CrewEventText {
  return { about, what, text: text === '' ? null : text }
}

function isTaskFact(fact: FactBody): fact is BodyOf<TaskFactType> {
  return Object.hasOwn(TASK_ROWS, fact.type)
}

function shortCommit(commit: string): string {
  return commit.slice(0, 10)
}
