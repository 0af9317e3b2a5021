// A row for tests of lists, with chosen fields.
import type { RowView } from '../../../src/api/views/rows.ts'

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
