// Arbitrary facts for property tests: one arbitrary per fact type, complete by type. Also the moment that an event has beside its fact.
// Texts are short, long enough to become blobs, or hard (NUL, quotes, lone surrogates, text that looks like a reference).
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { AssistantPart, FactBody, FactType } from '../../../src/kernel/model/facts.ts'
import type { Moment } from '../../../src/kernel/model/moment.ts'
import type { PendingSignal } from '../../../src/kernel/model/signals.ts'
import type { ContainmentIntent, ExitStatus, Hold, OpenCall } from '../../../src/kernel/model/process.ts'
import { crewFields } from '../crew/arbitraries.ts'
import { specOf, uuidOf } from './facts.ts'
import type { Sender } from '../../../src/kernel/model/ids.ts'
import { SIGNALS } from '../../../src/kernel/model/words.ts'
import type { Signal } from '../../../src/kernel/model/words.ts'
import type { Ask, AskEvidence } from '../../../src/kernel/model/asks.ts'
import type { CallUsage } from '../../../src/kernel/model/usage.ts'
import type { ProcessSpec } from '../../../src/kernel/model/process-spec.ts'

const number = fc.nat()
const hardText = fc.constantFrom('', '\u0000a\u0000', '"\\\n\t', '\ud800', 'x\udc00y', '{"hash":"x"}', '😀é', '__proto__', 'null')
const shortText = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), hardText)
const longText = fc
  .tuple(fc.constantFrom('a', 'é', '\n', '😀', 'ab\u0000'), fc.integer({ min: 1_300, max: 9_000 }))
  .map(([unit, count]) => unit.repeat(count))
const text = fc.oneof(
  { weight: 6, arbitrary: shortText },
  { weight: 1, arbitrary: longText },
  { weight: 1, arbitrary: longText.map((long) => `${long}\ud800`) },
)
const uuid = fc.integer({ min: 1, max: 1e9 }).map(uuidOf)
const sender: Arbitrary<Sender> = fc.oneof(
  fc.constantFrom<Sender>('user', 'system', 'coordinator'),
  uuid.map((id): Sender => `agent:${id}`),
)
const signal = fc.constantFrom<Signal>(...SIGNALS)
const effect = fc.constantFrom('read', 'idempotent', 'once')
const json = fc
  .letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(shortText, tie('value'), { maxKeys: 3 }),
    ),
  }))
  .value.map((value) => JSON.parse(JSON.stringify(value)) as unknown)

const usage: Arbitrary<CallUsage> = fc.record({
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  costUsd: fc.option(fc.double({ min: 0, max: 100, noNaN: true }).map(Math.abs)),
})
const askEvidence: Arbitrary<AskEvidence> = fc.record({
  source: fc.constantFrom('recorded', 'said'),
  tool: fc.record({
    name: text,
    kind: fc.constantFrom('execute', 'edit', 'other'),
    input: fc.jsonValue(),
    locations: fc.array(shortText, { maxLength: 2 }),
  }),
  diff: fc.array(fc.record({ path: shortText, old: fc.option(text), new: text }), { maxLength: 2 }),
})
const ask: Arbitrary<Ask> = fc.record(
  {
    id: shortText,
    kind: fc.constantFrom('permission', 'question', 'plan'),
    text,
    callId: fc.option(shortText),
    at: number,
    options: fc.array(fc.record({ id: shortText, name: text, kind: fc.constantFrom('allow_once', 'reject_always', 'choice') }), {
      maxLength: 3,
    }),
    evidence: askEvidence,
    step: number,
    message: text,
  },
  { requiredKeys: ['id', 'kind', 'text', 'callId', 'at', 'options'] },
)
const exit: Arbitrary<ExitStatus> = fc.record({
  code: fc.nat(255),
  reason: text,
  cause: fc.constantFrom('agent', 'person', 'parent', 'limit', 'daemon'),
})
const hold: Arbitrary<Hold> = fc.record({ reason: fc.constantFrom('user', 'budget', 'disk-full'), by: sender, at: number })
const pending: Arbitrary<PendingSignal> = fc.record({
  signal,
  by: sender,
  root: fc.option(uuid),
  graceMs: fc.option(number),
  dueMono: fc.option(number),
})
const containment: Arbitrary<ContainmentIntent | null> = fc.option(
  fc.record({ kind: fc.constantFrom('cgroup', 'pidns', 'group'), path: fc.option(text), marker: shortText }),
)
const openCall: Arbitrary<OpenCall> = fc.record(
  { callId: shortText, name: shortText, effect, cuts: number },
  { requiredKeys: ['callId', 'name', 'effect'] },
)
const spec: Arbitrary<ProcessSpec> = fc.record({ intent: text, system: fc.option(text), name: fc.option(shortText) }).map(specOf)
const part: Arbitrary<AssistantPart> = fc.oneof(
  fc.record({ type: fc.constant('text'), text, meta: json }, { requiredKeys: ['type', 'text'] }),
  fc.record({ type: fc.constant('reasoning'), text, meta: json }, { requiredKeys: ['type', 'text'] }),
  fc.record(
    { type: fc.constant('tool-call'), callId: shortText, name: shortText, input: json, meta: json },
    { requiredKeys: ['type', 'callId', 'name', 'input'] },
  ),
)

