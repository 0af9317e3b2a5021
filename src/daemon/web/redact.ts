// What a redacted session reads: no inputs and results of tools, no output, no contents of files, no environment. An answer without a row
// here is not for such a session. Test: test/tables/daemon/web/restrict.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import type { NeedView } from '../../api/views/needs.ts'
import type { BriefStepsView, StepDetailView } from '../../api/views/steps.ts'
import type { AskView, LogLine, ProcessView, StepView } from '../../api/views/process.ts'

type ProcessPart = Partial<Pick<ProcessView, 'asks' | 'note' | 'liveness' | 'why' | 'doing' | 'exit' | 'pendingRestart'>>

/** What stands in the place of a text. */
const HIDDEN = '(hidden)'
/** The log streams of messages. The others have inputs, results and output; lines of the system also have questions, notes and errors. */
const SHOWN_STREAMS: ReadonlySet<LogLine['stream']> = new Set(['assistant', 'user'])

const REDACTIONS: Readonly<Record<string, (answer: never) => object>> = {
  listProcesses: (answer: { processes: ProcessPart[] }) => ({ ...answer, processes: answer.processes.map(redactProcess) }),
  getProcess: (answer: { process: ProcessPart }) => ({ ...answer, process: redactProcess(answer.process) }),
  waitForProcess: (answer: { process: ProcessPart }) => ({ ...answer, process: redactProcess(answer.process) }),
  getSteps: redactSteps,
  getLogs: (answer: { lines: LogLine[] }) => ({ ...answer, lines: answer.lines.filter(({ stream }) => SHOWN_STREAMS.has(stream)) }),
  getSignals: (answer: object) => answer,
  getDaemon: (answer: object) => answer,
  listNeeds: (answer: { needs: NeedView[] }) => ({ ...answer, needs: answer.needs.map(redactNeed) }),
  getNeed: (answer: { need: NeedView }) => ({ ...answer, need: redactNeed(answer.need) }),
  // Rows are redacted where they are written: rows-of-session.ts.
  getRows: (answer: object) => answer,
}

/** Whether a redacted session may use a route. */
export function isRedacted(routeId: string): boolean {
  return Object.hasOwn(REDACTIONS, routeId)
}

/** Removes what a redacted session must not see. */
export function redact(routeId: string, answer: unknown): unknown {
  return REDACTIONS[routeId]?.(answer as never)
}

function redactProcess<P extends ProcessPart>(process: P): P {
  return {
    ...process,
    ...(process.asks ? { asks: process.asks.map(redactAsk) } : {}),
    ...(process.note === undefined ? {} : { note: null }),
    ...(process.why ? { why: redactWhy(process.why) } : {}),
    ...(process.doing ? { doing: redactDoing(process.doing) } : {}),
    ...(process.exit ? { exit: redactExit(process.exit) } : {}),
    ...(process.pendingRestart ? { pendingRestart: { ...process.pendingRestart, cause: HIDDEN } } : {}),
    ...(process.liveness ? { liveness: { ...process.liveness, evidence: HIDDEN } } : {}),
  }
}

/** What a process waits for, without the text of a question. */
export function redactWhy(why: RowView['why']): RowView['why'] {
  return why && { ...why, text: HIDDEN }
}

/** An end without its error, which may have what the program wrote to stderr. */
export function redactExit<E extends RowView['exit']>(exit: E): E {
  return exit?.error === undefined ? exit : { ...exit, error: HIDDEN }
}

/** The open call, without the input of its tool. */
export function redactDoing(doing: RowView['doing']): RowView['doing'] {
  return doing && { ...doing, ...(doing.input === undefined ? {} : { input: HIDDEN }) }
}

/** A question without its text, call and change. The names of options may have parts of the call. */
function redactAsk(ask: AskView): AskView {
  const tool = ask.tool && { ...ask.tool, input: null, locations: [] }
  return { ...ask, text: HIDDEN, tool, diff: [], options: ask.options.map(redactOption) }
}

const OPTION_NAMES: Readonly<Record<AskView['options'][number]['kind'], string>> = {
  allow_once: 'Allow once',
  allow_always: 'Allow always',
  reject_once: 'Reject once',
  reject_always: 'Reject always',
  choice: HIDDEN,
}

function redactOption(option: AskView['options'][number]): AskView['options'][number] {
  return { ...option, name: OPTION_NAMES[option.kind] }
}

/** A need without what it is about. The last text stays, because the steps have it, too. */
export function redactNeed(need: NeedView): NeedView {
  const { ask, task, options, evidence } = need
  return {
    ...need,
    title: HIDDEN,
    ask: ask && redactAsk(ask),
    task: task && { ...task, title: HIDDEN },
    options: ask ? options.map(redactOption) : options,
    commands: [],
    evidence: { ...evidence, note: null, error: null, report: null, text: null, change: null },
  }
}

/** A list of steps, one step in full, or columns, which have no inputs and results. */
function redactSteps(answer: { steps?: StepView[]; step?: StepDetailView; columns?: BriefStepsView['columns'] }): object {
  if (answer.steps) return { ...answer, steps: answer.steps.map(redactStep) }
  if (answer.columns) return answer
  const step = answer.step as StepDetailView
  return {
    ...answer,
    step: {
      ...redactStep(step),
      reasoning: null,
      calls: step.calls.map((call) => ({ ...call, error: call.error === null ? null : HIDDEN })),
      asks: step.asks.map((ask) => ({ ...ask, text: HIDDEN })),
      compaction: step.compaction && { ...step.compaction, summary: HIDDEN },
    },
  }
}

function redactStep<S extends StepView | StepDetailView>(step: S): S {
  return {
    ...step,
    tools: step.tools.map((tool) => ({ ...tool, input: null, result: tool.result === null ? null : HIDDEN })),
    notes: [],
  }
}
