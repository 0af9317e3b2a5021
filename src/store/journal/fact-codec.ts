// The stored form of fact bodies: a closed table with a number and an order of fields for each fact type. This is a format on disk. A
// number or a field is never reused, moved or removed. A new field is appended as optional (`name?`). A body is stored as a JSON array in
// that order, so that rows repeat neither the type nor the field names. Test: test/tables/store/journal/fact-codec.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { FactBody, FactType } from '../../kernel/model/facts.ts'

type Body<T extends FactType> = Omit<Extract<FactBody, { type: T }>, 'type'>
type Field<B> = { [K in keyof B & string]-?: object extends Pick<B, K> ? `${K}?` : K }[keyof B & string]
type Layout = { readonly [T in FactType]: readonly [code: number, ...fields: Field<Body<T>>[]] }
/** The fields of facts that are missing in the table. The type must be `never`. */
type Missing<L extends Layout> = { [T in FactType]: Exclude<Field<Body<T>>, L[T][number]> }[FactType]

/** Checks at compile time that the table is complete: the compiler's error names a missing field. */
function checkComplete<const L extends Layout>(layout: L & ([Missing<L>] extends [never] ? unknown : { missing: Missing<L> })): L {
  return layout
}

const LAYOUT = checkComplete({
  'process.spawned': [1, 'pid', 'spec', 'parentUuid', 'depth', 'by', 'via?'],
  'process.started': [2, 'mono', 'attached', 'containment', 'metered?', 'direct?'],
  'process.attached': [3, 'containment', 'metered?', 'direct?'],
  'process.handle': [4, 'handle', 'sessionId?'],
  'process.ready': [5, 'turn', 'outcome?', 'result?', 'error?'],
  'process.working': [6, 'turn', 'message'],
  'process.waiting': [7, 'question', 'ask?'],
  'process.stopping': [8, 'stopping'],
  'process.exited': [9, 'exit', 'mono', 'elapsedMs?', 'holds?', 'settled?'],
  'process.reaped': [10, 'settled?'],
  'process.reparented': [11, 'parent', 'payer?', 'settled?'],
  'process.resumed': [12, 'pid', 'by', 'spec?', 'fromStep', 'rerun?', 'restart?', 'endsTurn?', 'via?'],
  'process.rehydrated': [13, 'pid'],
  'process.held': [14, 'hold', 'mono'],
  'process.released': [15, 'holds', 'by', 'mono', 'via?'],
  'process.drained': [16, 'inFlight'],
  'process.frozen': [17, 'inFlight'],
  'signal.sent': [18, 'signal', 'by', 'root', 'disposition', 'graceMs', 'via?'],
  'signal.pended': [19, 'pending'],
  'signal.unpended': [20, 'signal'],
  'signal.masked': [21, 'mask'],
  'signal.handled': [22, 'signal', 'handler'],
  'process.queue': [23, 'id', 'from', 'text', 'urgent?', 'via?'],
  'process.incoming': [24, 'id', 'from', 'turn', 'queuedAt'],
  'process.output': [25, 'stream', 'text'],
  'process.raw': [143, 'raw', 'left?'],
  'process.error': [26, 'message'],
  'process.note': [27, 'text'],
  'model.started': [28, 'step', 'attempt', 'model', 'reserve?'],
  'model.finished': [29, 'step', 'message', 'usage', 'finish', 'durationMs', 'firstTokenMs?'],
  'model.failed': [30, 'step', 'attempt', 'error', 'status', 'retryInMs', 'partial?', 'usage?'],
  'tool.started': [31, 'step', 'callId', 'name', 'effect'],
  'tool.finished': [32, 'step', 'callId', 'name', 'outcome', 'content', 'durationMs', 'images?', 'exitCode?'],
  'checkpoint.written': [33, 'step', 'ranges', 'turn', 'openCalls', 'state?'],
  'checkpoint.failed': [34, 'step', 'error'],
  'child.spawned': [35, 'child', 'childPid'],
  'child.exited': [36, 'child', 'childPid', 'code', 'reason'],
  'child.suspended': [37, 'child', 'reason', 'by'],
  'child.resumed': [38, 'child', 'by'],
  'context.window': [39, 'tokens', 'answer?'],
  'compaction.started': [40, 'step', 'attempt', 'model', 'reserve?'],
  'compaction.failed': [41, 'step', 'attempt', 'error', 'status', 'retryInMs', 'usage?'],
  'context.compacted': [42, 'step', 'summary', 'ranges', 'before', 'after', 'usage', 'durationMs'],
  'limit.warned': [43, 'limit', 'used', 'of', 'scope?'],
  'mcp.servers': [44, 'servers'],
  'process.answered': [45, 'id', 'option', 'text', 'by', 'via?', 'delivery?'],
  'process.unasked': [46, 'id'],
  'process.delivered': [175, 'id'],
  'process.unanswered': [176, 'id', 'by', 'via?'],
  'usage.reported': [47, 'usage', 'contextTokens?', 'window?'],
  'process.forked': [48, 'pid', 'spec', 'parentUuid', 'depth', 'by', 'origin', 'state', 'via?'],
  'process.retired': [90, 'by', 'reason'],
  'crew.begun': [91],
  'crew.member': [92, 'member', 'role', 'who?', 'via?'],
  'crew.joined': [93, 'member', 'process', 'inherits?'],
  'crew.inherited': [142, 'member'],
  'crew.leaving': [94, 'member', 'how', 'reason', 'via?'],
  'crew.left': [95, 'member', 'how', 'reason', 'by?', 'via?'],
  'crew.replaced': [96, 'member', 'heir', 'summary', 'via?'],
  'crew.held': [97, 'member', 'held', 'reason?', 'wakes?'],
  'crew.kept': [141, 'member'],
  'crew.full': [98, 'member', 'share'],
  'crew.turn.begun': [99, 'member', 'turn', 'resets'],
  'crew.turn': [100, 'member', 'turn', 'outcome', 'end', 'queued', 'task?', 'spent?', 'error?'],
  'crew.heard': [101, 'member', 'call', 'tool', 'note'],
  'crew.job': [102, 'job'],
  'crew.job.done': [103, 'job', 'result'],
  'crew.sent': [104, 'message', 'to', 'from', 'task?', 'via?'],
  'crew.notified': [105, 'text', 'via?'],
  'crew.stalled': [106],
  'crew.halted': [172, 'reason'],
  'crew.ending': [107, 'outcome', 'summary', 'via?'],
  'crew.ended': [108],
  'task.added': [
    109,
    'task',
    'kind',
    'title',
    'text',
    'acceptance?',
    'needs',
    'role',
    'reviews',
    'by',
    'priority?',
    'verify?',
    'limits?',
    'who?',
    'via?',
  ],
  'task.assigned': [110, 'task', 'member', 'via?'],
  'task.prepared': [111, 'task', 'base', 'salvaged?'],
  'task.reported': [112, 'task', 'member', 'summary'],
  'task.review': [113, 'task', 'member', 'earlier?', 'via?'],
  'task.unreviewed': [114, 'task', 'member', 'reason', 'by?'],
  'task.verdict': [115, 'task', 'member', 'verdict', 'comments'],
  'task.asked': [116, 'task', 'id', 'for', 'question', 'options'],
  'task.answered': [117, 'task', 'option', 'text'],
  'task.approved': [118, 'task', 'by', 'via?'],
  'task.committing': [119, 'task'],
  'task.uncommitted': [120, 'task', 'reason'],
  'task.committed': [121, 'task', 'commit', 'note?'],
  'task.merged': [122, 'task', 'merged'],
  'task.conflict': [123, 'task', 'conflict', 'files'],
  'task.resolving': [152, 'task', 'files', 'tasks'],
  'task.differs': [153, 'task', 'commit', 'from', 'files'],
  'task.resolved': [150, 'task', 'conflict', 'unmerged?'],
  'task.blocked': [151, 'task', 'reason'],
  'task.parked': [146, 'task'],
  'task.resumed': [147, 'task', 'member'],
  'task.requeued': [124, 'task', 'reason', 'counts', 'lost?', 'keeps?', 'via?'],
  'task.done': [125, 'task', 'reason', 'by?', 'via?'],
  'task.failed': [126, 'task', 'reason', 'need?', 'via?'],
  'task.cancelled': [127, 'task', 'reason', 'via?'],
  'task.message': [128, 'task', 'from', 'to', 'text'],
  'task.briefed': [129, 'task', 'head?'],
  'task.retried': [161, 'task', 'by', 'via?'],
  'task.reopened': [162, 'task', 'comments', 'by', 'via?'],
  'task.edited': [163, 'task', 'title?', 'text?', 'acceptance?', 'needs?', 'role?', 'reviews?', 'by', 'limits?', 'who?', 'via?'],
  'task.taken': [164, 'task', 'crew', 'name', 'commit', 'merged', 'report?', 'byWord?'],
  'task.ordered': [160, 'task', 'priority', 'before?', 'by', 'via?'],
  'process.pinned': [49, 'pinned', 'by', 'via?'],
  'process.seen': [173, 'by', 'via?'],
  'process.snoozed': [174, 'until', 'by', 'via?'],
  'worktree.made': [50, 'dir', 'branch', 'base'],
  'files.recorded': [51, 'step', 'commit', 'head', 'left', 'more?'],
  'files.failed': [52, 'step', 'error'],
  'signal.escalated': [53, 'from', 'to', 'afterMs'],
  'restart.due': [64, 'startAt', 'dueMono'],
  'supervisor.added': [65, 'id', 'child', 'restart', 'onComplete?'],
  'supervisor.removed': [66, 'id', 'child', 'via?'],
  'supervisor.restarting': [67, 'id', 'child', 'cause', 'restarts', 'delayMs', 'group?'],
  'supervisor.restarted': [68, 'startAt'],
  'supervisor.held': [69, 'id', 'child', 'cause'],
  'supervisor.escalated': [70, 'id', 'child', 'times', 'windowMs'],
  'capability.refused': [81, 'what', 'detail', 'callId?'],
  'usage.measured': [78, 'measured'],
  'liveness.changed': [72, 'word', 'since', 'evidence'],
  'liveness.looping': [73, 'times', 'calls', 'told?'],
  'liveness.breaker': [74, 'errors', 'of', 'tools', 'last', 'told?'],
  'child.spent': [54, 'child', 'spent'],
  'limit.reached': [55, 'limit', 'used', 'of', 'action', 'scope', 'ask?'],
  'process.limited': [56, 'spec', 'by', 'via?'],
  'process.described': [60, 'what', 'spec', 'by', 'from?', 'via?'],
  'call.started': [57, 'call', 'model', 'provider', 'reserve'],
  'call.finished': [58, 'call', 'usage', 'status', 'error?', 'contextTokens?', 'account?', 'firstTokenMs?'],
  'message.sent': [59, 'to', 'id'],
  'compose.starting': [130, 'node', 'ask'],
  'compose.started': [131, 'node', 'child'],
  'compose.retrying': [132, 'node', 'child', 'attempt', 'cause', 'delayMs'],
  'compose.completed': [133, 'node', 'child'],
  'compose.failed': [134, 'node', 'reason'],
  'compose.blocked': [135, 'node', 'by'],
  'compose.cancelled': [136, 'node', 'reason'],
  'compose.again': [137, 'node', 'by', 'via?'],
  'compose.resumed': [138, 'node', 'child', 'by', 'via?'],
  'compose.finished': [139, 'outcome'],
  'message.taken': [140, 'id', 'turn'],
  'crew.setup': [171, 'member', 'ok', 'command', 'ran', 'copied', 'skipped'],
  'task.verify': [145, 'task', 'member', 'stage', 'ok', 'command', 'ran', 'commit', 'tree', 'changed'],
})