const callAsk = fc.record({
  inputTokens: number,
  maxOutputTokens: fc.option(number),
  usd: fc.option(fc.record({ perInputToken: number, perOutputToken: number })),
})
const ranges = fc.array(fc.tuple(number, number), { maxLength: 3 })
const queue = fc.array(fc.record({ id: shortText, from: sender, seq: number }), { maxLength: 3 })
const checkpointState = fc.record({
  modelOpen: fc.boolean(),
  turnOpen: fc.boolean(),
  queue,
  compactedStep: fc.option(number),
  window: fc.option(number),
  contextTokens: number,
})
const context = fc.record({
  window: fc.option(number),
  ranges: fc.option(ranges),
  compactedStep: fc.option(number),
  compacting: fc.constant(false),
})
const names = fc.array(shortText, { maxLength: 3 })
const forkState = fc.record({
  turn: number,
  turnOpen: fc.boolean(),
  lastText: fc.option(text),
  queue,
  context: fc.option(context),
  contextTokens: number,
  sessionId: fc.option(shortText),
})

type Fields<T extends FactType> = Omit<Extract<FactBody, { type: T }>, 'type'>
type FieldArbitraries<T extends FactType> = { [K in keyof Fields<T>]-?: Arbitrary<NonNullable<Fields<T>[K]> | Fields<T>[K]> }

