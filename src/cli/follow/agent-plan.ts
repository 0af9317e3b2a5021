// The plan of an agent: what it has done, does now and will do. External agents report their plan; other plans are the input of a todo
// tool. Pure. Test: test/tables/cli/follow/agent-plan.test.ts.
import type { FactBody } from '../../kernel/model/facts.ts'
import type { Output } from '../print/output.ts'
import { fitWidth, oneLine } from '../print/text.ts'

export interface PlanEntry {
  readonly text: string
  readonly state: 'done' | 'now' | 'later'
}

/** the greatest number of entries that are shown */
const MAX_ENTRIES = 30
const NOTE = /^plan: (?=\[[x> ]\] )/
const STATE_OF_MARK: Readonly<Record<string, PlanEntry['state']>> = { x: 'done', '>': 'now', ' ': 'later' }

/** Returns the plan in a fact; null if the fact has none. */
export function planIn(fact: FactBody): readonly PlanEntry[] | null {
  if (fact.type === 'process.note') return planOfNote(fact.text)
  if (fact.type !== 'model.finished') return null
  const plans = fact.message.flatMap((part) => (part.type === 'tool-call' ? (planOfCall(part.name, part.input) ?? []) : []))
  return plans.length === 0 ? null : plans
}

/** Reads the note in which the driver of external agents records a plan; null for any other note. */
function planOfNote(note: string): readonly PlanEntry[] | null {
  if (!NOTE.test(note)) return null
  return note
    .replace(NOTE, '')
    .split(/; (?=\[[x> ]\] )/)
    .map((entry) => ({ text: entry.slice(4), state: STATE_OF_MARK[entry[1] ?? ' '] ?? 'later' }))
}

/** Reads the input of a tool for lists, such as `TodoWrite` or `update_plan`; null for any other tool. */
export function planOfCall(name: string, input: unknown): readonly PlanEntry[] | null {
  if (!/todo|plan/i.test(name) || typeof input !== 'object' || input === null) return null
  const list = (input as { todos?: unknown }).todos ?? (input as { plan?: unknown }).plan
  if (!Array.isArray(list)) return null
  const entries = list.flatMap((entry: unknown): PlanEntry[] => {
    const { content, step, text = content ?? step, status } = (entry ?? {}) as Record<string, unknown>
    if (typeof text !== 'string') return []
    return [{ text, state: status === 'completed' ? 'done' : status === 'in_progress' ? 'now' : 'later' }]
  })
  return entries.length === 0 ? null : entries
}

type PlanStyle = Pick<Output, 'ascii' | 'ellipsis' | 'paintMessage'>

/** Returns the plan on one line: `plan 1 of 3: fix the lexer`. */
export function planSummary(entries: readonly PlanEntry[]): string {
  const done = entries.filter(({ state }) => state === 'done').length
  const now = entries.find(({ state }) => state === 'now') ?? entries.find(({ state }) => state === 'later')
  return `plan ${done} of ${entries.length}${now ? `: ${oneLine(now.text)}` : ''}`
}

/** Returns a line for each entry, and a line with the number of entries that are left out. */
export function planLines(entries: readonly PlanEntry[], columns: number, out: PlanStyle): string[] {
  const marks = out.ascii ? { done: '[x]', now: '[>]', later: '[ ]' } : { done: '✓', now: '▸', later: '·' }
  const styles = { done: 'dim', now: 'bold', later: null } as const
  const lines = entries.slice(0, MAX_ENTRIES).map(({ text, state }) => {
    const line = fitWidth(`${marks[state]} ${oneLine(text)}`, columns, out.ellipsis)
    const style = styles[state]
    return style === null ? line : out.paintMessage(style, line)
  })
  const more = entries.length - MAX_ENTRIES
  return more > 0 ? [...lines, `${out.ellipsis} ${more} more`] : lines
}
