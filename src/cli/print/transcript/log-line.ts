// Prints the log lines of one process, on a terminal with colours and wrapped between words. Among several processes each row begins with
// the name of the process. Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/live.test.ts, test/e2e/cli/logs.test.ts.
import type { LogLine, ProcessView } from '../../../api/views/process.ts'
import { formatClock } from '../../../faces/format.ts'
import type { Output } from '../output.ts'
import { wrapText, ProseWrapper } from '../prose.ts'
import { INPUT_COLUMNS, MIN_INPUT_COLUMNS, openCallWord, type CallingProcess } from '../process-text.ts'
import { displayWidth, fitWidth, oneLine, stripControls } from '../text.ts'

const STYLES = { stdout: null, stderr: null, assistant: null, user: 'cyan', tool: 'dim', system: 'yellow' } as const

/** The mark before the lines of each stream: they can be distinguished even without colours. */
const MARKS = { stdout: '', stderr: '', assistant: '', user: '> ', tool: '  ', system: '' } as const

/** The beginning of each row, such as `docs | `. */
export interface LogPrefix {
  /** with its colour */
  readonly text: string
  readonly columns: number
}

export interface LogStyle {
  readonly out: Output
  readonly withTime: boolean
  readonly prefix?: () => LogPrefix
}

/** The process of a log line: the fields that the JSON form contains, and those that decide the word for an open call. */
export type LoggedProcess = Pick<ProcessView, 'uuid' | 'pid' | 'name'> & Partial<CallingProcess>

/** Returns the JSON form of a line: a call with its whole input as `text`. */
export function logRecord({ uuid, pid, name }: LoggedProcess, line: LogLine): object {
  const { call: _, failed: __, ...fields } = line
  return { uuid, pid, name, ...fields }
}

export class LogPrinter {
  readonly #style: LogStyle
  /** wraps the text of an agent */
  readonly #prose = new ProseWrapper()
  /** the time of the last text of the agent; lines with the same time belong to the same text */
  #lastTextAt = ''

  constructor(style: LogStyle) {
    this.#style = style
  }

  async print(process: LoggedProcess, line: LogLine): Promise<void> {
    const { out, withTime, prefix } = this.#style
    if (out.json) return out.record({ version: 1, ...logRecord(process, line) })
    const { text: start, columns } = prefix?.() ?? { text: '', columns: 0 }
    const colour = line.failed ? 'red' : STYLES[line.stream]
    const at = withTime ? formatClock(line.at, Date.now()) : ''
    const time = withTime ? `${out.paint('dim', at)} ` : ''
    const margin = (withTime ? at.length + 1 : 0) + MARKS[line.stream].length
    const { state = 'running', status = 'working', note = null, asks = [] } = process
    const word = line.call?.state
      ? openCallWord({ state, status, note, asks }, { callId: line.call.id, unbegun: line.call.state === 'not begun' })
      : null
    const end = word === null ? '' : `  ${out.paint('yellow', word)}`
    const shown = line.call
      ? this.#callText(line.call, margin + columns + (word === null ? 0 : word.length + 2))
      : this.#wrapped(line, margin, columns)
    const text = MARKS[line.stream] + shown
    const rows = (start === '' ? [text] : text.split('\n')).map((row) => (colour ? out.paint(colour, row) : row))
    await out.line(start + time + rows.join(`\n${start}`) + end)
  }

  /** Returns a call on one row, as `run` and `steps` show it. `usedColumns`: the width of the rest of the row. */
  #callText({ name, input }: NonNullable<LogLine['call']>, usedColumns: number): string {
    const { out } = this.#style
    const tool = oneLine(name)
    const columns = out.proseColumns('stdout')
    const room = columns === Infinity ? INPUT_COLUMNS : Math.max(MIN_INPUT_COLUMNS, columns - displayWidth(tool) - usedColumns - 1)
    return `${tool} ${fitWidth(input, room, out.ellipsis)}`.trimEnd()
  }

  /** Wraps a line between words, unless a program printed it. `margin`: the columns to the left of the line, right of the prefix. */
  #wrapped({ stream, text, at }: LogLine, margin: number, prefixColumns: number): string {
    const columns = this.#style.out.proseColumns('stdout') - prefixColumns
    const space = ' '.repeat(margin)
    if (stream === 'user' || stream === 'system') return wrapText(stripControls(text), columns, space)
    if (stream !== 'assistant') return stripControls(text)
    if (at !== this.#lastTextAt) this.#prose.end()
    this.#lastTextAt = at
    return this.#prose
      .push(`${stripControls(text)}\n`, columns - margin)
      .slice(0, -1)
      .replaceAll('\n', `\n${space}`)
  }
}

/** Returns the prefix with a label. */
export function prefixOf(label: string, paint: (text: string) => string): LogPrefix {
  return { text: `${paint(`${label} |`)} `, columns: displayWidth(label) + 3 }
}
