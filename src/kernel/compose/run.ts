// Runs of a compose file: node states and their transitions, the next fact of a run, and the decision after a node has ended. `foldCompose`
// makes each new state, by the table of states × facts. Knows processes only by UUID. Uses no clock and no random source: the caller gives
// both. Tests: test/tables/kernel/compose/run.test.ts, test/simulation/compose.test.ts.
import { KernelError } from '../model/errors.ts'
import { nonRetryableCause } from '../supervise/non-retryable.ts'
import type { ExitStatus } from '../model/process.ts'
import type { ComposeFact, ComposeNode, ComposeRun, NodeState, RunOutcome } from '../model/compose.ts'
import type { ComposeSpec, NodeSpec } from '../model/process-spec.ts'
import { truncate } from '../util/truncate.ts'

type NodeFact = Exclude<ComposeFact, { readonly type: 'compose.finished' }>
type NodeFactType = NodeFact['type']
type NextState = NodeState | 'illegal'

/** For each state, the state after each fact. */
export const NODE_TRANSITIONS: { readonly [S in NodeState]: { readonly [F in NodeFactType]: NextState } } = {
  waiting: {
    'compose.starting': 'starting',
    'compose.started': 'illegal',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'illegal',
    'compose.blocked': 'blocked',
    'compose.cancelled': 'illegal',
    'compose.again': 'illegal',
    'compose.resumed': 'illegal',
  },
  // After a pause or a daemon's end the request is repeated with a new number. `compose.again` follows when the user
  // resumes a needed node in the meantime.
  starting: {
    'compose.starting': 'starting',
    'compose.started': 'running',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'failed',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'illegal',
    'compose.again': 'waiting',
    'compose.resumed': 'illegal',
  },
  // `compose.again` follows when the run ended before its running node, and then a needed node was resumed.
  running: {
    'compose.starting': 'illegal',
    'compose.started': 'illegal',
    'compose.retrying': 'running',
    'compose.completed': 'completed',
    'compose.failed': 'failed',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'cancelled',
    'compose.again': 'waiting',
    'compose.resumed': 'illegal',
  },
  completed: {
    'compose.starting': 'illegal',
    'compose.started': 'illegal',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'illegal',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'illegal',
    'compose.again': 'waiting',
    'compose.resumed': 'running',
  },
  failed: {
    'compose.starting': 'illegal',
    'compose.started': 'illegal',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'illegal',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'illegal',
    'compose.again': 'waiting',
    'compose.resumed': 'running',
  },
  blocked: {
    'compose.starting': 'illegal',
    'compose.started': 'illegal',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'illegal',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'illegal',
    'compose.again': 'waiting',
    'compose.resumed': 'illegal',
  },
  cancelled: {
    'compose.starting': 'illegal',
    'compose.started': 'illegal',
    'compose.retrying': 'illegal',
    'compose.completed': 'illegal',
    'compose.failed': 'illegal',
    'compose.blocked': 'illegal',
    'compose.cancelled': 'illegal',
    'compose.again': 'waiting',
    'compose.resumed': 'running',
  },
}

/** True for a state that the node leaves only if the user resumes it or a needed node. */
export function isFinalState(state: NodeState): boolean {
  return state === 'completed' || state === 'blocked' || isUnsuccessful(state)
}

function isUnsuccessful(state: NodeState): boolean {
  return state === 'failed' || state === 'cancelled'
}

/** A run whose nodes all wait. */
export function createRun({ nodes }: ComposeSpec): ComposeRun {
  return { nodes: nodes.map(({ name }) => ({ name, state: 'waiting', uuid: null, attempts: 0, ask: 0, reason: null })) }
}

/** The run after a fact. Errors: INTERNAL for a fact that the table does not allow. */
export function foldCompose(run: ComposeRun, fact: ComposeFact): ComposeRun {
  if (fact.type === 'compose.finished') return run
  if (!run.nodes.some(({ name }) => name === fact.node))
    throw new KernelError('INTERNAL', `${fact.type} of "${fact.node}", which is not a node`)
  return { ...run, nodes: run.nodes.map((node) => (node.name === fact.node ? moveNode(node, fact) : node)) }
}

function moveNode(node: ComposeNode, fact: NodeFact): ComposeNode {
  const state = NODE_TRANSITIONS[node.state][fact.type]
  if (state === 'illegal') throw new KernelError('INTERNAL', `${fact.type} of node "${node.name}", which is ${node.state}`)
  return { ...node, state, reason: null, ...changesBy(fact) }
}

