// The nodes of a run, as tables: every state with every fact, the next fact of a run, and the decision after every end of a process.
import { describe, expect, test } from 'vitest'
import {
  NODE_TRANSITIONS,
  decideAfterEnd,
  foldCompose,
  nextRunFact,
  nextRequestNumber,
  outcomeText,
} from '../../../../src/kernel/compose/run.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import type { ComposeFact, ComposeNode, ComposeRun, NodeState } from '../../../../src/kernel/model/compose.ts'
import type { ExitStatus } from '../../../../src/kernel/model/process.ts'
import type { ComposeSpec } from '../../../../src/kernel/model/process-spec.ts'

type NodeFact = Exclude<ComposeFact, { type: 'compose.finished' }>
const FACTS: readonly NodeFact[] = [
  { type: 'compose.starting', node: 'a', ask: 7 },
  { type: 'compose.started', node: 'a', child: 'new' },
  { type: 'compose.retrying', node: 'a', child: 'old', attempt: 2, cause: 'exit code 3', delayMs: 5 },
  { type: 'compose.completed', node: 'a', child: 'old' },
  { type: 'compose.failed', node: 'a', reason: 'why' },
  { type: 'compose.blocked', node: 'a', by: 'x' },
  { type: 'compose.cancelled', node: 'a', reason: 'who' },
  { type: 'compose.again', node: 'a', by: 'user' },
  { type: 'compose.resumed', node: 'a', child: 'new', by: 'user' },
]
const STATES = Object.keys(NODE_TRANSITIONS) as NodeState[]

/** The facts that each state allows: the transition table written a second time, independently. */
const ALLOWED_FACTS: Readonly<Record<NodeState, readonly string[]>> = {
  waiting: ['starting', 'blocked'],
  starting: ['starting', 'started', 'failed', 'again'],
  running: ['retrying', 'completed', 'failed', 'cancelled', 'again'],
  completed: ['again', 'resumed'],
  failed: ['again', 'resumed'],
  blocked: ['again'],
  cancelled: ['again', 'resumed'],
}

function makeNode(name: string, state: NodeState, changes: Partial<ComposeNode> = {}): ComposeNode {
  return { name, state, uuid: 'old', attempts: 1, ask: 3, reason: 'before', ...changes }
}

describe('a node', () => {
  test.each(STATES.flatMap((state) => FACTS.map((fact) => ({ state, fact }))))(
    'in the state $state accepts or refuses $fact.type as the table states',
    ({ state, fact }) => {
      const run: ComposeRun = { nodes: [makeNode('a', state), makeNode('b', 'running')] }
      if (!ALLOWED_FACTS[state].includes(fact.type.slice('compose.'.length))) {
        expect(() => foldCompose(run, fact)).toThrow(`${fact.type} of node "a", which is ${state}`)
        return
      }
      const folded = foldCompose(run, fact)
      expect(folded.nodes[1]).toBe(run.nodes[1])
      expect(folded.nodes[0]?.state).toBe(NODE_TRANSITIONS[state][fact.type])
    },
  )

  test('each fact changes its fields besides the state', () => {
    const changedFields = (state: NodeState, index: number): Partial<ComposeNode> | undefined => {
      const fact = FACTS[index]
      return fact && foldCompose({ nodes: [makeNode('a', state)] }, fact).nodes[0]
    }
    expect(changedFields('waiting', 0)).toEqual({ name: 'a', state: 'starting', uuid: 'old', attempts: 1, ask: 7, reason: null })
    expect(changedFields('starting', 1)).toMatchObject({ state: 'running', uuid: 'new', attempts: 1, reason: null })
    expect(changedFields('running', 2)).toMatchObject({ state: 'running', uuid: 'old', attempts: 2, reason: 'exit code 3' })
    expect(changedFields('running', 3)).toMatchObject({ state: 'completed', uuid: 'old', reason: null })
    expect(changedFields('starting', 4)).toMatchObject({ state: 'failed', reason: 'why' })
    expect(changedFields('waiting', 5)).toMatchObject({ state: 'blocked', reason: 'needs x' })
    expect(changedFields('running', 6)).toMatchObject({ state: 'cancelled', uuid: 'old', reason: 'who' })
    expect(changedFields('completed', 7)).toEqual({ name: 'a', state: 'waiting', uuid: null, attempts: 0, ask: 3, reason: null })
    expect(changedFields('failed', 8)).toMatchObject({ state: 'running', uuid: 'new', attempts: 0, reason: null })
  })

  test('has a shortened reason in the row, and a fact of an unknown node is refused', () => {
    const [node] = foldCompose(
      { nodes: [makeNode('a', 'running')] },
      { type: 'compose.failed', node: 'a', reason: 'x'.repeat(10_000) },
    ).nodes
    expect(node?.reason).toHaveLength(300)
    expect(() => foldCompose({ nodes: [] }, { type: 'compose.again', node: 'a', by: 'user' })).toThrow(
      'compose.again of "a", which is not a node',
    )
  })
})

