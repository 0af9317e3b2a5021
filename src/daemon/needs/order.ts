// The kinds of needs, and the order in which needs are urgent: by the rank of their kind, then by time. Pure.
// Test: test/tables/daemon/needs/order.test.ts.

/** The kinds of needs: calls of tools, plans, questions, those of a crew, holds, ends and silences. */
export const NEED_KINDS = [
  'command',
  'edit',
  'fetch',
  'permission',
  'plan',
  'choice',
  'text',
  'gate',
  'review',
  'human-task',
  'merge',
  'hold',
  'failed',
  'silent',
  'finished',
] as const
export type NeedKind = (typeof NEED_KINDS)[number]

/** The ranks, the most urgent first. */
export const RANKS = { blocked: 1, crew: 2, held: 3, failed: 4, silent: 5, finished: 6 } as const

/** The rank of each kind. Needs that block a whole process come before those that block one task of a crew. */
const RANK_BY_KIND: Readonly<Record<NeedKind, number>> = {
  command: RANKS.blocked,
  edit: RANKS.blocked,
  fetch: RANKS.blocked,
  permission: RANKS.blocked,
  plan: RANKS.blocked,
  choice: RANKS.blocked,
  text: RANKS.blocked,
  // The other tasks of a crew go on meanwhile.
  gate: RANKS.crew,
  review: RANKS.crew,
  'human-task': RANKS.crew,
  merge: RANKS.crew,
  hold: RANKS.held,
  failed: RANKS.failed,
  silent: RANKS.silent,
  finished: RANKS.finished,
}

/** What the order depends on. */
export interface Urgency {
  /** the smallest rank is the most urgent */
  readonly rank: number
  /** since when it waits, in wall ms */
  readonly at: number
  readonly id: string
}

/** The rank of a need. An answer to a suspended process changes nothing before it resumes, so its asks are less urgent. */
export function rankOf(kind: NeedKind, { isSuspended }: { readonly isSuspended: boolean }): number {
  const rank = RANK_BY_KIND[kind]
  return isSuspended ? Math.max(rank, RANKS.held) : rank
}

/** Compares by rank, then by time: the longest wait comes first, but among ends the newest one. */
export function compareNeeds(a: Urgency, b: Urgency): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  const byTime = a.rank === RANKS.failed || a.rank === RANKS.finished ? b.at - a.at : a.at - b.at
  return byTime === 0 ? (a.id < b.id ? -1 : Number(a.id > b.id)) : byTime
}
