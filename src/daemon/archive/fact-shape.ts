// Checks that an imported fact has the fields of its type. Someone may have written the fact by hand, and the daemon trusts the fields of
// stored facts. Must never refuse a fact that a daemon has written. So nested values are checked only as far as the daemon reads them. For
// specs see spec-shape.ts. Tests: test/properties/archive-shape.test.ts, test/e2e/daemon/archive-damage.test.ts.
import * as z from 'zod'
import { issueText } from '../../config/zod-messages.ts'
import type { FactBody, FactType } from '../../kernel/model/facts.ts'
import { SIGNALS } from '../../kernel/model/words.ts'

const [text, flag] = [z.string(), z.boolean()]
/** Any number, time or duration. The bounds are those of valid dates. */
const number = z.number().min(-1e15).max(1e15)
const signal = z.enum(SIGNALS)
const range = z.tuple([number, number])
const usage = z.looseObject({
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  costUsd: number.nullable(),
  estimated: flag.optional(),
})
const reserve = z.looseObject({
  inputTokens: number,
  maxOutputTokens: number.nullable(),
  usd: z.looseObject({ perInputToken: number, perOutputToken: number }).nullable(),
})
const agentChoice = z.looseObject({ agent: text.optional(), model: text.optional() })
const command = z.looseObject({ command: z.union([text, z.array(text)]), timeoutMs: number })
const commandResult = z.looseObject({ end: text, code: number.nullable(), signal: text.nullable(), ms: number, output: text, left: number })
const exit = z.looseObject({
  code: number,
  reason: text,
  signal: signal.optional(),
  error: text.optional(),
  cause: text,
  resumeAt: number.optional(),
  account: z.literal(true).optional(),
})
const hold = z.looseObject({ reason: text, by: text, at: number, until: number.optional(), wake: flag.optional() })
const ask = z.looseObject({
  id: text,
  kind: text,
  text,
  options: z.array(z.looseObject({ id: text, name: text, kind: text })),
  callId: text.nullable(),
  at: number,
  evidence: z
    .looseObject({
      source: text,
      tool: z.looseObject({ name: text, kind: text, isCut: flag.optional(), locations: z.array(text) }),
      diff: z.array(z.looseObject({ path: text, old: text.nullable(), new: text, cut: number.optional() })),
      moreFiles: number.optional(),
    })
    .optional(),
  step: number.optional(),
  message: text.optional(),
})
const queue = z.array(z.looseObject({ id: text, from: text, seq: number }))
const containment = z.looseObject({ kind: text, path: text.nullable(), marker: text }).nullable()
const context = z
  .looseObject({ window: number.nullable(), ranges: z.array(range).nullable(), compactedStep: number.nullable(), compacting: flag })
  .nullable()
const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['text', 'reasoning']), text }),
  z.looseObject({ type: z.literal('tool-call'), callId: text, name: text }),
])
const spawnFields = { pid: number, spec: z.looseObject({}), parentUuid: text.nullable(), depth: number, by: text }
const toolCallFields = { step: number, callId: text, name: text }

