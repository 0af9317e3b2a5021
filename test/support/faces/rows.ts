// Rows for tests of lists: one with chosen fields, or thousands with their changes and sums.
import type { RowPatch } from '../../../src/api/row-events.ts'
import type { RowView, SumsView } from '../../../src/api/views/rows.ts'

export const BIRTH = '2026-11-20T10:00:00.000Z'

/** A working agent that has cost nothing. */
export function rowOf(fields: Partial<RowView> = {}): RowView {
  return {
    uuid: '01a20000-0000-7000-8000-000000000001',
    pid: 1,
    parent: null,
    under: null,
    host: 'box',
    kind: 'agent',
    name: null,
    agent: 'default',
    driver: 'native',
    model: 'script:hello.yaml',
    about: 'say hello',
    directory: '/srv',
    labels: {},
    state: 'running',
    status: 'working',
    activity: 'working',
    liveness: null,
    since: BIRTH,
    why: null,
    doing: null,
    note: null,
    step: 0,
    turn: 1,
    queue: 0,
    asks: 0,
    elapsedMs: 0,
    runsSince: BIRTH,
    ctx: null,
    tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    cost: { usd: 0, unpriced: false, estimated: false },
    sub: { usd: 0, live: 1, working: 1, asking: 0, held: 0, failed: 0, reservedUsd: 0 },
    budget: null,
    budgetOf: null,
    role: null,
    phase: null,
    task: null,
    branch: null,
    origin: null,
    forks: 'any step',
    resumes: true,
    attention: 0,
    unseen: false,
    snoozedUntil: null,
    pinned: false,
    lastText: null,
    exit: null,
    createdAt: BIRTH,
    endedAt: null,
    seq: 4,
    ...fields,
  }
}

/** Rows by UUID. */
export function rowMap(...rows: readonly RowView[]): Map<string, RowView> {
  return new Map(rows.map((row) => [row.uuid, row]))
}

/** The number of processes in each tree of `manyRows`. */
const TREE_SIZE = 100

/** The rows of `count` agents in trees of 100, each with a step, a cost, a context and a reason. */
export function manyRows(count: number): RowView[] {
  return Array.from({ length: count }, (_, index) =>
    rowOf({
      uuid: manyUuid(index),
      pid: index + 1,
      parent: index % TREE_SIZE === 0 ? null : manyUuid(index - (index % TREE_SIZE)),
      name: `worker-${index}`,
      agent: 'claude',
      model: 'anthropic/claude-sonnet-5',
      about: 'Find out why the tests of the parser fail.',
      branch: `reeve/worker-${index}`,
      step: 10 + (index % 90),
      ctx: { used: 1_000 * (20 + (index % 150)), window: 200_000, compactsAt: 160_000 },
      cost: { usd: 0.01 * (index % 500), unpriced: false, estimated: false },
      sub: { usd: 0.01 * (index % 500), live: 1, working: 1, asking: 0, held: 0, failed: 0, reservedUsd: 0 },
      why: { kind: 'tool', text: `bash npm test -- parser ${index}`, since: BIRTH },
    }),
  )
}

/**
 * Patches that give `changed` of the `count` rows a new step and a new reason. Another `round` changes other rows, to other values.
 */
export function manyChanges(count: number, changed: number, round: number): RowPatch[] {
  return Array.from({ length: changed }, (_, index) => {
    const at = ((round * changed + index) * 7_919) % count
    return {
      uuid: manyUuid(at),
      step: 100 + round,
      why: { kind: 'tool', text: `edit src/parser-${round}.ts`, since: BIRTH },
      seq: 100 + round,
    }
  })
}

const manyUuid = (index: number): string => `01a20000-0000-7000-8000-${String(index).padStart(12, '0')}`

/** The sums of `count` working processes. */
export function sumsOf(count: number): SumsView {
  return { live: count, working: count, asking: 0, held: 0, failed: 0, todayUsd: 18.42, reservedUsd: 0 }
}
