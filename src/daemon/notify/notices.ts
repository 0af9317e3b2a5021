// Decides which durable facts the user is notified of, and makes the text of each notice. Pure.
// The user's own actions cause no notice, and only the root of a tree of processes reports its end. Each kind of need has a notice, which
// uses the words of the need. Tests: test/tables/daemon/notify/notices.test.ts, test/tables/daemon/notify/notices-and-needs.test.ts.
import { answerCommands, crewCommandName, taskOfQuestion } from '../../api/text/answer-command.ts'
import { reasonText } from '../../api/text/exit-reason.ts'
import { firstLine, toPlainLine } from '../../api/text/plain-line.ts'
import type { NoticeKind } from '../../config/keys/notifications.ts'
import { amountsText, isHomeBudget } from '../../kernel/state/limits.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { isRecordedWithNote } from '../../kernel/model/holds.ts'
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { HoldReason } from '../../kernel/model/words.ts'
import { holdText } from '../rows/wait-texts.ts'

/** The largest length of a notice's text, in characters. */
const MAX_TEXT = 400

export interface Notice {
  readonly kind: NoticeKind
  /** a notice with the same key as an earlier one is a repetition of it */
  readonly key: string
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  readonly agent: string
  readonly intent: string
  /** wall ms */
  readonly at: number
  /** the cursor of the reported fact */
  readonly cursor: number
  readonly text: string
  /** the active time of an exited process, in ms */
  readonly elapsedMs?: number
  /** the command that shows the question */
  readonly command?: string
  /** the number of the fact with the whole question; `text` has only its title */
  readonly questionSeq?: number
}

/** For each reason of a hold by the kernel, the kind of its notice; null: no notice. */
const HOLD_NOTICES: Readonly<Record<HoldReason, NoticeKind | null>> = {
  loop: 'stalled',
  breaker: 'stalled',
  'context-full': 'stalled',
  'rate-limit': 'stalled',
  credentials: 'stalled',
  supervisor: 'failed',
  'daemon-crash': 'stalled',
  // the facts of a limit cause the notices about a budget
  budget: null,
  user: null,
  subtree: null,
  'disk-full': null,
  'daemon-shutdown': null,
}

/** The facts that may cause a notice, or release one that was withheld. */
const NOTIFYING_FACTS: ReadonlySet<FactBody['type']> = new Set<FactBody['type']>([
  'process.waiting',
  'crew.notified',
  'task.blocked',
  'process.exited',
  'process.reaped',
  'process.held',
  'liveness.changed',
  'limit.warned',
  'limit.reached',
])

/** Optional parts of a notice. */
interface NoticeExtras {
  /** the notice is about the home, so equal notices of other processes are repetitions */
  readonly isOfHome?: true
  /** the end of the key, which distinguishes notices of the same kind */
  readonly key?: string
  /** the commands at the end of the text, which are never shortened; default: `command` */
  readonly commands?: string
  readonly command?: string
  readonly questionSeq?: number
}

type NoticeContent = readonly [kind: NoticeKind, text: string, extras?: NoticeExtras]

/** True if a fact may cause a notice, or release one that was withheld. */
export function mayNotify({ type }: FactBody): boolean {
  return NOTIFYING_FACTS.has(type)
}

/** Returns the notice of a fact, or null. `process`: the process after the fact; undefined if it has left the table. */
export function noticeOf({ uuid, pid, at, cursor, body }: StoredFact, process: Process | undefined): Notice | null {
  if (!process) return null
  const content = contentOf(body, process)
  if (content === null) return null
  const [kind, event, { key = '', isOfHome = false, commands, ...extras } = {}] = content
  const { name, agent, intent } = process.spec
  const text = textWithCommands(`${name ?? agent} (PID ${pid}) ${event}`, commands ?? extras.command)
  const exited = body.type === 'process.exited' ? { elapsedMs: Math.round(process.clock.elapsedMs) } : {}
  return {
    kind,
    key: `${isOfHome ? 'home' : uuid} ${kind}${key}`,
    uuid,
    pid,
    name,
    agent,
    intent: toPlainLine(intent, MAX_TEXT),
    at,
    cursor,
    text,
    ...exited,
    ...extras,
  }
}

/** True if the process waits for an answer that the user has not given. Questions of old versions have no asks. */
export function isWaitingForUser(process: Process): boolean {
  const { life, asks = [] } = process
  return life.state === 'running' && life.activity === 'waiting' && (asks.length === 0 || openAsks(process).length > 0)
}

/** True if a fact of an earlier daemon is still true, so that its notice is not out of date. */
export function isStillTrue({ body }: StoredFact, process: Process): boolean {
  const { life } = process
  switch (body.type) {
    case 'process.waiting':
      return isWaitingForUser(process)
    case 'process.held':
      return life.state === 'running' && life.holds.some(({ reason }) => reason === body.hold.reason)
    case 'process.exited':
      return !isLiving(process)
    case 'liveness.changed':
      return isLiving(process)
    default:
      return true
  }
}

