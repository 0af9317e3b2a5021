// Runs of a compose file: which state of a node follows which, what is next, and what becomes of a node that ended.
// Owns the one table of states × facts; only `foldCompose` makes a new state. Knows no processes but by their UUIDs, no time and
// no chance: both come in. Tests: test/tables/compose.test.ts, test/simulation/compose.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { finalCause } from '../supervise/final.ts'
import type { ExitStatus } from '../kernel/types.ts'
import type { ComposeFact, ComposeNode, ComposeRun, ComposeSpec, NodeSpec, NodeState, Outcome } from './compose-types.ts'

type NodeFact = Exclude<ComposeFact, { readonly type: 'compose.finished' }>
type Event = NodeFact['type']
type Cell = NodeState | 'illegal'

/** What state a fact leads to. */
export const NODES: { readonly [S in NodeState]: { readonly [E in Event]: Cell } } = {
  waiting: {
    'compose.starting': 'starting', 'compose.started': 'illegal', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'illegal',
    'compose.blocked': 'blocked', 'compose.cancelled': 'illegal', 'compose.again': 'illegal', 'compose.resumed': 'illegal',
  },
  // Asked once more, after a pause or the end of a daemon: the first answer is late then. What it needs may be resumed meanwhile.
  starting: {
    'compose.starting': 'starting', 'compose.started': 'running', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'failed',
    'compose.blocked': 'illegal', 'compose.cancelled': 'illegal', 'compose.again': 'waiting', 'compose.resumed': 'illegal',
  },
  // Once more: of a run that ended under it, where what it needs is resumed.
  running: {
    'compose.starting': 'illegal', 'compose.started': 'illegal', 'compose.retrying': 'running', 'compose.completed': 'completed', 'compose.failed': 'failed',
    'compose.blocked': 'illegal', 'compose.cancelled': 'cancelled', 'compose.again': 'waiting', 'compose.resumed': 'illegal',
  },
  completed: {
    'compose.starting': 'illegal', 'compose.started': 'illegal', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'illegal',
    'compose.blocked': 'illegal', 'compose.cancelled': 'illegal', 'compose.again': 'waiting', 'compose.resumed': 'running',
  },
  failed: {
    'compose.starting': 'illegal', 'compose.started': 'illegal', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'illegal',
    'compose.blocked': 'illegal', 'compose.cancelled': 'illegal', 'compose.again': 'waiting', 'compose.resumed': 'running',
  },
  blocked: {
    'compose.starting': 'illegal', 'compose.started': 'illegal', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'illegal',
    'compose.blocked': 'illegal', 'compose.cancelled': 'illegal', 'compose.again': 'waiting', 'compose.resumed': 'illegal',
  },
  cancelled: {
    'compose.starting': 'illegal', 'compose.started': 'illegal', 'compose.retrying': 'illegal', 'compose.completed': 'illegal', 'compose.failed': 'illegal',
    'compose.blocked': 'illegal', 'compose.cancelled': 'illegal', 'compose.again': 'waiting', 'compose.resumed': 'running',
  },
}

/** Nothing more comes of it by itself. */
export function isOver(state: NodeState): boolean {
  return state === 'completed' || state === 'blocked' || isLost(state)
}

/** What needs it can never run. */
function isLost(state: NodeState): boolean {
  return state === 'failed' || state === 'cancelled'
}

export function newRun({ nodes }: ComposeSpec): ComposeRun {
  return { nodes: nodes.map(({ name }) => ({ name, state: 'waiting', uuid: null, attempts: 0, ask: 0, reason: null })) }
}

/** The run after a fact. Errors: INTERNAL for a fact that cannot follow. */
export function foldCompose(run: ComposeRun, fact: ComposeFact): ComposeRun {
  if (fact.type === 'compose.finished') return run
  if (!run.nodes.some(({ name }) => name === fact.node)) throw new KernelError('INTERNAL', `${fact.type} of "${fact.node}", which is no node`)
  return { ...run, nodes: run.nodes.map((node) => (node.name === fact.node ? moved(node, fact) : node)) }
}

function moved(node: ComposeNode, fact: NodeFact): ComposeNode {
  const state = NODES[node.state][fact.type]
  if (state === 'illegal') throw new KernelError('INTERNAL', `${fact.type} of node "${node.name}", which is ${node.state}`)
  return { ...node, state, reason: null, ...changed(fact) }
}

