// What happens in a crew, in words, from the facts of its journal: one row per kind of fact that people are told of. For the
// history of a task, and for who follows a crew. Pure, and loads nothing. Test: test/tables/crew-words.test.ts.
import type { FactBody } from '../kernel/facts.ts'

type TaskFactType = Extract<FactBody['type'], `task.${string}`>
type CrewFactType = Extract<FactBody['type'], `crew.${string}`>
type FactOf<T extends FactBody['type']> = Extract<FactBody, { type: T }>

/** `about`: a task, or a member. `text` is what was said then, whole. */
export interface CrewWords {
  readonly about: string | null
  readonly what: string
  readonly text: string | null
}

type Said = readonly [what: string, text?: string | null]

const TASKS: { readonly [T in TaskFactType]: (fact: FactOf<T>) => Said } = {
  'task.added': ({ by, kind }) => [`added by ${by}${kind === 'work' ? '' : `, for ${kind === 'human' ? 'a person' : 'a conflict'}`}`],
  'task.assigned': ({ member }) => [`assigned to ${member}`],
  'task.prepared': ({ base }) => [base === null ? 'ready to begin' : `begins at ${short(base)}`],
  'task.reported': ({ member, summary }) => [`${member} says that it is done`, summary],
  'task.review': ({ member, earlier }) => [`${member} reviews it${earlier ? ', who held it once: there is nobody else' : ''}`],
  'task.briefed': () => ['the review begins'],
  'task.unreviewed': ({ member, reason }) => [`${member} gave no verdict`, reason],
  'task.verdict': ({ member, verdict, comments }) => [`${verdict} by ${member ?? 'a person'}`, comments],
  'task.asked': ({ question }) => ['a person is asked', question],
  'task.answered': ({ option, text }) => [`answered${option === null ? '' : `: ${option}`}`, text],
  'task.approved': ({ by }) => [by === null ? 'may be committed' : `may be committed, says ${by}`],
  'task.committing': () => ['is being committed'],
  'task.uncommitted': ({ reason }) => ['is not committed yet', reason],
  'task.committed': ({ commit }) => [`committed as ${short(commit)}`],
  'task.merged': ({ merged }) => [`merged: the branch is at ${short(merged)}`],
  'task.conflict': ({ conflict, files }) => [`a conflict, which ${conflict} resolves`, files.join('\n')],
  'task.requeued': ({ reason, counts }) => [`back in the queue${counts ? ', as a failed try' : ''}`, reason],
  'task.done': ({ reason }) => ['done', reason],
  'task.failed': ({ reason }) => ['failed', reason],
  'task.cancelled': ({ reason }) => ['cancelled', reason],
  'task.message': ({ from, to, text }) => [`${from} to ${to}`, text],
}

/** Those that are worth a line; what is about a turn or a job is no news. */
const MEMBERS: { readonly [T in CrewFactType]?: (fact: FactOf<T>) => Said | null } = {
  'crew.joined': () => ['is there'],
  'crew.left': ({ how, reason }) => [how, reason],
  'crew.replaced': ({ heir, summary }) => [`${heir} takes its place`, summary],
  'crew.held': ({ held, reason }) => [held ? `is paused${reason === undefined ? '' : ` (${reason})`}` : 'goes on'],
  'crew.full': ({ share }) => [`its context is ${Math.round(share * 100)} % full`],
  'crew.turn': ({ end, error }) => (end === 'failed' ? ['its turn failed', error ?? null] : end === 'through' ? ['ended its turn without a report'] : null),
  'crew.notified': ({ text }) => ['to you', text],
  'crew.ending': ({ outcome, summary }) => [outcome, summary],
}

/** Those of a crew's log: what it asks, is answered and tells stands there already. */
export const CREW_LOG: readonly FactBody['type'][] = [...Object.keys(TASKS) as TaskFactType[], 'crew.left', 'crew.replaced', 'crew.full', 'crew.turn', 'crew.ending'].filter((type) => type !== 'task.asked' && type !== 'task.answered') as FactBody['type'][]

/** Those of the history of a task. */
export const TASK_FACTS: readonly FactBody['type'][] = [...Object.keys(TASKS) as TaskFactType[], 'crew.replaced']

/** Null for what nobody need be told of. */
export function crewWords(fact: FactBody): CrewWords | null {
  if (isTaskFact(fact)) return words(fact.task, (TASKS[fact.type] as (each: FactBody) => Said)(fact))
  const row = (MEMBERS as Readonly<Record<string, ((each: FactBody) => Said | null) | undefined>>)[fact.type]
  const said = row?.(fact) ?? null
  return said && words('member' in fact && typeof fact.member === 'string' ? fact.member : null, said)
}

function words(about: string | null, [what, text = null]: Said): CrewWords {
  return { about, what, text: text === '' ? null : text }
}

function isTaskFact(fact: FactBody): fact is FactOf<TaskFactType> {
  return Object.hasOwn(TASKS, fact.type)
}

function short(commit: string): string {
  return commit.slice(0, 10)
}