/** One row per fact type; the second list names the optional fields, which are sometimes left out. */
const FIELDS: { readonly [T in FactType]: readonly [fields: FieldArbitraries<T>, optional?: readonly (keyof Fields<T>)[]] } = {
  'process.spawned': [{ pid: number, spec, parentUuid: fc.option(uuid), depth: number, by: sender, via: shortText }, ['via']],
  'process.forked': [
    {
      pid: number,
      spec,
      parentUuid: fc.option(uuid),
      depth: number,
      by: sender,
      origin: fc.record({ uuid, step: number, seq: number }),
      state: forkState,
      via: shortText,
    },
    ['via'],
  ],
  ...crewFields({ text, sender, uuid }),
  'process.retired': [{ by: sender, reason: text }],
  'process.pinned': [{ pinned: fc.boolean(), by: sender, via: shortText }, ['via']],
  'process.seen': [{ by: sender, via: shortText }, ['via']],
  'process.snoozed': [{ until: fc.option(number), by: sender, via: shortText }, ['via']],
  'process.started': [
    { mono: number, attached: fc.boolean(), containment, metered: fc.constant(true as const), direct: text },
    ['metered', 'direct'],
  ],
  'process.attached': [{ containment, metered: fc.constant(true as const), direct: text }, ['metered', 'direct']],
  'process.handle': [{ handle: fc.option(fc.record({ pid: number, startTime: shortText, pgid: number })), sessionId: text }, ['sessionId']],
  'process.ready': [
    { turn: number, outcome: fc.constantFrom('ok', 'error', 'interrupted'), result: text, error: text },
    ['outcome', 'result', 'error'],
  ],
  'process.working': [{ turn: number, message: fc.option(text) }],
  'process.waiting': [{ question: text, ask }, ['ask']],
  'process.answered': [
    {
      id: shortText,
      option: fc.option(shortText),
      text: fc.option(text),
      by: sender,
      via: shortText,
      delivery: fc.record({ at: number, dueMono: number }),
    },
    ['via', 'delivery'],
  ],
  'process.delivered': [{ id: shortText }],
  'process.unanswered': [{ id: shortText, by: sender, via: shortText }, ['via']],
  'process.unasked': [{ id: shortText }],
  'process.stopping': [{ stopping: fc.record({ signal, by: sender, at: number, graceMs: number, exit }) }],
  'process.exited': [
    { exit, mono: number, elapsedMs: number, holds: fc.array(hold, { maxLength: 2 }), settled: fc.constant(true as const) },
    ['elapsedMs', 'holds', 'settled'],
  ],
  'process.reaped': [{ settled: fc.constant(true as const) }, ['settled']],
  'process.reparented': [{ parent: fc.option(uuid), payer: uuid, settled: fc.constant(true as const) }, ['payer', 'settled']],
  'process.resumed': [
    {
      pid: number,
      by: sender,
      spec,
      fromStep: number,
      rerun: fc.constant(true as const),
      restart: fc.record({
        attempt: number,
        cause: text,
        at: fc.option(number),
        dueMono: fc.option(number),
        after: fc.constantFrom('agent', 'daemon'),
      }),
      endsTurn: fc.constant(true as const),
      via: shortText,
    },
    ['spec', 'rerun', 'restart', 'endsTurn', 'via'],
  ],
  'process.rehydrated': [{ pid: number }],
  'process.held': [{ hold, mono: number }],
  'process.released': [{ holds: fc.array(hold, { maxLength: 2 }), by: sender, mono: number, via: shortText }, ['via']],
  'process.drained': [{ inFlight: fc.option(text) }],
  'process.frozen': [{ inFlight: fc.option(text) }],
  'signal.sent': [
    {
      signal,
      by: sender,
      root: fc.option(uuid),
      disposition: fc.constantFrom('default', 'ignored', 'message', 'pending'),
      graceMs: fc.option(number),
      via: shortText,
    },
    ['via'],
  ],
  'signal.escalated': [{ from: signal, to: fc.constant('SIGKILL'), afterMs: number }],
  'restart.due': [{ startAt: fc.option(number), dueMono: fc.option(number) }],
  'supervisor.added': [
    {
      id: shortText,
      child: uuid,
      restart: fc.constantFrom('permanent', 'transient', 'temporary'),
      onComplete: fc.constantFrom('fresh', 'stop'),
    },
    ['onComplete'],
  ],
  'supervisor.removed': [{ id: shortText, child: uuid, via: shortText }, ['via']],
  'supervisor.restarting': [
    {
      id: shortText,
      child: uuid,
      cause: text,
      restarts: fc.record({ times: fc.array(number, { maxLength: 3 }), cause: fc.option(text), inARow: number }),
      delayMs: number,
      group: fc.array(shortText, { maxLength: 3 }),
    },
    ['group'],
  ],
  'supervisor.restarted': [{ startAt: number }],
  'supervisor.held': [{ id: shortText, child: uuid, cause: text }],
  'supervisor.escalated': [{ id: shortText, child: uuid, times: number, windowMs: number }],
  'signal.pended': [{ pending }],
  'signal.unpended': [{ signal }],
  'signal.masked': [{ mask: fc.array(signal, { maxLength: 3 }) }],
  'signal.handled': [{ signal, handler: fc.constantFrom('default', 'ignore', 'message') }],
  'process.queue': [{ id: shortText, from: sender, text, urgent: fc.constant(true), via: shortText }, ['urgent', 'via']],
  'process.incoming': [{ id: shortText, from: sender, turn: number, queuedAt: number }],
  'process.output': [{ stream: fc.constantFrom('stdout', 'stderr'), text }],
  'process.error': [{ message: text }],
  'process.note': [{ text }],
  'process.raw': [{ raw: text, left: fc.nat() }, ['left']],
  'model.started': [{ step: number, attempt: number, model: shortText, reserve: callAsk }, ['reserve']],
  'model.finished': [
    {
      step: number,
      message: fc.array(part, { maxLength: 4 }),
      usage,
      finish: fc.constantFrom('stop', 'tool-calls', 'other'),
      durationMs: number,
      firstTokenMs: number,
    },
    ['firstTokenMs'],
  ],
  'model.failed': [
    { step: number, attempt: number, error: text, status: fc.option(number), retryInMs: fc.option(number), partial: text, usage },
    ['partial', 'usage'],
  ],
  'tool.started': [{ step: number, callId: shortText, name: shortText, effect }],
  'tool.finished': [
    {
      step: number,
      callId: shortText,
      name: shortText,
      outcome: fc.constantFrom('ok', 'error', 'denied', 'interrupted'),
      content: text,
      durationMs: number,
      images: fc.array(fc.record({ mediaType: shortText, data: text }), { maxLength: 2 }),
      exitCode: number,
    },
    ['images', 'exitCode'],
  ],
  'checkpoint.written': [
    {
      step: number,
      ranges: fc.array(fc.tuple(number, number), { maxLength: 3 }),
      turn: number,
      openCalls: fc.array(openCall, { maxLength: 2 }),
      state: checkpointState,
    },
    ['state'],
  ],
  'checkpoint.failed': [{ step: number, error: text }],
  'context.window': [{ tokens: fc.option(number), answer: number }, ['answer']],
  'compaction.started': [{ step: number, attempt: number, model: shortText, reserve: callAsk }, ['reserve']],
  'compaction.failed': [
    { step: number, attempt: number, error: text, status: fc.option(number), retryInMs: fc.option(number), usage },
    ['usage'],
  ],
  'context.compacted': [
    {
      step: number,
      summary: text,
      ranges: fc.array(fc.tuple(number, number), { maxLength: 3 }),
      before: number,
      after: number,
      usage,
      durationMs: number,
    },
  ],
  'limit.warned': [{ limit: fc.constantFrom('context', 'budgetUsd'), used: number, of: number, scope: uuid }, ['scope']],
  'limit.reached': [
    {
      limit: fc.constantFrom('budgetUsd', 'maxSteps'),
      used: number,
      of: number,
      action: fc.constantFrom('suspend', 'terminate', 'wait'),
      scope: uuid,
      ask: callAsk,
    },
    ['ask'],
  ],
  'process.limited': [{ spec, by: sender, via: shortText }, ['via']],
  'process.described': [{ what: fc.constantFrom('name', 'labels'), spec, by: sender, from: shortText, via: shortText }, ['from', 'via']],
  'call.started': [{ call: shortText, model: shortText, provider: shortText, reserve: callAsk }],
  'call.finished': [
    {
      call: shortText,
      usage,
      status: fc.option(number),
      error: text,
      contextTokens: number,
      account: fc.constant(true as const),
      firstTokenMs: number,
    },
    ['error', 'contextTokens', 'account', 'firstTokenMs'],
  ],
  'child.spent': [
    {
      child: uuid,
      spent: fc.record(
        { steps: number, inputTokens: number, costUsd: number, estimated: fc.constant(true as const) },
        { requiredKeys: [] },
      ),
    },
  ],
  'message.sent': [{ to: uuid, id: shortText }],
  'message.taken': [{ id: shortText, turn: number }],
  'usage.reported': [{ usage, contextTokens: number, window: number }, ['contextTokens', 'window']],
  'capability.refused': [
    { what: fc.constantFrom('tools', 'paths', 'network', 'signals', 'spawns'), detail: text, callId: shortText },
    ['callId'],
  ],
  'usage.measured': [{ measured: fc.record({ cpuTimeMs: number, outputBytes: number, rssBytes: number, peakRssBytes: number }) }],
  'mcp.servers': [
    {
      servers: fc.array(
        fc.record({
          name: shortText,
          state: fc.constantFrom('up', 'failed', 'untrusted'),
          detail: text,
          tools: fc.array(fc.record({ name: shortText, description: text, schema: fc.constant({ type: 'object' }) }), { maxLength: 2 }),
        }),
        { maxLength: 2 },
      ),
    },
  ],
  'worktree.made': [{ dir: text, branch: shortText, base: shortText }],
  'files.recorded': [
    {
      step: number,
      commit: shortText,
      head: shortText,
      left: fc.array(fc.record({ path: text, why: fc.constantFrom('large', 'ignored', 'repository', 'unreadable') }), { maxLength: 3 }),
      more: number,
    },
    ['more'],
  ],
  'files.failed': [{ step: number, error: text }],
  'compose.starting': [{ node: shortText, ask: number }],
  'compose.started': [{ node: shortText, child: uuid }],
  'compose.retrying': [{ node: shortText, child: uuid, attempt: number, cause: text, delayMs: number }],
  'compose.completed': [{ node: shortText, child: uuid }],
  'compose.failed': [{ node: shortText, reason: text }],
  'compose.blocked': [{ node: shortText, by: shortText }],
  'compose.cancelled': [{ node: shortText, reason: text }],
  'compose.again': [{ node: shortText, by: sender, via: shortText }, ['via']],
  'compose.resumed': [{ node: shortText, child: uuid, by: sender, via: shortText }, ['via']],
  'compose.finished': [{ outcome: fc.record({ completed: names, failed: names, blocked: names, cancelled: names }) }],
  'child.spawned': [{ child: uuid, childPid: number }],
  'child.exited': [{ child: uuid, childPid: number, code: fc.nat(255), reason: text }],
  'child.suspended': [{ child: uuid, reason: text, by: sender }],
  'child.resumed': [{ child: uuid, by: sender }],
  'liveness.changed': [{ word: fc.constantFrom('alive', 'silent', 'stalled', 'waiting', 'stopped'), since: number, evidence: text }],
  'liveness.looping': [
    { times: number, calls: fc.array(fc.record({ name: shortText, input: text, result: text }), { maxLength: 3 }), told: number },
    ['told'],
  ],
  'liveness.breaker': [
    {
      errors: number,
      of: number,
      tools: fc.array(fc.record({ name: shortText, errors: number }), { maxLength: 3 }),
      last: text,
      told: number,
    },
    ['told'],
  ],
}

