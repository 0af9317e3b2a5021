// Converts the facts of a process to log lines: messages, text, tool calls and output. The daemon converts stored facts, the command line
// new ones. Pure. Tests: test/tables/api/text/log-lines.test.ts, test/e2e/cli/cli.test.ts.
import { CREW_LOG_FACTS, crewEventText } from './crew-event.ts'
import { labelsText } from './labels-text.ts'
import { reasonText } from './exit-reason.ts'
import type { AssistantPart, FactBody, BodyOf } from '../../kernel/model/facts.ts'
import { toolInputLine } from './tool-input-line.ts'
import { isFailedCall, outcomeText, withoutExitCode } from './tool-outcome.ts'
import type { LogLine } from '../views/process.ts'

/** the greatest length of the input that a line of a call shows */
const MAX_INPUT_CHARS = 1000

/** The types of facts that have log lines. */
export const LOG_FACTS = [
  'process.output',
  'model.finished',
  'model.failed',
  'tool.finished',
  'process.queue',
  'process.error',
  'process.note',
  'process.waiting',
  'process.answered',
  'process.unanswered',
  'process.exited',
  'process.described',
  'context.compacted',
  'compaction.failed',
  'files.failed',
  'capability.refused',
  'supervisor.restarting',
  'supervisor.held',
  'supervisor.escalated',
  'compose.started',
  'compose.retrying',
  'compose.completed',
  'compose.failed',
  'compose.blocked',
  'compose.cancelled',
  'compose.again',
  'compose.resumed',
  ...CREW_LOG_FACTS,
]

/** Returns the result of a tool as text. Images without text are shown by their types. */
export function resultText({ content, images = [] }: BodyOf<'tool.finished'>): string {
  return content === '' ? images.map(({ mediaType }) => `[${mediaType}]`).join(' ') : content
}

/** Formats a number of tokens: `182,004`. */
function formatTokenCount(tokens: number): string {
  return tokens.toLocaleString('en')
}

/** Describes a compaction of the context, or its failure. */
export function compactionText(body: BodyOf<'context.compacted' | 'compaction.failed'>): string {
  if (body.type === 'compaction.failed') return `the context could not be compacted: ${body.error}`
  return `context compacted: ${formatTokenCount(body.before)} -> ${formatTokenCount(body.after)} tokens`
}

/** Returns the log lines of a crew event: `lexer: DENIED by worker-2: a.ts:1: no`. */
function crewLines(body: FactBody): string[] {
  const event = CREW_LOG_FACTS.includes(body.type) ? crewEventText(body) : null
  return event ? [[event.about, event.what, event.text].filter((part) => part !== null).join(': ')] : []
}

/** Whether the next fact is a note that ends with the error of this failed call. */
export function isRepeatedByNote(body: FactBody, next: FactBody | undefined): boolean {
  return isFinalModelFailure(body) && next?.type === 'process.note' && next.text.endsWith(body.error)
}

/** Whether the fact is a model call or a compaction that failed, was not interrupted, is not tried again, and left no partial answer. */
export function isFinalModelFailure(body: FactBody): body is BodyOf<'model.failed' | 'compaction.failed'> {
  if (body.type !== 'model.failed' && body.type !== 'compaction.failed') return false
  return body.retryInMs === null && body.error !== 'interrupted' && !('partial' in body && body.partial)
}

/** Returns the result of a tool as text that begins with the outcome: `bash exit 3: not found`. */
function toolResult(body: BodyOf<'tool.finished'>): string {
  const result = resultText(body).replace(/\n$/, '')
  return `${body.name} ${outcomeText(body)}: ${body.exitCode === undefined ? result : withoutExitCode(result.split('\n')).join('\n')}`.trimEnd()
}

function callLine(at: string, { callId, name, input }: Extract<AssistantPart, { type: 'tool-call' }>): LogLine {
  const call = { id: callId, name, input: toolInputLine(input).slice(0, MAX_INPUT_CHARS).toWellFormed() }
  return { at, stream: 'tool', text: `${name} ${JSON.stringify(input)}`, call }
}

/** Returns the log lines of a fact. */
export function logLines(at: string, body: FactBody): LogLine[] {
  const lines = (stream: LogLine['stream'], text: string): LogLine[] =>
    text
      .replace(/\n$/, '')
      .split('\n')
      .map((part) => ({ at, stream, text: part }))
  switch (body.type) {
    case 'process.output':
      return lines(body.stream, body.text)
    case 'process.queue':
      return lines('user', body.text)
    case 'process.error':
      return lines('system', body.message)
    case 'process.note':
      return lines('system', body.text)
    case 'process.waiting':
      return lines('system', `asks: ${body.question}`)
    case 'process.answered':
      return lines('system', `answered: ${body.option ?? body.text} (by ${body.by})`)
    case 'process.unanswered':
      return lines('system', `the answer was taken back (by ${body.by})`)
    case 'capability.refused':
      return lines('system', `refused: ${body.detail}`)
    case 'process.exited':
      return lines('system', `ended: ${reasonText(body.exit.reason)} (${body.exit.code})`)
    case 'process.described':
      if (body.what === 'labels') return lines('system', `labels: ${labelsText(body.spec.labels) || 'none'} (by ${body.by})`)
      return lines('system', `${body.from === undefined ? 'named' : `renamed from ${body.from} to`} ${body.spec.name} (by ${body.by})`)
    case 'supervisor.restarting':
      return lines('system', `child ${body.id} is restarted: ${body.cause}${body.group ? `; together with ${body.group.join(', ')}` : ''}`)
    case 'compose.started':
    case 'compose.completed':
      return lines('system', `node ${body.node} ${body.type.slice('compose.'.length)}`)
    case 'compose.retrying':
      return lines('system', `node ${body.node} is restarted (attempt ${body.attempt}): ${body.cause}`)
    case 'compose.failed':
    case 'compose.cancelled':
      return lines('system', `node ${body.node} ${body.type.slice('compose.'.length)}: ${body.reason}`)
    case 'compose.blocked':
      return lines('system', `node ${body.node} is blocked: it needs ${body.by}`)
    case 'compose.again':
      return lines('system', `node ${body.node} will run again, for ${body.by}`)
    case 'compose.resumed':
      return lines('system', `node ${body.node} continues, requested by ${body.by}`)
    case 'supervisor.held':
      return lines('system', `child ${body.id} is held: ${body.cause}`)
    case 'supervisor.escalated':
      return lines('system', `child ${body.id} failed ${body.times} times: all children are stopped`)
    case 'model.failed':
      return [...(body.partial ? lines('assistant', body.partial) : []), ...lines('system', `model call failed: ${body.error}`)]
    case 'tool.finished':
      return lines('tool', toolResult(body)).map((line, index) => (index === 0 && isFailedCall(body) ? { ...line, failed: true } : line))
    case 'files.failed':
      return lines('system', `the files of step ${body.step} could not be recorded: ${body.error}`)
    case 'context.compacted':
    case 'compaction.failed':
      return lines('system', compactionText(body))
    case 'model.finished':
      return body.message.flatMap((part) => {
        if (part.type === 'tool-call') return [callLine(at, part)]
        return part.type === 'text' && part.text !== '' ? lines('assistant', part.text) : []
      })
    default:
      return crewLines(body).flatMap((text) => lines('system', text))
  }
}