describe('the next fact of a run', () => {
  const makeSpec = (needs: Readonly<Record<string, readonly string[]>>, parallel?: number): ComposeSpec => ({
    file: '/f',
    ...(parallel === undefined ? {} : { parallel }),
    nodes: Object.entries(needs).map(([name, needsOfNode]) => ({ name, needs: needsOfNode, retries: 0, template: kernelSpec() })),
  })
  const makeRun = (...states: readonly NodeState[]): ComposeRun => ({
    nodes: states.map((state, index) => makeNode('abcdef'[index] ?? '', state, { ask: index })),
  })
  const TRIANGLE = { a: [], b: ['a'], c: ['a', 'b'] }

  test.each([
    [
      'starts the first node without open dependencies',
      makeSpec(TRIANGLE),
      makeRun('waiting', 'waiting', 'waiting'),
      { type: 'compose.starting', node: 'a', ask: 3 },
    ],
    ['is none while the only possible node runs', makeSpec(TRIANGLE), makeRun('running', 'waiting', 'waiting'), null],
    ['is none while the only possible node starts', makeSpec(TRIANGLE), makeRun('starting', 'waiting', 'waiting'), null],
    [
      'starts the next node when its dependency has completed',
      makeSpec(TRIANGLE),
      makeRun('completed', 'waiting', 'waiting'),
      { type: 'compose.starting', node: 'b', ask: 3 },
    ],
    ['is none while one of two dependencies runs', makeSpec(TRIANGLE), makeRun('completed', 'running', 'waiting'), null],
    [
      'blocks a node whose dependency has failed',
      makeSpec(TRIANGLE),
      makeRun('failed', 'waiting', 'waiting'),
      { type: 'compose.blocked', node: 'b', by: 'a' },
    ],
    [
      'blocks a node whose dependency is blocked',
      makeSpec(TRIANGLE),
      makeRun('failed', 'blocked', 'waiting'),
      { type: 'compose.blocked', node: 'c', by: 'a' },
    ],
    [
      'blocks a node whose dependency was cancelled',
      makeSpec(TRIANGLE),
      makeRun('completed', 'cancelled', 'waiting'),
      { type: 'compose.blocked', node: 'c', by: 'b' },
    ],
    ['does not start a starting node twice', makeSpec(TRIANGLE), makeRun('completed', 'completed', 'starting'), null],
    [
      'finishes a run whose nodes have all ended',
      makeSpec(TRIANGLE),
      makeRun('completed', 'failed', 'blocked'),
      { type: 'compose.finished', outcome: { completed: ['a'], failed: ['b'], blocked: ['c'], cancelled: [] } },
    ],
    [
      'starts no more nodes at the same time than allowed',
      makeSpec({ a: [], b: [], c: [] }, 2),
      makeRun('running', 'starting', 'waiting'),
      null,
    ],
    [
      'starts another node when one of the allowed number has ended',
      makeSpec({ a: [], b: [], c: [] }, 2),
      makeRun('running', 'completed', 'waiting'),
      { type: 'compose.starting', node: 'c', ask: 3 },
    ],
    [
      'blocks a node even when the allowed number runs',
      makeSpec({ a: [], b: ['c'], c: [] }, 1),
      makeRun('running', 'waiting', 'failed'),
      { type: 'compose.blocked', node: 'b', by: 'c' },
    ],
  ] as const)('%s', (_, spec, state, fact) => {
    expect(nextRunFact(spec, state)).toEqual(fact)
  })

  test('each request has its own number', () => {
    expect(nextRequestNumber({ nodes: [] })).toBe(1)
    expect(nextRequestNumber(makeRun('waiting', 'waiting', 'waiting'))).toBe(3)
  })

  test('the outcome is shown as text', () => {
    const outcome = { completed: ['a'], failed: [], blocked: [], cancelled: [] }
    expect(outcomeText(outcome)).toBe('completed')
    expect(outcomeText({ ...outcome, failed: ['b', 'c'], cancelled: ['d'] })).toBe('b, c failed; d cancelled')
    expect(outcomeText({ ...outcome, blocked: Array.from({ length: 12 }, (__, index) => `n${index}`) })).toBe(
      'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more blocked',
    )
  })
})