function changed(fact: NodeFact): Partial<ComposeNode> {
  switch (fact.type) {
    case 'compose.starting': return { ask: fact.ask }
    case 'compose.started': return { uuid: fact.child }
    case 'compose.retrying': return { attempts: fact.attempt, reason: fact.cause }
    case 'compose.completed': return {}
    case 'compose.failed':
    case 'compose.cancelled': return { reason: brief(fact.reason) }
    case 'compose.blocked': return { reason: `needs ${fact.by}` }
    case 'compose.again': return { uuid: null, attempts: 0 }
    case 'compose.resumed': return { uuid: fact.child, attempts: 0 }
  }
}

const BRIEF_CHARS = 300

/** Rows stay small. */
function brief(text: string): string {
  return text.length > BRIEF_CHARS ? `${text.slice(0, BRIEF_CHARS - 1)}…` : text
}

/** What is next of a run that may go on; null: it waits for what runs. */
export function next({ nodes: specs, parallel = Infinity }: ComposeSpec, run: ComposeRun): ComposeFact | null {
  const stateOf = new Map(run.nodes.map(({ name, state }) => [name, state]))
  const busy = run.nodes.filter(({ state }) => state === 'starting' || state === 'running').length
  for (const { name, needs } of specs) {
    if (stateOf.get(name) !== 'waiting') continue
    const lost = needs.find((need) => isHopeless(stateOf.get(need)))
    if (lost !== undefined) return { type: 'compose.blocked', node: name, by: lost }
    if (busy < parallel && needs.every((need) => stateOf.get(need) === 'completed')) return { type: 'compose.starting', node: name, ask: nextAsk(run) }
  }
  return run.nodes.every(({ state }) => isOver(state)) ? { type: 'compose.finished', outcome: outcomeOf(run) } : null
}

function isHopeless(state: NodeState | undefined): boolean {
  return state === 'blocked' || (state !== undefined && isLost(state))
}

/** No two requests of a run have one number. */
export function nextAsk({ nodes }: ComposeRun): number {
  return nodes.reduce((most, { ask }) => Math.max(most, ask), 0) + 1
}

function outcomeOf({ nodes }: ComposeRun): Outcome {
  const named = (state: NodeState): string[] => nodes.filter((node) => node.state === state).map(({ name }) => name)
  return { completed: named('completed'), failed: named('failed'), blocked: named('blocked'), cancelled: named('cancelled') }
}

/** `completed`, or what did not. */
export function outcomeWords({ completed: _, ...others }: Outcome): string {
  const words = Object.entries(others).flatMap(([state, names]) => (names.length === 0 ? [] : [`${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ''} ${state}`]))
  return words.length === 0 ? 'completed' : words.join('; ')
}

const NAMED = 10

export type AfterEnd =
  | { readonly do: 'complete' }
  | { readonly do: 'fail' | 'cancel'; readonly reason: string }
  /** it goes on where it was: its end was nobody's fault */
  | { readonly do: 'goOn' }
  | { readonly do: 'retry'; readonly attempt: number; readonly delayMs: number }

export interface End {
  readonly exit: ExitStatus
  /** it can go on where it was, or had not begun */
  readonly goesOn: boolean
  /** from 0 to below 1 */
  readonly chance: number
}

/** What becomes of a node whose process ended. What would only fail in the same way is not tried again. */
export function afterEnd({ retries }: Pick<NodeSpec, 'retries'>, { attempts }: Pick<ComposeNode, 'attempts'>, { exit, goesOn, chance }: End): AfterEnd {
  const { cause, code, reason, signal } = exit
  if (cause === 'person' || cause === 'parent') return { do: 'cancel', reason }
  if (cause === 'agent' && code === 0) return { do: 'complete' }
  const isCutOff = cause === 'daemon' && signal === undefined
  if (isCutOff && goesOn) return { do: 'goOn' }
  if (attempts < retries && finalCause(exit) === null) return { do: 'retry', attempt: attempts + 1, delayMs: isCutOff ? 0 : backoff(attempts, chance) }
  // Nobody knows what it had done, and nobody said that it may do that twice.
  return { do: 'fail', reason: isCutOff ? `${reason}, and it cannot go on where it was` : reason }
}

const FIRST_MS = 1_000
const MOST_MS = 60_000

function backoff(attempts: number, chance: number): number {
  return Math.round(Math.min(MOST_MS, FIRST_MS * 2 ** attempts) * (1 - chance / 2))
}
