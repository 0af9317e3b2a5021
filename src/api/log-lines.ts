// A process's log, from its facts: what it was told, said, called and printed, as lines. Pure; the one place that knows it.
// Used by the daemon for what is past and by the command line for what comes. Test: test/e2e/cli.test.ts.
import { CREW_LOG, crewWords } from './crew-words.ts'
import type { FactBody } from '../kernel/facts.ts'

export interface LogLine {
  readonly at: string
  readonly stream: 'stdout' | 'stderr' | 'assistant' | 'user' | 'tool' | 'system'
  readonly text: string
}

/** The facts that have lines. */
export const LOG_FACTS = ['process.output', 'model.finished', 'model.failed', 'tool.finished', 'process.queue', 'process.error', 'process.note', 'process.waiting', 'process.answered', 'process.exited', 'context.compacted', 'compaction.failed', 'files.failed', 'capability.refused', 'supervisor.restarting', 'supervisor.held', 'supervisor.escalated', 'compose.started', 'compose.retrying', 'compose.completed', 'compose.failed', 'compose.blocked', 'compose.cancelled', 'compose.again', 'compose.resumed', ...CREW_LOG]

type Body<T extends FactBody['type']> = Extract<FactBody, { type: T }>

/** What a tool gave. One that gave pictures and no words gave something all the same. */
export function resultText({ content, images = [] }: Body<'tool.finished'>): string {
  return content === '' ? images.map(({ mediaType }) => `[${mediaType}]`).join(' ') : content
}

/** `182,004` */
function count(tokens: number): string {
  return tokens.toLocaleString('en')
}

export function compactionText(body: Body<'context.compacted' | 'compaction.failed'>): string {
  if (body.type === 'compaction.failed') return `the context could not be compacted: ${body.error}`
  return `context compacted: ${count(body.before)} -> ${count(body.after)} tokens`
}

/** `lexer: DENIED by worker-2: a.ts:1: no` */
function crewLines(body: FactBody): string[] {
  const said = CREW_LOG.includes(body.type) ? crewWords(body) : null
  return said ? [[said.about, said.what, said.text].filter((part) => part !== null).join(': ')] : []
}

export function logLines(at: string, body: FactBody): LogLine[] {
  const lines = (stream: LogLine['stream'], text: string): LogLine[] => text.replace(/\n$/, '').split('\n').map((part) => ({ at, stream, text: part }))
  switch (body.type) {
    case 'process.output': return lines(body.stream, body.text)
    case 'process.queue': return lines('user', body.text)
    case 'process.error': return lines('system', body.message)
    case 'process.note': return lines('system', body.text)
    case 'process.waiting': return lines('system', `asks: ${body.question}`)
    case 'process.answered': return lines('system', `answered: ${body.option ?? body.text} (by ${body.by})`)
    case 'capability.refused': return lines('system', `refused: ${body.detail}`)
    case 'process.exited': return lines('system', `ended: ${body.exit.reason} (${body.exit.code})`)
    case 'supervisor.restarting': return lines('system', `child ${body.id} is restarted: ${body.cause}${body.group ? `; with it ${body.group.join(', ')}` : ''}`)
    case 'compose.started':
    case 'compose.completed': return lines('system', `node ${body.node} ${body.type.slice('compose.'.length)}`)
    case 'compose.retrying': return lines('system', `node ${body.node} begins again (${body.attempt}): ${body.cause}`)
    case 'compose.failed':
    case 'compose.cancelled': return lines('system', `node ${body.node} ${body.type.slice('compose.'.length)}: ${body.reason}`)
    case 'compose.blocked': return lines('system', `node ${body.node} is blocked: it needs ${body.by}`)
    case 'compose.again': return lines('system', `node ${body.node} is to run again, for ${body.by}`)
    case 'compose.resumed': return lines('system', `node ${body.node} goes on, for ${body.by}`)
    case 'supervisor.held': return lines('system', `child ${body.id} is held: ${body.cause}`)
    case 'supervisor.escalated': return lines('system', `child ${body.id} failed ${body.times} times: all are stopped`)
    case 'model.failed': return [...(body.partial ? lines('assistant', body.partial) : []), ...lines('system', `model call failed: ${body.error}`)]
    case 'tool.finished': return lines('tool', `${body.name} ${body.outcome}: ${resultText(body)}`)
    case 'files.failed': return lines('system', `the files of step ${body.step} are not recorded: ${body.error}`)
    case 'context.compacted':
    case 'compaction.failed': return lines('system', compactionText(body))
    case 'model.finished':
      return body.message.flatMap((part) => {
        if (part.type === 'tool-call') return lines('tool', `${part.name} ${JSON.stringify(part.input)}`)
        return part.type === 'text' && part.text !== '' ? lines('assistant', part.text) : []
      })
    default: return crewLines(body).flatMap((text) => lines('system', text))
  }
}
