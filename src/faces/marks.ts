// The mark of a process in lists: a symbol, its word, and a tone for the colour. Colour is never the only difference. The page draws the
// symbol as an icon; terminals print it. Test: test/tables/faces/marks.test.ts.
import type { RowView, SumsView } from '../api/views/rows.ts'

export type Tone = 'good' | 'calm' | 'wait' | 'bad' | 'faded'

export interface Mark {
  readonly symbol: string
  /** for terminals without Unicode */
  readonly ascii: string
  readonly word: string
  readonly tone: Tone
}

const MARKS = {
  working: { symbol: '●', ascii: '*', word: 'working', tone: 'good' },
  silent: { symbol: '∙', ascii: '.', word: 'silent', tone: 'wait' },
  starting: { symbol: '◐', ascii: '+', word: 'starting', tone: 'calm' },
  stopping: { symbol: '◐', ascii: '+', word: 'stopping', tone: 'wait' },
  ready: { symbol: '○', ascii: 'o', word: 'ready', tone: 'calm' },
  waiting: { symbol: '○', ascii: 'o', word: 'waiting', tone: 'wait' },
  asking: { symbol: '?', ascii: '?', word: 'asks', tone: 'wait' },
  held: { symbol: '⏸', ascii: '||', word: 'held', tone: 'wait' },
  completed: { symbol: '✓', ascii: 'v', word: 'completed', tone: 'faded' },
  failed: { symbol: '✗', ascii: 'x', word: 'failed', tone: 'bad' },
  interrupted: { symbol: '!', ascii: '!', word: 'interrupted', tone: 'bad' },
  stopped: { symbol: '■', ascii: '#', word: 'stopped', tone: 'faded' },
} as const satisfies Readonly<Record<string, Mark>>

export type MarkName = keyof typeof MARKS

type Marked = Pick<RowView, 'status' | 'liveness' | 'asks'>

/** Returns the name of the mark. An open question replaces the status. A silent or stalled process is `silent`, not `working`. */
export function markNameOf({ status, liveness, asks }: Marked): MarkName {
  switch (status) {
    case 'pending':
    case 'starting':
      return 'starting'
    case 'suspended':
      return asks > 0 ? 'asking' : 'held'
    case 'ready':
    case 'working':
    case 'waiting':
      if (asks > 0) return 'asking'
      if (status === 'working' && (liveness === 'silent' || liveness === 'stalled')) return 'silent'
      return status
    case 'stopping':
    case 'completed':
    case 'failed':
    case 'interrupted':
    case 'stopped':
      return status
    case 'zombie':
      return 'stopping'
    case 'retired':
      return 'completed'
  }
}

export function markOf(row: Marked): Mark {
  return MARKS[markNameOf(row)]
}

export type ShownCounts = Pick<SumsView, 'working' | 'asking' | 'held' | 'failed'>

/**
 * How many processes work, ask, are held and have failed. Each process counts once, as its mark shows it: one that asks does not count as
 * working or held. `askingRows`: the processes with an open question.
 */
export function shownCounts({ working, asking, held, failed }: ShownCounts, askingRows: Iterable<Pick<RowView, 'status'>>): ShownCounts {
  const asks = { working: 0, suspended: 0 }
  for (const { status } of askingRows) if (status === 'working' || status === 'suspended') asks[status] += 1
  // Sums and rows of different moments can differ for a short time.
  return { working: Math.max(0, working - asks.working), asking, held: Math.max(0, held - asks.suspended), failed }
}

/** The counts that are not zero, each with its word. */
export function countTexts({ working, asking, held, failed }: ShownCounts): string[] {
  const counts = [
    [working, 'working'],
    [asking, 'ask'],
    [held, 'held'],
    [failed, 'failed'],
  ] as const
  return counts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
}
