// Which actions the row of a process allows, why it refuses others, and which of them end a wait. Also how an action is undone. All
// buttons, keys and menus of the page and of `reeve top` ask here, so that no action is offered that the daemon refuses. Pure.
// Test: test/tables/faces/row-verbs.test.ts.
import type { RowView } from '../api/views/rows.ts'
import type { KeyAction } from './keys.ts'
import { titleOf } from './process-names.ts'
import { isHeldByHome } from './wait-links.ts'

/** The actions on one process, by the names of their keys. */
export type RowVerb = Extract<
  KeyAction,
  'pauseOrResume' | 'resumeWith' | 'pauseNow' | 'interrupt' | 'message' | 'raiseBudget' | 'fork' | 'stop' | 'kill' | 'markSeen' | 'snooze'
>

type Row = Pick<
  RowView,
  'status' | 'kind' | 'why' | 'endedAt' | 'resumes' | 'forks' | 'step' | 'budget' | 'attention' | 'unseen' | 'snoozedUntil'
>
type Enders = NonNullable<NonNullable<RowView['why']>['can']>

/** Whether the row names a command as one that ends the wait. */
const canEnd = ({ why }: Row, command: Enders[number]): boolean => why?.can?.includes(command) ?? false
const isHeld = ({ status }: Row): boolean => status === 'suspended'
const isEnding = ({ status }: Row): boolean => status === 'stopping' || status === 'zombie'
/** Whether the process lives, and is not being ended. */
const isActive = (row: Row): boolean => row.endedAt === null && !isEnding(row)

const ALLOWS: Readonly<Record<RowVerb, (row: Row) => boolean>> = {
  // Some holds end by themselves alone, such as that of a full disk: `can` has no `resume` then.
  pauseOrResume: (row) => isActive(row) && (!isHeld(row) || canEnd(row, 'resume')),
  resumeWith: (row) => (row.endedAt === null ? isHeld(row) && canEnd(row, 'resume') : row.resumes),
  pauseNow: (row) => isActive(row) && !isHeld(row),
  interrupt: (row) => row.status === 'working' && canEnd(row, 'interrupt'),
  message: (row) => isActive(row) && row.kind === 'agent',
  // A running process keeps its limits.
  raiseBudget: (row) => isHeld(row) && row.budget?.limit === 'budgetUsd',
  fork: (row) => (row.forks === 'now' ? row.step > 0 : row.forks === 'any step' && lastWholeStep(row) > 0),
  stop: isActive,
  kill: (row) => isActive(row) || (row.endedAt === null && canEnd(row, 'kill')),
  markSeen: ({ unseen }) => unseen,
  snooze: ({ attention }) => attention > 0,
}

export function isRowVerb(action: string): action is RowVerb {
  return Object.hasOwn(ALLOWS, action)
}

/** Whether the daemon accepts an action on the process of this row, as far as the row shows that. */
export function allowsVerb(row: Row, verb: RowVerb): boolean {
  return ALLOWS[verb](row)
}

/** The last step that a fork can begin after. The last step of a living process may still run, unless its turn has ended. */
export function lastWholeStep({ endedAt, status, step }: Pick<Row, 'endedAt' | 'status' | 'step'>): number {
  return endedAt === null && status !== 'ready' ? step - 1 : step
}

/** Why an action is refused. `obstacleTo` itself names the end of the process, for actions that need a living one. */
const REASONS: Readonly<Record<RowVerb, (row: RowView) => string>> = {
  pauseOrResume: () => 'waits for something that no resume ends',
  resumeWith: ({ status }) => (status === 'suspended' ? 'waits for something that no resume ends' : 'runs: m writes a message'),
  pauseNow: () => 'is suspended already',
  interrupt: () => 'has no turn that can be interrupted now',
  message: ({ kind }) => `takes no messages: it is a ${kind}`,
  raiseBudget: ({ budget, status }) =>
    budget?.limit === 'budgetUsd' && status !== 'suspended'
      ? 'runs: its budget can be raised while it is suspended; p pauses it'
      : 'has no budget in USD, or another limit is nearer',
  fork: (row) =>
    row.forks !== 'no' && lastWholeStep(row) <= 0
      ? 'cannot be forked yet: it has finished no step'
      : 'cannot be forked: it has no history that another process can continue',
  stop: () => 'is being stopped',
  kill: () => 'is being stopped',
  markSeen: () => 'has nothing that you have not seen',
  snooze: () => 'needs nothing that can be put off',
}

