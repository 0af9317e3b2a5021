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

/**
 * How many processes work, ask, are held and have failed, as texts. Each process counts once, as its mark shows it: one that asks does not
 * count as working or held. `asking`: the processes with an open question.
 */
export function countTexts(
  sums: Pick<SumsView, 'working' | 'asking' | 'held' | 'failed'>,
  asking: readonly Pick<RowView, 'status'>[],
): string[] {
  const askingAs = (one: RowView['status']): number => asking.filter(({ status }) => status === one).length
  const counts = [
    [sums.working - askingAs('working'), 'working'],
    [sums.asking, 'ask'],
    [sums.held - askingAs('suspended'), 'held'],
    [sums.failed, 'failed'],
  ] as const
  // Sums and rows of different moments can differ for a short time.
  return counts.flatMap(([count, word]) => (count <= 0 ? [] : [`${count} ${word}`]))
}