describe('the decision after the end of a node', () => {
  const agentExit = (code: number, error?: string): ExitStatus => ({
    code,
    reason: error ?? `exit code ${code}`,
    cause: 'agent',
    ...(error === undefined ? {} : { error }),
  })
  const interrupted: ExitStatus = { code: 1, reason: 'interrupted', cause: 'daemon' }
  const decisionAfter = (exit: ExitStatus, { retries = 0, attempts = 0, canContinue = true } = {}): unknown =>
    decideAfterEnd({ retries }, { attempts }, { exit, canContinue, chance: 0 })

  test.each<[string, ExitStatus, object, unknown]>([
    ['after a success completes the node', agentExit(0), {}, { do: 'complete' }],
    ['after a failure fails the node', agentExit(3), {}, { do: 'fail', reason: 'exit code 3' }],
    ['after a failure with retries left retries the node', agentExit(3), { retries: 2 }, { do: 'retry', attempt: 1, delayMs: 1_000 }],
    ['after a second failure doubles the delay', agentExit(3), { retries: 2, attempts: 1 }, { do: 'retry', attempt: 2, delayMs: 2_000 }],
    [
      'after a failure without retries left fails the node',
      agentExit(3),
      { retries: 2, attempts: 2 },
      { do: 'fail', reason: 'exit code 3' },
    ],
    [
      'after many failures has a limit for the delay',
      agentExit(3),
      { retries: 100, attempts: 20 },
      { do: 'retry', attempt: 21, delayMs: 60_000 },
    ],
    [
      'after a refused key fails the node, because a retry would not help',
      { ...agentExit(1, '401 no'), status: 401 },
      { retries: 2 },
      { do: 'fail', reason: '401 no' },
    ],
    [
      'by a limit fails the node',
      { code: 1, reason: 'max steps exceeded', cause: 'limit' },
      { retries: 2 },
      { do: 'fail', reason: 'max steps exceeded' },
    ],
    [
      'by the user cancels the node',
      { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM', cause: 'person' },
      { retries: 2 },
      { do: 'cancel', reason: 'SIGTERM from user' },
    ],
    [
      'by a stop of the run cancels the node',
      { code: 143, reason: 'SIGTERM from agent:x', signal: 'SIGTERM', cause: 'parent' },
      { retries: 2 },
      { do: 'cancel', reason: 'SIGTERM from agent:x' },
    ],
    ['by the daemon continues a node with a session', interrupted, {}, { do: 'continue' }],
    [
      'by the daemon continues a node with a session even without retries left',
      interrupted,
      { retries: 1, attempts: 1 },
      { do: 'continue' },
    ],
    [
      'by the daemon fails a node without a session',
      interrupted,
      { canContinue: false },
      { do: 'fail', reason: 'interrupted, and it cannot continue where it was' },
    ],
    [
      'by the daemon retries a node without a session at once',
      interrupted,
      { canContinue: false, retries: 1 },
      { do: 'retry', attempt: 1, delayMs: 0 },
    ],
    [
      'by the system fails the node',
      { code: 137, reason: 'SIGKILL from system', signal: 'SIGKILL', cause: 'daemon' },
      {},
      { do: 'fail', reason: 'SIGKILL from system' },
    ],
    [
      'by the system with retries left retries the node',
      { code: 137, reason: 'SIGKILL from system', signal: 'SIGKILL', cause: 'daemon' },
      { retries: 1 },
      { do: 'retry', attempt: 1, delayMs: 1_000 },
    ],
  ])('%s', (_, exit, settings, expected) => {
    expect(decisionAfter(exit, settings)).toEqual(expected)
  })

  test('jitter shortens a backoff by up to half', () => {
    expect(decideAfterEnd({ retries: 1 }, { attempts: 0 }, { exit: agentExit(1), canContinue: true, chance: 0.998 })).toMatchObject({
      delayMs: 501,
    })
  })
})