interface Column {
  readonly name: string
  readonly optional: boolean
}

interface Shape {
  readonly code: number
  readonly type: FactType
  readonly columns: readonly Column[]
}

const SHAPES: readonly Shape[] = Object.entries(LAYOUT).map(([type, [code, ...fields]]) => ({
  code,
  type: type as FactType,
  columns: (fields as readonly string[]).map((field) => ({ name: field.replace('?', ''), optional: field.endsWith('?') })),
}))
export const FACT_TYPES: readonly FactType[] = SHAPES.map(({ type }) => type)
const BY_TYPE: ReadonlyMap<string, Shape> = new Map(SHAPES.map((shape) => [shape.type, shape]))
const BY_CODE: ReadonlyMap<number, Shape> = new Map(SHAPES.map((shape) => [shape.code, shape]))

/** Returns the number of a fact type; undefined for an unknown type. */
export function codeOf(type: string): number | undefined {
  return BY_TYPE.get(type)?.code
}

/** The codes of all types but these. */
export function otherCodes(codes: ReadonlySet<number>): ReadonlySet<number> {
  return new Set(SHAPES.flatMap(({ code }) => (codes.has(code) ? [] : [code])))
}

/** Returns the fact type with a number; undefined for an unknown number. */
export function typeOf(code: number): FactType | undefined {
  return BY_CODE.get(code)?.type
}