function changesBy(fact: NodeFact): Partial<ComposeNode> {
  switch (fact.type) {
    case 'compose.starting':
      return { ask: fact.ask }
    case 'compose.started':
      return { uuid: fact.child }
    case 'compose.retrying':
      return { attempts: fact.attempt, reason: fact.cause }
    case 'compose.completed':
      return {}
    case 'compose.failed':
    case 'compose.cancelled':
      return { reason: shortenReason(fact.reason) }
    case 'compose.blocked':
      return { reason: `needs ${fact.by}` }
    case 'compose.again':
      return { uuid: null, attempts: 0 }
    case 'compose.resumed':
      return { uuid: fact.child, attempts: 0 }
  }
}

const MAX_REASON_CHARS = 300

/** Shortens a reason, because rows must be small. */
function shortenReason(text: string): string {
  return truncate(text, MAX_REASON_CHARS, '…')
}

/** The next fact of a run that is not paused or stopping; null: the run waits for its running nodes. */
export function nextRunFact({ nodes: specs, parallel = Infinity }: ComposeSpec, run: ComposeRun): ComposeFact | null {
  const stateOf = new Map(run.nodes.map(({ name, state }) => [name, state]))
  const busyCount = run.nodes.filter(({ state }) => state === 'starting' || state === 'running').length
  for (const { name, needs } of specs) {
    if (stateOf.get(name) !== 'waiting') continue
    const blocker = needs.find((need) => blocksDependents(stateOf.get(need)))
    if (blocker !== undefined) return { type: 'compose.blocked', node: name, by: blocker }
    if (busyCount < parallel && needs.every((need) => stateOf.get(need) === 'completed'))
      return { type: 'compose.starting', node: name, ask: nextRequestNumber(run) }
  }
  return run.nodes.every(({ state }) => isFinalState(state)) ? { type: 'compose.finished', outcome: outcomeOf(run) } : null
}

/** True for a state after which dependents of the node cannot run. */
function blocksDependents(state: NodeState | undefined): boolean {
  return state === 'blocked' || (state !== undefined && isUnsuccessful(state))
}

/** The number of the run's next build request. */
export function nextRequestNumber({ nodes }: ComposeRun): number {
  return nodes.reduce((highest, { ask }) => Math.max(highest, ask), 0) + 1
}

function outcomeOf({ nodes }: ComposeRun): RunOutcome {
  const namesIn = (state: NodeState): string[] => nodes.filter((node) => node.state === state).map(({ name }) => name)
  return { completed: namesIn('completed'), failed: namesIn('failed'), blocked: namesIn('blocked'), cancelled: namesIn('cancelled') }
}

/** The outcome as text: `completed`, or the names of the other nodes by state, and how many more there are. */
export function outcomeText({ completed: _, ...others }: RunOutcome): string {
  const parts = Object.entries(others).flatMap(([state, names]) =>
    names.length === 0
      ? []
      : [`${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''} ${state}`],
  )
  return parts.length === 0 ? 'completed' : parts.join('; ')
}

/** maximum number of names per state in the text of an outcome */
const MAX_NAMES = 10

/** What follows the end of a node's process. */
export type NodeDecision =
  | { readonly do: 'complete' }
  | { readonly do: 'fail' | 'cancel'; readonly reason: string }
  /** the process restarts and continues its work; the end does not count, because the node was not at fault */
  | { readonly do: 'continue' }
  | { readonly do: 'retry'; readonly attempt: number; readonly delayMs: number }

export interface NodeEnd {
  readonly exit: ExitStatus
  /** the process can continue its work, or had not begun */
  readonly canContinue: boolean
  /** a number from 0 to below 1 */
  readonly chance: number
}

/** Decides what follows the end of a node's process. A failure that a retry would only repeat is not retried. */
export function decideAfterEnd(
  { retries }: Pick<NodeSpec, 'retries'>,
  { attempts }: Pick<ComposeNode, 'attempts'>,
  { exit, canContinue, chance }: NodeEnd,
): NodeDecision {
  const { cause, code, reason, signal } = exit
  if (cause === 'person' || cause === 'parent') return { do: 'cancel', reason }
  if (cause === 'agent' && code === 0) return { do: 'complete' }
  const isInterrupted = cause === 'daemon' && signal === undefined
  if (isInterrupted && canContinue) return { do: 'continue' }
  if (attempts < retries && nonRetryableCause(exit) === null)
    return { do: 'retry', attempt: attempts + 1, delayMs: isInterrupted ? 0 : backoffMs(attempts, chance) }
  // An interrupted process that cannot continue may have done part of its work, which must not be done twice.
  return { do: 'fail', reason: isInterrupted ? `${reason}, and it cannot continue where it was` : reason }
}

const BACKOFF_FIRST_MS = 1_000
const BACKOFF_MAX_MS = 60_000

function backoffMs(attempts: number, chance: number): number {
  return Math.round(Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** attempts) * (1 - chance / 2))
}