/** The fields of the body of each type of fact. */
const SHAPES: Readonly<Record<FactType, z.ZodRawShape>> = {
  'process.spawned': { ...spawnFields, via: text.optional() },
  'process.forked': {
    ...spawnFields,
    origin: z.looseObject({ uuid: text, step: number, seq: number }),
    state: z.looseObject({
      turn: number,
      turnOpen: flag,
      lastText: text.nullable(),
      queue,
      context,
      contextTokens: number,
      sessionId: text.nullable(),
    }),
    via: text.optional(),
  },
  'process.retired': { by: text, reason: text },
  'crew.begun': {},
  'crew.member': { member: text, role: text, who: agentChoice.optional(), via: text.optional() },
  'crew.joined': { member: text, process: text, inherits: flag.optional() },
  'crew.inherited': { member: text },
  'crew.leaving': { member: text, how: text, reason: text, via: text.optional() },
  'crew.left': { member: text, how: text, reason: text, by: text.optional(), via: text.optional() },
  'crew.replaced': { member: text, heir: text, summary: text, via: text.optional() },
  'crew.held': { member: text, held: flag, reason: text.optional(), wakes: flag.optional() },
  'crew.kept': { member: text },
  'crew.full': { member: text, share: number },
  'crew.turn.begun': { member: text, turn: number, resets: flag },
  'crew.turn': {
    member: text,
    turn: number,
    outcome: text,
    end: text,
    queued: number,
    task: text.optional(),
    spent: z.looseObject({}).optional(),
    error: text.optional(),
  },
  'crew.heard': { member: text, call: text.nullable(), tool: text, note: text },
  'crew.job': { job: z.looseObject({ job: number, type: text, member: text }) },
  'crew.job.done': { job: number, result: z.looseObject({ type: text }) },
  'crew.sent': { message: number, to: text, from: text, task: text.optional(), via: text.optional() },
  'crew.notified': { text, via: text.optional() },
  'crew.stalled': {},
  'crew.halted': { reason: text.nullable() },
  'crew.ending': { outcome: text, summary: text, via: text.optional() },
  'crew.ended': {},
  'task.added': {
    task: text,
    kind: text,
    title: text,
    text,
    acceptance: text.optional(),
    needs: z.array(text),
    role: text.nullable(),
    reviews: flag,
    by: text,
    priority: number.optional(),
    limits: z.looseObject({}).optional(),
    verify: z.union([z.literal(false), command]).optional(),
    who: agentChoice.optional(),
    via: text.optional(),
  },
  'task.ordered': { task: text, priority: number, before: text.optional(), by: text, via: text.optional() },
  'task.assigned': { task: text, member: text, via: text.optional() },
  'task.prepared': { task: text, base: text.nullable(), salvaged: text.optional() },
  'task.reported': { task: text, member: text, summary: text },
  'task.review': { task: text, member: text, earlier: flag.optional(), via: text.optional() },
  'crew.setup': { member: text, ok: flag, command: text.nullable(), ran: commandResult.nullable(), copied: number, skipped: z.array(text) },
  'task.verify': {
    task: text,
    member: text,
    stage: text,
    ok: flag,
    command: text,
    ran: commandResult,
    commit: text.nullable(),
    tree: text.nullable(),
    changed: z.array(text),
  },
  'task.briefed': { task: text, head: text.optional() },
  'task.unreviewed': { task: text, member: text, reason: text, by: text.optional() },
  'task.verdict': { task: text, member: text.nullable(), verdict: text, comments: text },
  'task.asked': { task: text, id: text, for: text, question: text, options: z.array(text) },
  'task.answered': { task: text, option: text.nullable(), text: text.nullable() },
  'task.approved': { task: text, by: text.nullable(), via: text.optional() },
  'task.committing': { task: text },
  'task.uncommitted': { task: text, reason: text },
  'task.committed': { task: text, commit: text, note: text.optional() },
  'task.merged': { task: text, merged: text },
  'task.conflict': { task: text, conflict: text, files: z.array(text) },
  'task.resolving': { task: text, files: z.array(text), tasks: z.array(text) },
  'task.differs': { task: text, commit: text, from: text, files: z.array(text) },
  'task.resolved': { task: text, conflict: text, unmerged: flag.optional() },
  'task.parked': { task: text },
  'task.resumed': { task: text, member: text },
  'task.blocked': { task: text, reason: text },
  'task.requeued': { task: text, reason: text, counts: flag, lost: flag.optional(), keeps: text.optional(), via: text.optional() },
  'task.done': { task: text, reason: text.nullable(), by: text.optional(), via: text.optional() },
  'task.failed': { task: text, reason: text, need: text.optional(), via: text.optional() },
  'task.taken': {
    task: text,
    crew: text,
    name: text,
    commit: text.nullable(),
    merged: text.nullable(),
    report: text.optional(),
    byWord: text.optional(),
  },
  'task.retried': { task: text, by: text, via: text.optional() },
  'task.reopened': { task: text, comments: text, by: text, via: text.optional() },
  'task.edited': {
    task: text,
    title: text.optional(),
    text: text.optional(),
    acceptance: text.optional(),
    needs: z.array(text).optional(),
    role: text.optional(),
    reviews: flag.optional(),
    by: text,
    limits: z.looseObject({}).optional(),
    who: agentChoice.optional(),
    via: text.optional(),
  },
  'task.cancelled': { task: text, reason: text, via: text.optional() },
  'task.message': { task: text.nullable(), from: text, to: text, text },
  'process.pinned': { pinned: flag, by: text, via: text.optional() },
  'process.seen': { by: text, via: text.optional() },
  'process.snoozed': { until: number.nullable(), by: text, via: text.optional() },
  'process.described': { what: text, spec: z.looseObject({}), by: text, from: text.optional(), via: text.optional() },
  'process.started': { mono: number, attached: flag, containment, metered: flag.optional(), direct: text.optional() },
  'process.attached': { containment, metered: flag.optional(), direct: text.optional() },
  'process.handle': { handle: z.looseObject({ pid: number, startTime: text, pgid: number }).nullable(), sessionId: text.optional() },
  'process.ready': { turn: number, outcome: text.optional(), result: text.optional(), error: text.optional() },
  'process.working': { turn: number, message: text.nullable() },
  'process.waiting': { question: text, ask: ask.optional() },
  'process.answered': {
    id: text,
    option: text.nullable(),
    text: text.nullable(),
    by: text,
    via: text.optional(),
    delivery: z.looseObject({ at: number, dueMono: number }).optional(),
  },
  'process.delivered': { id: text },
  'process.unanswered': { id: text, by: text, via: text.optional() },
  'process.unasked': { id: text },
  'process.stopping': { stopping: z.looseObject({ signal, by: text, at: number, graceMs: number, exit }) },
  'process.exited': { exit, mono: number, elapsedMs: number.optional(), holds: z.array(hold).optional(), settled: flag.optional() },
  'process.reaped': { settled: flag.optional() },
  'process.reparented': { parent: text.nullable(), payer: text.optional(), settled: flag.optional() },
  'process.resumed': {
    pid: number,
    by: text,
    spec: z.looseObject({}).optional(),
    fromStep: number,
    rerun: flag.optional(),
    restart: z.looseObject({ attempt: number, cause: text, at: number.nullable(), dueMono: number.nullable(), after: text }).optional(),
    endsTurn: flag.optional(),
    via: text.optional(),
  },
  'process.rehydrated': { pid: number },
  'process.held': { hold, mono: number },
  'process.released': { holds: z.array(hold), by: text, mono: number, via: text.optional() },
  'process.drained': { inFlight: text.nullable() },
  'process.frozen': { inFlight: text.nullable() },
  'signal.sent': { signal, by: text, root: text.nullable(), disposition: text, graceMs: number.nullable(), via: text.optional() },
  'signal.escalated': { from: signal, to: signal, afterMs: number },
  'restart.due': { startAt: number.nullable(), dueMono: number.nullable() },
  'supervisor.added': { id: text, child: text, restart: text, onComplete: text.optional() },
  'supervisor.removed': { id: text, child: text, via: text.optional() },
  'supervisor.restarting': {
    id: text,
    child: text,
    cause: text,
    restarts: z.looseObject({ times: z.array(number), cause: text.nullable(), inARow: number }),
    delayMs: number,
    group: z.array(text).optional(),
  },
  'supervisor.restarted': { startAt: number },
  'supervisor.held': { id: text, child: text, cause: text },
  'supervisor.escalated': { id: text, child: text, times: number, windowMs: number },
  'signal.pended': {
    pending: z.looseObject({ signal, by: text, root: text.nullable(), graceMs: number.nullable(), dueMono: number.nullable() }),
  },
  'signal.unpended': { signal },
  'signal.masked': { mask: z.array(signal) },
  'signal.handled': { signal, handler: text },
  'process.queue': { id: text, from: text, text, urgent: flag.optional(), via: text.optional() },
  'process.incoming': { id: text, from: text, turn: number, queuedAt: number },
  'process.output': { stream: text, text },
  'process.error': { message: text },
  'process.note': { text },
  'model.started': { step: number, attempt: number, model: text, reserve: reserve.optional() },
  'model.finished': {
    step: number,
    message: z.array(part),
    usage,
    finish: text,
    durationMs: number,
    firstTokenMs: number.optional(),
  },
  'model.failed': {
    step: number,
    attempt: number,
    error: text,
    status: number.nullable(),
    retryInMs: number.nullable(),
    partial: text.optional(),
    usage: usage.optional(),
  },
  'tool.started': { ...toolCallFields, effect: text },
  'tool.finished': {
    ...toolCallFields,
    outcome: text,
    content: text,
    durationMs: number,
    images: z.array(z.looseObject({ mediaType: text, data: text })).optional(),
    exitCode: number.optional(),
  },
  'usage.reported': { usage, contextTokens: number.optional(), window: number.optional() },
  'usage.measured': { measured: z.looseObject({ cpuTimeMs: number, outputBytes: number, rssBytes: number, peakRssBytes: number }) },
  'context.window': { tokens: number.nullable(), answer: number.optional() },
  'compaction.started': { step: number, attempt: number, model: text, reserve: reserve.optional() },
  'compaction.failed': {
    step: number,
    attempt: number,
    error: text,
    status: number.nullable(),
    retryInMs: number.nullable(),
    usage: usage.optional(),
  },
  'context.compacted': { step: number, summary: text, ranges: z.array(range), before: number, after: number, usage, durationMs: number },
  'limit.warned': { limit: text, used: number, of: number, scope: text.optional() },
  'limit.reached': { limit: text, used: number, of: number, action: text, scope: text, ask: reserve.optional() },
  'process.limited': { spec: z.looseObject({}), by: text, via: text.optional() },
  'call.started': { call: text, model: text, provider: text, reserve },
  'call.finished': {
    call: text,
    usage,
    status: number.nullable(),
    error: text.optional(),
    contextTokens: number.optional(),
    account: z.literal(true).optional(),
    firstTokenMs: number.optional(),
  },
  'child.spent': { child: text, spent: z.looseObject({}) },
  'message.sent': { to: text, id: text },
  'message.taken': { id: text, turn: number },
  'capability.refused': { what: text, detail: text, callId: text.optional() },
  'mcp.servers': {
    servers: z.array(
      z.looseObject({ name: text, state: text, detail: text, tools: z.array(z.looseObject({ name: text, description: text })) }),
    ),
  },
  'checkpoint.written': {
    step: number,
    ranges: z.array(range),
    turn: number,
    openCalls: z.array(z.looseObject({ callId: text, name: text, effect: text })),
    state: z
      .looseObject({
        modelOpen: flag,
        turnOpen: flag,
        queue,
        compactedStep: number.nullable(),
        window: number.nullable(),
        contextTokens: number,
      })
      .optional(),
  },
  'checkpoint.failed': { step: number, error: text },
  'worktree.made': { dir: text, branch: text, base: text },
  'files.recorded': {
    step: number,
    commit: text,
    head: text,
    left: z.array(z.looseObject({ path: text, why: text })),
    more: number.optional(),
  },
  'process.raw': { raw: text, left: number.optional() },
  'files.failed': { step: number, error: text },
  'compose.starting': { node: text, ask: number },
  'compose.started': { node: text, child: text },
  'compose.retrying': { node: text, child: text, attempt: number, cause: text, delayMs: number },
  'compose.completed': { node: text, child: text },
  'compose.failed': { node: text, reason: text },
  'compose.blocked': { node: text, by: text },
  'compose.cancelled': { node: text, reason: text },
  'compose.again': { node: text, by: text, via: text.optional() },
  'compose.resumed': { node: text, child: text, by: text, via: text.optional() },
  'compose.finished': {
    outcome: z.looseObject({ completed: z.array(text), failed: z.array(text), blocked: z.array(text), cancelled: z.array(text) }),
  },
  'child.spawned': { child: text, childPid: number },
  'child.exited': { child: text, childPid: number, code: number, reason: text },
  'child.suspended': { child: text, reason: text, by: text },
  'child.resumed': { child: text, by: text },
  'liveness.changed': { word: text, since: number, evidence: text },
  'liveness.looping': { times: number, calls: z.array(z.looseObject({ name: text, input: text, result: text })), told: number.optional() },
  'liveness.breaker': {
    errors: number,
    of: number,
    tools: z.array(z.looseObject({ name: text, errors: number })),
    last: text,
    told: number.optional(),
  },
}

/** the schemas that were used so far */
const schemas = new Map<FactType, z.ZodType>()

function schemaOf(type: FactType): z.ZodType {
  const schema = schemas.get(type) ?? z.looseObject(SHAPES[type])
  schemas.set(type, schema)
  return schema
}

/** Returns a text about the first error of a body; null if it is valid. */
export function factBodyProblem(body: FactBody): string | null {
  const issue = schemaOf(body.type).safeParse(body).error?.issues[0]
  return issue ? `it is not a valid ${body.type}: ${issue.path.map(String).join('.')} ${issueText(issue)}` : null
}