/** Returns the values of a body in the order of the table. An absent optional field is null, or is left out at the end. */
export function packBody(body: FactBody): { code: number; values: unknown[] } {
  const shape = BY_TYPE.get(body.type)
  if (shape === undefined) throw new KernelError('INTERNAL', `A fact of the unknown type ${String(body.type)} cannot be stored.`)
  const source = body as unknown as Readonly<Record<string, unknown>>
  const values: unknown[] = []
  for (const column of shape.columns) values.push(source[column.name] ?? null)
  while (values.at(-1) === null && shape.columns[values.length - 1]?.optional === true) values.pop()
  return { code: shape.code, values }
}

/** Restores a body from its values. Returns an error message instead if the values are invalid. */
export function unpackBody(code: number, values: unknown): FactBody | string {
  const shape = BY_CODE.get(code)
  if (shape === undefined) return `unknown fact type ${code}`
  if (!Array.isArray(values)) return `the body of ${shape.type} is not a list`
  if (values.length > shape.columns.length) return `the body of ${shape.type} has ${values.length} fields`
  const body: Record<string, unknown> = { type: shape.type }
  let index = 0
  for (const column of shape.columns) {
    const value: unknown = values[index++]
    if (column.optional && (value === null || value === undefined)) continue
    if (value === undefined) return `the body of ${shape.type} has no ${column.name}`
    body[column.name] = value
  }
  return body as unknown as FactBody
}