/** The actions that an ended process may allow. */
const AFTER_END: ReadonlySet<RowVerb> = new Set(['resumeWith', 'fork', 'markSeen', 'snooze'])

/** Why an action is not possible for a process now, as a sentence for the user; null: it is possible. */
export function obstacleTo(verb: RowVerb, row: RowView): string | null {
  if (allowsVerb(row, verb)) return null
  const name = titleOf(row)
  if (row.endedAt !== null && verb === 'resumeWith') return `${name} cannot be resumed: it has no history to continue`
  if (row.endedAt !== null && !AFTER_END.has(verb))
    return `${name} has ended${verb === 'message' && row.resumes ? ': R resumes it with a message' : ''}`
  return `${name} ${isEnding(row) && !AFTER_END.has(verb) ? REASONS.stop(row) : REASONS[verb](row)}`
}

/** The actions of each command that ends a wait. */
const VERBS_OF: Readonly<Record<Enders[number], readonly RowVerb[]>> = {
  resume: ['pauseOrResume', 'resumeWith'],
  send: ['message'],
  interrupt: ['interrupt'],
  stop: ['stop'],
  kill: ['kill'],
  answer: [],
  crew: [],
  doctor: [],
}

/** True if a budget of the process itself holds it: one in USD, or a limit that is not known. */
function isHeldByOwnBudget({ why }: Row): boolean {
  if (why?.kind !== 'hold:budget' || why.on !== undefined || isHeldByHome({ why })) return false
  return why.limit === undefined || why.limit === 'budgetUsd'
}

/** The actions that end what the process needs from the user, the most useful first. Answers of questions are not among them. */
export function helpfulVerbs(row: Row): RowVerb[] {
  const wanted: readonly RowVerb[] =
    row.endedAt === null
      ? [...(isHeldByOwnBudget(row) ? (['raiseBudget'] as const) : []), ...(row.why?.can ?? []).flatMap((one) => VERBS_OF[one]), 'stop']
      : ['resumeWith']
  return [...new Set<RowVerb>([...wanted, 'markSeen', 'snooze'])].filter((verb) => allowsVerb(row, verb))
}

/** A request that undoes an action. */
export interface Undo {
  readonly verb: 'pause' | 'resume'
  readonly body: { readonly subtree: boolean; readonly only?: true }
}

type TreeRow = Pick<RowView, 'status' | 'under'>

/** Whether a process above it is held. A resume by the user also wakes the paused processes above. */
function isBelowHeld({ under }: Pick<RowView, 'under'>, rows: ReadonlyMap<string, TreeRow>): boolean {
  for (let above = rows.get(under ?? ''); above; above = rows.get(above.under ?? '')) if (above.status === 'suspended') return true
  return false
}

/**
 * Returns the request that undoes a pause or a resume of a process and its descendants; null if none does. `row` and `rows` are those
 * before that action. A resume can be undone only if the user had paused the process, and if the resume wakes no process above it.
 */
export function undoOf(row: Pick<RowView, 'status' | 'uuid' | 'why' | 'under'>, rows: ReadonlyMap<string, TreeRow>): Undo | null {
  const { status, uuid, why } = row
  if (status !== 'suspended') return { verb: 'resume', body: { subtree: true, only: true } }
  if (isBelowHeld(row, rows)) return null
  if (why?.kind === 'hold:user') return { verb: 'pause', body: { subtree: false } }
  return why?.kind === 'hold:subtree' && (why.on === undefined || why.on === uuid) ? { verb: 'pause', body: { subtree: true } } : null
}

/**
 * Whether one resume of all these processes undoes their pause. `targets` and `rows` are those before the pause. The resume must not wake
 * what was suspended before: neither a target nor a process above one.
 */
export function isPauseUndone(targets: readonly TreeRow[], rows: ReadonlyMap<string, TreeRow>): boolean {
  return targets.every((row) => row.status !== 'suspended' && !isBelowHeld(row, rows))
}
