// What a person wants to be told of: from facts, after they are durable, to a line of text each. Pure; sends nothing.
// Owns which facts are worth it: what a person did himself is none, and of a tree only the root tells that it has ended.
// Test: test/tables/notices.test.ts.
import { stripVTControlCharacters } from 'node:util'
import type { NoticeKind } from '../../config/notifications.ts'
import { figures } from '../../kernel/limits.ts'
import type { FactBody, StoredFact } from '../../kernel/facts.ts'
import type { HoldReason, Process, Uuid } from '../../kernel/types.ts'

/** Longest text of a notice, in characters. */
const MAX_TEXT = 400

export interface Notice {
  readonly kind: NoticeKind
  /** of the same process with the same key it is the same again */
  readonly key: string
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  readonly agent: string
  readonly intent: string
  /** wall ms */
  readonly at: number
  readonly text: string
  /** how long it worked, where it has ended; in ms */
  readonly elapsedMs?: number
}

/** Holds that the kernel adds, and that somebody should see to; a budget has facts of its own. */
const SUSPENDED: Readonly<Partial<Record<HoldReason, NoticeKind>>> = {
  loop: 'stalled', breaker: 'stalled', 'context-full': 'stalled', 'rate-limit': 'stalled', credentials: 'stalled', supervisor: 'failed', 'daemon-crash': 'stalled',
}

type Said = readonly [kind: NoticeKind, words: string]

/** The notice of a fact; null for most. `process` is as it is after it; undefined when it has left the table. */
export function noticeOf({ uuid, pid, at, body }: StoredFact, process: Process | undefined): Notice | null {
  if (!process) return null
  const said = wordsOf(body, process)
  if (said === null) return null
  const [kind, words] = said
  const { name, agent, intent } = process.spec
  const text = plain(`${name ?? agent} (PID ${pid}) ${words}`, MAX_TEXT)
  // That a limit is reached is no repetition of the warning before it.
  const key = `${uuid} ${kind}${body.type === 'limit.reached' ? ' reached' : ''}`
  return { kind, key, uuid, pid, name, agent, intent: plain(intent, MAX_TEXT), at, text, ...(body.type === 'process.exited' ? { elapsedMs: Math.round(process.clock.elapsedMs) } : {}) }
}

function wordsOf(body: FactBody, process: Process): Said | null {
  switch (body.type) {
    case 'process.waiting': return ['waiting', `waits for an answer: ${body.question}`]
    case 'crew.notified': return ['waiting', `tells you: ${body.text}`]
    case 'process.exited': return ended(body.exit, process)
    case 'process.held': return suspended(body, process)
    case 'liveness.changed': return body.word === 'alive' ? null : [body.word === 'waiting' ? 'waiting' : 'stalled', livenessWords(body)]
    case 'limit.warned': return body.limit === 'context' ? null : ['budget', `has used ${Math.floor((100 * body.used) / body.of)} % of a limit: ${figures(body.limit, body.used, body.of)}`]
    case 'limit.reached': return reached(body, process)
    default: return null
  }
}

function livenessWords({ word, evidence }: Extract<FactBody, { type: 'liveness.changed' }>): string {
  const where = evidence === '' ? '' : ` (${evidence})`
  if (word === 'waiting') return 'still waits for an answer'
  return word === 'stopped' ? `was stopped by a signal${where}` : `is ${word}${where}`
}

/** Whom a person or a parent stopped needs no word; a part of a tree tells its parent. */
function ended(exit: Extract<FactBody, { type: 'process.exited' }>['exit'], { parentUuid }: Process): Said | null {
  if (parentUuid !== null || exit.cause === 'person' || exit.cause === 'parent') return null
  return exit.cause === 'agent' && exit.code === 0 ? ['finished', 'has finished'] : ['failed', `has failed: ${exit.reason}`]
}

function suspended({ hold }: Extract<FactBody, { type: 'process.held' }>, { note }: Process): Said | null {
  const kind = hold.by === 'system' ? SUSPENDED[hold.reason] : undefined
  if (kind === undefined || hold.wake === true) return null
  const why = note === null ? '' : ` (${note})`
  return [kind, `is suspended: ${hold.reason.replace('-', ' ')}${why}`]
}

/** Told of whose limit it is, once; who only waits for calls that are open goes on by itself. */
function reached({ limit, used, of, action, scope }: Extract<FactBody, { type: 'limit.reached' }>, { uuid }: Process): Said | null {
  if (action === 'wait' || scope !== uuid) return null
  return ['budget', `${action === 'suspend' ? 'is suspended' : 'has come to its limit'}: ${figures(limit, used, of)}`]
}

/** What models and programs wrote goes to a desktop and to other people's machines: one line, and no control characters. */
function plain(text: string, chars: number): string {
  const line = stripVTControlCharacters(text.slice(0, 4 * chars).toWellFormed()).replaceAll(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g, ' ').replaceAll(/ {2,}/g, ' ').trim()
  return line.length > chars ? `${line.slice(0, chars - 1).toWellFormed()}…` : line
}