export const momentArbitrary: Arbitrary<Moment> = fc
  .record({
    status: fc.constantFrom(
      'pending',
      'starting',
      'ready',
      'working',
      'waiting',
      'suspended',
      'stopping',
      'zombie',
      'completed',
      'retired',
      'stopped',
      'failed',
      'interrupted',
    ),
    queueCount: fc.nat(1_000),
    member: fc.option(fc.record({ role: fc.string(), phase: fc.string(), taskId: fc.option(fc.string(), { nil: undefined }) }), {
      nil: undefined,
    }),
  })
  .map(({ member, ...now }) => ({
    ...now,
    ...(member ? { role: member.role, phase: member.phase, ...(member.taskId === undefined ? {} : { taskId: member.taskId }) } : {}),
  }))

export const FACT_TYPES = Object.keys(FIELDS) as FactType[]

/** Any body of one type, as plain JSON values. */
export function bodyOf(type: FactType): Arbitrary<FactBody> {
  const [fields, optional = []] = FIELDS[type] as unknown as [Record<string, Arbitrary<unknown>>, string[]?]
  const requiredKeys = Object.keys(fields).filter((key) => !optional.includes(key))
  return fc.record(fields, { requiredKeys }).map((fields) => JSON.parse(JSON.stringify({ type, ...fields })) as FactBody)
}
