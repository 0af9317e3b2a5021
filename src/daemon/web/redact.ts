// Redacts the answers to a redacted session: they have no inputs or results of tools, no output, no contents of files and no environment.
// Such a session cannot use routes that `REDACTIONS` does not name. A field of a process, row, need, question or step is left out, unless a
// table shows it. Test: test/tables/daemon/web/restrict.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import type { NeedView } from '../../api/views/needs.ts'
import type { BriefStepsView, StepDetailView } from '../../api/views/steps.ts'
import type { AskView, LogLine, ProcessView, StepView } from '../../api/views/process.ts'

/** What stands in the place of a text. */
const HIDDEN = '(hidden)'
/** The log streams of messages. The others have inputs, results and output; lines of the system also have questions, notes and errors. */
const SHOWN_STREAMS: ReadonlySet<LogLine['stream']> = new Set(['assistant', 'user'])

const REDACTIONS: Readonly<Record<string, (answer: never) => object>> = {
  listProcesses: (answer: { processes: Partial<ProcessView>[] }) => ({
    ...answer,
    processes: answer.processes.map((process) => redactFields(process, PROCESS_FIELDS)),
  }),
  getProcess: (answer: { process: Partial<ProcessView> }) => ({ ...answer, process: redactFields(answer.process, PROCESS_FIELDS) }),
  waitForProcess: (answer: { process: Partial<ProcessView> }) => ({ ...answer, process: redactFields(answer.process, PROCESS_FIELDS) }),
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
export function isOpenToRedacted(routeId: string): boolean {
  return Object.hasOwn(REDACTIONS, routeId)
}

/** Removes what a redacted session must not see. */
export function redact(routeId: string, answer: unknown): unknown {
  return REDACTIONS[routeId]?.(answer as never)
}

/** Marks a field that a redacted session sees as it is. */
export const SHOWN = 'shown'

/** For each field of a view: `SHOWN`, or what a redacted session sees in its place. A new field does not compile without a rule. */
export type FieldRules<V> = { readonly [F in keyof V]-?: typeof SHOWN | ((value: V[F]) => V[F]) }

/** Returns the fields that have a rule, each as its rule shows it. */
export function redactFields<V, P extends Partial<V>>(fields: P, rules: FieldRules<V>): P {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const redactField = fieldRedactor(name, rules)
      return redactField ? [[name, redactField(value)]] : []
    }),
  ) as P
}

/** Returns the function that redacts the values of a field; null if the field has no rule, and must not be shown. */
export function fieldRedactor<V>(name: string, rules: FieldRules<V>): ((value: unknown) => unknown) | null {
  if (!Object.hasOwn(rules, name)) return null
  const rule = rules[name as keyof V] as typeof SHOWN | ((value: unknown) => unknown)
  return rule === SHOWN ? (value) => value : rule
}

