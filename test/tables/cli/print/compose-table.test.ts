// The texts about runs: the table of nodes, the line of a node, the list of runs.
import { expect, test } from 'vitest'
import { nodeLine, nodeTable, runSummary, runTable, type TableStyle } from '../../../../src/cli/print/compose-table.ts'
import type { NodeProcessView, NodeView, RunView } from '../../../../src/api/views/compose.ts'

const STYLE: TableStyle = { columns: 100, ellipsis: '…', paint: (colour, text) => (colour === 'red' ? `!${text.trimEnd()}!` : text) }

const makeProcess = (changes: Partial<NodeProcessView> = {}): NodeProcessView => ({
  uuid: '0198c1a2-7b54-7cc3-9d4e-5f60718293a4',
  pid: 5,
  status: 'working',
  agent: 'default',
  model: 'script:a.yaml',
  step: 2,
  elapsedMs: 61_000,
  costUsd: 0.25,
  unpriced: false,
  note: null,
  holds: [],
  asks: [],
  ...changes,
})
const makeNode = (name: string, state: NodeView['state'], changes: Partial<NodeView> = {}): NodeView => ({
  name,
  state,
  reason: null,
  needs: [],
  attempts: 0,
  retries: 0,
  process: null,
  ...changes,
})
const makeRun = (changes: Partial<RunView> = {}): RunView => ({
  uuid: '0198c1a2-7b54-7cc3-9d4e-5f60718293a4',
  pid: 1,
  name: 'app',
  status: 'ready',
  file: '/src/app/reeve.yaml',
  createdAt: '2026-11-20T10:00:00.000Z',
  exitedAt: null,
  elapsedMs: 90_000,
  exit: null,
  costUsd: 0.25,
  unpriced: true,
  note: null,
  holds: [],
  asks: [],
  nodes: [],
  ...changes,
})

const NODES = [
  makeNode('plan', 'completed', { process: makeProcess({ status: 'completed' }) }),
  makeNode('build', 'running', {
    process: makeProcess({ pid: 7, note: 'context: 80 % are used' }),
    retries: 2,
    attempts: 1,
    reason: 'exit code 3',
  }),
  makeNode('ask', 'running', { process: makeProcess({ status: 'waiting', note: 'asks: run make?' }) }),
  makeNode('test', 'failed', { reason: 'exit code 3', process: makeProcess({ status: 'failed', costUsd: 0 }) }),
  makeNode('ship', 'blocked', { reason: 'needs test', needs: ['test'] }),
  makeNode('late', 'waiting', { needs: ['build', 'ask'] }),
]

test('the table of nodes has a line for each node', () => {
  expect(`\n${nodeTable({ nodes: NODES }, STYLE).join('\n')}`).toBe(`
NODE   STATE      PID  ATTEMPTS  ELAPSED   COST  NOTE
plan   completed    5         -   1m 01s  $0.25
build  running      7       1/2   1m 01s  $0.25  again after: exit code 3
ask    waiting      5         -   1m 01s  $0.25  asks: run make?
test   !failed!    5         -   1m 01s  $0.00  exit code 3
ship   blocked      -         -        -      -  needs test
late   waiting      -         -        -      -  needs build, ask`)
})

test('the elapsed time of running nodes increases', () => {
  const lines = nodeTable({ nodes: NODES }, STYLE, 9_000)
  expect(lines[1]).toContain('1m 01s')
  expect(lines[2]).toContain('1m 10s')
})

test('the line of a node has its state and its problem', () => {
  expect(NODES.map((node) => nodeLine(node, 5))).toEqual([
    'plan   completed  1m 01s  $0.25',
    'build  running again after: exit code 3  PID 7 (script:a.yaml)',
    'ask    waiting',
    'test   failed: exit code 3  1m 01s',
    'ship   blocked: needs test',
    'late   waiting',
  ])
})

test('control characters in the reason of a node do not reach the terminal', () => {
  expect(nodeLine(makeNode('a', 'failed', { reason: 'no\x1b[2J\nmore' }), 1)).not.toContain('\x1b')
  expect(nodeTable({ nodes: [makeNode('a', 'failed', { reason: 'no\x1b[2J\nmore' })] }, STYLE).join('')).not.toContain('\x1b')
})

test('the list has a line for each run, and a summary has the state, nodes, cost and time of a run', () => {
  const runs = [makeRun({ nodes: NODES }), makeRun({ pid: 9, name: null, status: 'failed', exit: { code: 1, reason: 'test failed' } })]
  expect(`\n${runTable(runs, { ...STYLE, columns: 120 }).join('\n')}`).toBe(`
RUN  PID  ID        STATUS  NODES          ELAPSED    COST  FILE
app    1  718293a4  ready   1 of 6, 2 not   1m 30s  $0.25+  /src/app/reeve.yaml
-      9  718293a4  !failed!  0 of 0          1m 30s  $0.25+  /src/app/reeve.yaml`)
  expect(runs.map(runSummary)).toEqual([
    'run app ready | 6 nodes | $0.25+ | 1m 30s',
    'run 9 failed: test failed | 0 nodes | $0.25+ | 1m 30s',
  ])
})