/** Returns the notice with the whole question of a task for the user, which is stored in another fact. */
export function withQuestion(notice: Notice, question: string): Notice {
  const { name, agent, pid, command } = notice
  return { ...notice, text: textWithCommands(`${name ?? agent} (PID ${pid}) asks: ${question}`, command) }
}

/** Appends commands to a text, and shortens only the text to the largest length. */
function textWithCommands(text: string, commands: string | undefined): string {
  const suffix = commands === undefined ? '' : ` (${commands})`
  return `${toPlainLine(text, MAX_TEXT - suffix.length)}${suffix}`
}

/** Returns kind and text of the notice of a fact; null if the fact needs none. */
function contentOf(body: FactBody, process: Process): NoticeContent | null {
  switch (body.type) {
    case 'process.waiting':
      return process.crew && body.ask
        ? questionContent(body.question, body.ask.id, process)
        : ['waiting', `waits for an answer: ${body.question}`]
    case 'crew.notified':
      return ['waiting', `reports: ${body.text}`, { key: ' told' }]
    case 'task.blocked':
      return ['waiting', `cannot merge ${body.task}: ${body.reason}`, { key: ` ${body.task} blocked` }]
    case 'process.exited':
      return exitContent(body.exit, process)
    case 'process.held':
      return holdContent(body, process)
    case 'liveness.changed':
      return body.word === 'alive' ? null : [body.word === 'waiting' ? 'waiting' : 'stalled', livenessText(body)]
    case 'limit.warned':
      if (isHomeBudget(body.limit))
        return [
          'budget',
          `has spent money of the home: ${amountsText(body.limit, body.used, body.of)}`,
          { key: ` ${body.limit}`, isOfHome: true },
        ]
      return body.limit === 'context'
        ? null
        : ['budget', `has used ${Math.floor((100 * body.used) / body.of)} % of a limit: ${amountsText(body.limit, body.used, body.of)}`]
    // The key differs from that of the warning: otherwise this notice would count as a repetition of the warning.
    case 'limit.reached':
      return limitContent(body, process)
    default:
      return null
  }
}

function livenessText({ word, evidence }: Extract<FactBody, { type: 'liveness.changed' }>): string {
  const where = evidence === '' ? '' : ` (${evidence})`
  if (word === 'waiting') return 'still waits for an answer'
  return word === 'stopped' ? `was stopped by a signal${where}` : `is ${word}${where}`
}

/** The notice about an exit; null if the user or a parent stopped the process, and for a child, because its parent is notified. */
function exitContent(exit: Extract<FactBody, { type: 'process.exited' }>['exit'], { parentUuid, progress }: Process): NoticeContent | null {
  if (parentUuid !== null || exit.cause === 'person' || exit.cause === 'parent') return null
  if (exit.cause !== 'agent' || exit.code !== 0) return ['failed', `has failed: ${reasonText(exit.reason)}`]
  const result = firstLine(progress.lastText ?? '')
  return ['finished', result === '' ? 'has finished' : `has finished: ${result}`]
}

function holdContent({ hold }: Extract<FactBody, { type: 'process.held' }>, { note, crew }: Process): NoticeContent | null {
  const kind = hold.by === 'system' ? HOLD_NOTICES[hold.reason] : null
  if (kind === null || hold.wake === true) return null
  const evidence = isRecordedWithNote(hold.reason) ? (crew?.halted ?? note) : null
  const why = evidence === null ? '' : ` (${evidence})`
  return [kind, `is suspended: ${holdText(hold)}${why}`]
}

/** The notice about a reached limit, for the process that has the limit. Null if the process only waits for open calls. */
function limitContent(
  { limit, used, of, action, scope }: Extract<FactBody, { type: 'limit.reached' }>,
  { uuid }: Process,
): NoticeContent | null {
  if (action === 'wait' || scope !== uuid) return null
  return [
    'budget',
    `${action === 'suspend' ? 'is suspended' : 'has come to its limit'}: ${amountsText(limit, used, of)}${isHomeBudget(limit) ? ' by all processes' : ''}`,
    isHomeBudget(limit) ? { key: ` ${limit} reached`, isOfHome: true } : { key: ' reached' },
  ]
}

/** The notice about a question of a crew. Each question has a notice of its own. */
function questionContent(question: string, id: string, { pid, spec: { name }, crew }: Process): NoticeContent {
  const task = crew?.tasks.find(({ ask }) => ask?.id === id)
  const asker = { pid, name, isCrew: true, asks: [] }
  if (task?.kind === 'human')
    return [
      'waiting',
      `asks: ${question}`,
      { key: ` ${id}`, command: `reeve answer --ask ${task.id} ${crewCommandName(asker)}`, questionSeq: task.seqs.text },
    ]
  const diffCommand = `reeve crew diff ${crewCommandName(asker)} ${taskOfQuestion(id)}`
  return [
    'waiting',
    `asks: ${question}`,
    { key: ` ${id}`, command: diffCommand, commands: [diffCommand, ...answerCommands(asker, { id, options: [true] })].join(', ') },
  ]
}