const PROCESS_FIELDS: FieldRules<ProcessView> = {
  uuid: SHOWN,
  pid: SHOWN,
  ppid: SHOWN,
  parentUuid: SHOWN,
  name: SHOWN,
  agent: SHOWN,
  driver: SHOWN,
  format: SHOWN,
  state: SHOWN,
  status: SHOWN,
  activity: SHOWN,
  holds: SHOWN,
  asks: (asks) => asks.map(redactAsk),
  resumeAt: SHOWN,
  liveness: (liveness) => liveness && { ...liveness, evidence: HIDDEN },
  intent: SHOWN,
  about: SHOWN,
  cwd: SHOWN,
  instructions: SHOWN,
  skills: SHOWN,
  directory: SHOWN,
  worktree: SHOWN,
  host: SHOWN,
  containment: SHOWN,
  gateway: SHOWN,
  createdAt: SHOWN,
  startedAt: SHOWN,
  pausedAt: SHOWN,
  exitedAt: SHOWN,
  elapsedMs: SHOWN,
  exit: redactExit,
  stopping: SHOWN,
  signals: SHOWN,
  step: SHOWN,
  turn: SHOWN,
  interactive: SHOWN,
  input: SHOWN,
  originUuid: SHOWN,
  originStep: SHOWN,
  resumedFromStep: SHOWN,
  checkpointStep: SHOWN,
  model: SHOWN,
  fallback: SHOWN,
  effort: SHOWN,
  sessionId: SHOWN,
  role: SHOWN,
  phase: SHOWN,
  taskId: SHOWN,
  queueCount: SHOWN,
  retiredAt: SHOWN,
  updatedAt: SHOWN,
  lastActivityAt: SHOWN,
  usage: SHOWN,
  subtreeUsage: SHOWN,
  limits: SHOWN,
  limitUse: SHOWN,
  metering: SHOWN,
  memoryLimit: SHOWN,
  restart: SHOWN,
  pendingRestart: (restart) => restart && { ...restart, cause: HIDDEN },
  childId: SHOWN,
  supervisor: SHOWN,
  capabilities: SHOWN,
  children: SHOWN,
  pinned: SHOWN,
  removeAtEnd: SHOWN,
  labels: SHOWN,
  since: SHOWN,
  why: redactWhy,
  doing: redactDoing,
  note: () => null,
  lastText: SHOWN,
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

/** A question without its text, call or change. The names of options may have parts of the call. */
const ASK_FIELDS: FieldRules<AskView> = {
  id: SHOWN,
  kind: SHOWN,
  text: () => HIDDEN,
  at: SHOWN,
  options: (options) => options.map(redactOption),
  callId: SHOWN,
  step: SHOWN,
  message: SHOWN,
  source: SHOWN,
  tool: (tool) => tool && { ...tool, input: null, locations: [] },
  diff: () => [],
  moreFiles: SHOWN,
  hash: SHOWN,
}

function redactAsk(ask: AskView): AskView {
  return redactFields(ask, ASK_FIELDS)
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

/** The fields of a need. Texts about its subject are removed, except the last text of the agent, which the steps have, too. */
const NEED_FIELDS: FieldRules<NeedView> = {
  id: SHOWN,
  uuid: SHOWN,
  pid: SHOWN,
  name: SHOWN,
  root: SHOWN,
  rootName: SHOWN,
  kind: SHOWN,
  rank: SHOWN,
  at: SHOWN,
  title: () => HIDDEN,
  seen: SHOWN,
  snoozedUntil: SHOWN,
  ask: (ask) => ask && redactAsk(ask),
  hold: SHOWN,
  task: (task) => task && { ...task, title: HIDDEN },
  // The options depend on the kind of need, so `redactNeed` adds them.
  options: () => [],
  commands: () => [],
  evidence: ({ message }) => ({ note: null, message, error: null, report: null, text: null, change: null }),
}

export function redactNeed(need: NeedView): NeedView {
  const { ask, options } = need
  return { ...redactFields(need, NEED_FIELDS), options: ask ? options.map(redactOption) : options }
}

/** A step without the inputs or results of its tools. */
const STEP_FIELDS: FieldRules<StepView> = {
  step: SHOWN,
  startedAt: SHOWN,
  finishedAt: SHOWN,
  model: SHOWN,
  attempts: SHOWN,
  text: SHOWN,
  tools: (tools) => tools.map(redactTool),
  inputTokens: SHOWN,
  outputTokens: SHOWN,
  cacheReadTokens: SHOWN,
  cacheWriteTokens: SHOWN,
  costUsd: SHOWN,
  notes: () => [],
}

const STEP_DETAIL_FIELDS: FieldRules<StepDetailView> = {
  ...STEP_FIELDS,
  tools: (tools) => tools.map(redactTool),
  reasoning: () => null,
  modelMs: SHOWN,
  firstTokenMs: SHOWN,
  toolMs: SHOWN,
  humanMs: SHOWN,
  heldMs: SHOWN,
  calls: (calls) => calls.map((call) => ({ ...call, error: call.error === null ? null : HIDDEN })),
  messages: SHOWN,
  asks: (asks) => asks.map((ask) => ({ ...ask, text: HIDDEN })),
  holds: SHOWN,
  contextTokens: SHOWN,
  compaction: (compaction) => compaction && { ...compaction, summary: HIDDEN },
  files: SHOWN,
  checkpoint: SHOWN,
}

/** A list of steps, one step in full, or columns, which have no inputs or results. */
function redactSteps(answer: { steps?: StepView[]; step?: StepDetailView; columns?: BriefStepsView['columns'] }): object {
  if (answer.steps) return { ...answer, steps: answer.steps.map((step) => redactFields(step, STEP_FIELDS)) }
  if (answer.columns) return answer
  return { ...answer, step: redactFields(answer.step as StepDetailView, STEP_DETAIL_FIELDS) }
}

function redactTool<T extends StepView['tools'][number] | StepDetailView['tools'][number]>(tool: T): T {
  return { ...tool, input: null, result: tool.result === null ? null : HIDDEN }
}
