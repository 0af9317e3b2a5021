// Reads the inputs of a transcript: one input per line. Processes are named a, b, c …
// Inputs: `spawn a under=b interactive` · `signal SIGTERM a subtree by=agent:b` · `report a model 1` · `wind 1000` · `boot a`
// A line that starts with `.` is played without output. `live a` stands for spawn, start and up.
import { fold } from '../../../src/kernel/state/fold.ts'
import { forkPointNow, forkState } from '../../../src/kernel/decide/fork.ts'
import type { InputBody, ForkPoint, LimitChange } from '../../../src/kernel/model/inputs.ts'
import { LIMIT_NAMES } from '../../../src/kernel/model/words.ts'
import type { RequestedCall, Report } from '../../../src/kernel/model/reports.ts'
import type { CallEstimate, Process } from '../../../src/kernel/model/process.ts'
import { CREW_READERS } from './transcript-crew-inputs.ts'
import { kernelSpec } from './world.ts'
import type { OnComplete, RestartType, Strategy } from '../../../src/kernel/model/supervision.ts'
import type { World } from './world.ts'
import type { Sender } from '../../../src/kernel/model/ids.ts'
import type { DriverName, Handler, HoldReason, LimitName, Limits, Signal, ToolEffect } from '../../../src/kernel/model/words.ts'
import type { Ask } from '../../../src/kernel/model/asks.ts'
import type { Range } from '../../../src/kernel/model/context.ts'
import type { CallUsage } from '../../../src/kernel/model/usage.ts'
import type { SpecChanges } from '../spec-changes.ts'

/** A line in its parts: words in order, flags, and `key=value` pairs. */
export interface Line {
  readonly words: readonly string[]
  readonly options: ReadonlyMap<string, string>
}

function parse(text: string): Line {
  const parts = text.split(/\s+/)
  const options = new Map<string, string>()
  for (const part of parts) if (part.includes('=')) options.set(part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1))
  return { words: parts.filter((part) => !part.includes('=')), options }
}

type InputReader = (line: Line, world: World, reply: number) => InputBody

const READERS: Readonly<Record<string, InputReader>> = {
  spawn: (line, _, reply) => ({
    type: 'spawn',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    parent: line.options.get('under') ?? null,
    spec: specOf(line),
  }),
  start: (line, world) => ({
    type: 'start',
    uuid: wordAt(line, 1),
    pid: pidOf(line, world),
    missingKeys: listOption(line, 'missing'),
    containment: { kind: 'group', path: null, marker: `${wordAt(line, 1)}.${pidOf(line, world)}` },
    ...endedChildrenOf(line, world),
    ...(hasFlag(line, 'metered') ? { metered: true as const } : {}),
  }),
  removeChild: (line, _, reply) => ({
    type: 'removeChild',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    id: wordAt(line, 2),
    graceMs: null,
    ...(line.options.has('via') ? { via: line.options.get('via') ?? '' } : {}),
  }),
  signal: (line, _, reply) => ({
    type: 'signal',
    reply,
    by: senderOf(line),
    signal: wordAt(line, 1) as Signal,
    uuid: wordAt(line, 2),
    subtree: hasFlag(line, 'subtree'),
    graceMs: numberOption(line, 'grace'),
    ...(line.options.has('least') ? { leastGraceMs: numberOption(line, 'least') ?? 0 } : {}),
    freeze: hasFlag(line, 'freeze'),
    ...(line.options.has('via') ? { via: line.options.get('via') ?? '' } : {}),
  }),
  resume: (line, world, reply) => ({
    type: 'resume',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    endedRow: world.dead.get(wordAt(line, 1)) ?? null,
    subtree: hasFlag(line, 'subtree'),
    only: hasFlag(line, 'only'),
    rerun: hasFlag(line, 'rerun'),
    message: hasFlag(line, 'message') ? { id: `m${reply}`, text: 'go on' } : null,
    spec: isOverridden(line) ? kernelSpec({ ...world.row(wordAt(line, 1))?.spec, ...overridesOf(line), ...permissionsOf(line) }) : null,
    ...changeOf(line),
  }),
  fork: (line, world, reply) => ({
    type: 'fork',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    ...forkPointOf(line, world),
    message: hasFlag(line, 'message') ? { id: `m${reply}`, text: 'another way' } : null,
    spec: isOverridden(line)
      ? kernelSpec({ ...world.row(line.options.get('of') ?? '')?.spec, name: null, ...overridesOf(line), ...permissionsOf(line) })
      : null,
  }),
  rename: (line, world, reply) => ({
    type: 'describe',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    endedRow: world.dead.get(wordAt(line, 1)) ?? null,
    change: { name: wordAt(line, 2) },
  }),
  seen: (line, world, reply) => ({
    type: 'seen',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    endedRow: world.dead.get(wordAt(line, 1)) ?? null,
  }),
  snooze: (line, world, reply) => ({
    type: 'snooze',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    endedRow: world.dead.get(wordAt(line, 1)) ?? null,
    until: wordAt(line, 2) === 'none' ? null : Number(wordAt(line, 2)),
  }),
  label: (line, world, reply) => ({
    type: 'describe',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    endedRow: world.dead.get(wordAt(line, 1)) ?? null,
    change: { labels: Object.fromEntries([...line.options].map(([key, value]) => [key, value === '' ? null : value])) },
  }),
  send: (line, _, reply) => ({ type: 'send', reply, by: senderOf(line), uuid: wordAt(line, 1), id: `m${reply}`, text: 'hello' }),
  take: (line, _, reply) => ({ type: 'take', reply, by: senderOf(line), uuid: wordAt(line, 1), ids: line.words.slice(2) }),
  answer: (line, _, reply) => ({
    type: 'answer',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    id: line.options.get('id') ?? null,
    option: line.words[2] ?? null,
    text: line.options.get('text') ?? null,
    ...(line.options.has('undo') ? { undoMs: numberOption(line, 'undo') ?? 0 } : {}),
  }),
  unanswer: (line, _, reply) => ({
    type: 'withdrawAnswer',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    id: wordAt(line, 2),
  }),
  mask: (line, _, reply) => ({
    type: 'mask',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    mask: line.words.slice(2) as Signal[],
    ...(line.options.has('how') ? { how: line.options.get('how') as 'block' } : {}),
  }),
  handle: (line, _, reply) => ({
    type: 'handle',
    reply,
    by: senderOf(line),
    uuid: wordAt(line, 1),
    signal: wordAt(line, 2) as Signal,
    handler: wordAt(line, 3) as Handler,
  }),
  hold: (line) => ({ type: 'hold', uuid: anyOf(line), reason: wordAt(line, 2) as HoldReason }),
  release: (line) => ({ type: 'release', uuid: anyOf(line), reason: wordAt(line, 2) as HoldReason }),
  report: (line, world, reply) => ({ type: 'report', reply, uuid: wordAt(line, 1), pid: pidOf(line, world), report: reportOf(line) }),
  released: (line, world) => ({
    type: 'released',
    uuid: wordAt(line, 1),
    pid: pidOf(line, world),
    survivors: listOption(line, 'survivors').map(Number),
  }),
  checkpoint: (line, world) => ({
    type: 'checkpoint',
    uuid: wordAt(line, 1),
    pid: pidOf(line, world),
    error: line.options.get('error') ?? null,
  }),
  tick: (line) => ({ type: 'tick', uuid: wordAt(line, 1) }),
  boot: (line) => ({
    type: 'boot',
    uuid: wordAt(line, 1),
    survivors: listOption(line, 'survivors').map(Number),
    ...(line.options.has('doubt') ? { doubt: line.options.get('doubt') as 'unowned' | 'stale' } : {}),
    ...(hasFlag(line, 'crashloop') ? { crashLoop: true } : {}),
  }),
}

export function readInput(text: string, world: World, reply: number): InputBody {
  const line = parse(text)
  const read = READERS[wordAt(line, 0)] ?? CREW_READERS[wordAt(line, 0)]
  if (!read) throw new Error(`no such input: ${text}`)
  return read(line, world, reply)
}

function reportOf(line: Line): Report {
  const kind = wordAt(line, 2)
  const step = Number(line.words[3] ?? 0)
  switch (kind) {
    case 'up':
      return {
        type: 'up',
        ...(hasFlag(line, 'handle') ? { handle: { pid: 4711, startTime: '1', pgid: 4711 } } : {}),
        ...(line.options.has('window') ? { window: numberOption(line, 'window') } : {}),
        ...(line.options.has('answer') ? { answer: numberOption(line, 'answer') ?? 0 } : {}),
        ...sessionOf(line),
      }
    case 'session':
      return { type: 'session', sessionId: wordAt(line, 3) }
    case 'asks':
      return { type: 'waiting', ask: askOf(line) }
    case 'unasked':
      return { type: 'unasked', id: wordAt(line, 3) }
    case 'usage':
      return {
        type: 'usage',
        usage: usageOf(line),
        ...(line.options.has('context') ? { contextTokens: numberOption(line, 'context') ?? 0 } : {}),
        ...(line.options.has('window') ? { window: numberOption(line, 'window') ?? 0 } : {}),
      }
    case 'compacting':
      return { type: 'compaction.started', step, attempt: numberOption(line, 'attempt') ?? 1, model: 'script:a.yaml', ...estimateOf(line) }
    case 'compacted':
      return compactedOf(line, step)
    case 'uncompacted':
      return {
        type: 'compaction.failed',
        step,
        attempt: numberOption(line, 'attempt') ?? 1,
        error: 'overloaded',
        status: 529,
        retryInMs: numberOption(line, 'again'),
        ...(line.options.has('tokens') ? { usage: usageOf(line) } : {}),
      }
    case 'model':
      return { type: 'model.started', step, attempt: numberOption(line, 'attempt') ?? 1, model: 'script:a.yaml', ...estimateOf(line) }
    case 'call':
      return { type: 'call.started', call: wordAt(line, 3), model: 'm', provider: 'p', ask: estimateOf(line).ask ?? NO_ASK }
    case 'called':
      return { type: 'call.finished', call: wordAt(line, 3), usage: usageOf(line), status: 200 }
    case 'answer':
      return answerOf(line, step)
    case 'failed':
      return { type: 'model.failed', step, attempt: 1, error: 'overloaded', status: 529, retryInMs: 100 }
    case 'tool':
      return { type: 'tool.finished', callId: wordAt(line, 3), outcome: 'ok', content: 'done', durationMs: 5 }
    case 'ended':
      return {
        type: 'turn.ended',
        turn: step,
        outcome: (line.words[4] ?? 'ok') as 'ok',
        ...(line.words[4] === 'error' ? { error: 'it broke' } : { result: 'fine' }),
      }
    case 'output':
      return { type: 'output', stream: 'stdout', text: 'hello\n' }
    case 'drained':
      return { type: 'drained' }
    case 'frozen':
      return { type: 'frozen', inFlight: 'make' }
    case 'note':
      return { type: 'note', text: 'remember' }
    case 'escalated':
      return { type: 'escalated', from: 'SIGTERM', afterMs: step }
    case 'measured':
      return measurementOf(line)
    case 'exited':
      return exitOf(line)
    default:
      throw new Error(`no such report: ${kind}`)
  }
}

/** `to.budgetTokens=50` sets it, `plus.budgetTokens=50` adds to it */
function changeOf(line: Line): { readonly limits?: LimitChange } {
  const limitsWith = (prefix: string): Limits =>
    Object.fromEntries(
      LIMIT_NAMES.flatMap((name) => (line.options.has(`${prefix}.${name}`) ? [[name, numberOption(line, `${prefix}.${name}`)]] : [])),
    )
  const [set, add] = [limitsWith('to'), limitsWith('plus')]
  return Object.keys({ ...set, ...add }).length === 0 ? {} : { limits: { set, add } }
}

const NO_ASK: CallEstimate = { inputTokens: 0, maxOutputTokens: null, usd: null }

/** `ask=100+5000`: tokens of input and answer (`?`: no limit); `price=0.001,0.002`: for one token of each */
function estimateOf(line: Line): { readonly ask?: CallEstimate } {
  const text = line.options.get('ask')
  if (text === undefined) return {}
  const [input, answer] = text.split('+')
  const [perInputToken, perOutputToken] = listOption(line, 'price').map(Number)
  const usd = perInputToken === undefined || perOutputToken === undefined ? null : { perInputToken, perOutputToken }
  return { ask: { inputTokens: Number(input), maxOutputTokens: answer === '?' ? null : Number(answer), usd } }
}

/** `measured cpu=100 output=5 rss=1000 out` */
function measurementOf(line: Line): Report {
  const [cpuTimeMs = 0, outputBytes = 0, rssBytes = 0] = ['cpu', 'output', 'rss'].map((name) => numberOption(line, name) ?? 0)
  return {
    type: 'measured',
    measured: { cpuTimeMs, outputBytes, rssBytes, peakRssBytes: rssBytes },
    ...(hasFlag(line, 'out') ? { outOfMemory: true } : {}),
  }
}

function sessionOf(line: Line): { sessionId?: string } {
  const sessionId = line.options.get('session')
  return sessionId === undefined ? {} : { sessionId }
}

/** `asks q1 options=yes,no`; `asks q2` expects a text */
function askOf(line: Line): Ask {
  const options = listOption(line, 'options').map((id) => ({
    id,
    name: id,
    kind: id === 'yes' ? ('allow_once' as const) : ('reject_once' as const),
  }))
  const kind = (line.options.get('kind') as Ask['kind'] | undefined) ?? (options.length > 0 ? 'permission' : 'question')
  return { id: wordAt(line, 3), kind, text: 'run make?', options, callId: null, at: 0 }
}

/** `answer 1 calls=c1:once,c2:read cost=2|unknown tokens=100` */
function answerOf(line: Line, step: number): Report {
  const calls = listOption(line, 'calls').map((text): RequestedCall => {
    const [callId = '', effect = 'once'] = text.split(':')
    return { callId, name: 'bash', effect: effect as ToolEffect }
  })
  return {
    type: 'model.finished',
    step,
    finish: calls.length > 0 ? 'tool-calls' : 'stop',
    durationMs: 10,
    calls,
    message: [
      { type: 'text', text: `step ${step}` },
      ...calls.map(({ callId, name }) => ({ type: 'tool-call' as const, callId, name, input: {} })),
    ],
    usage: usageOf(line),
  }
}

/** `compacted 4 parts=2-3,9 after=20 tokens=100` */
function compactedOf(line: Line, step: number): Report {
  const ranges = listOption(line, 'parts').map((part): Range => {
    const [first = 0, last = first] = part.split('-').map(Number)
    return [first, last]
  })
  return {
    type: 'context.compacted',
    step,
    summary: 'in short',
    ranges,
    before: 100,
    after: numberOption(line, 'after') ?? 10,
    usage: usageOf(line),
    durationMs: 10,
  }
}

function usageOf(line: Line): CallUsage {
  return {
    inputTokens: numberOption(line, 'tokens') ?? 10,
    outputTokens: numberOption(line, 'out') ?? 1,
    cacheReadTokens: numberOption(line, 'cached') ?? 0,
    cacheWriteTokens: numberOption(line, 'written') ?? 0,
    costUsd: line.options.get('cost') === 'unknown' ? null : (numberOption(line, 'cost') ?? 0.01),
  }
}

/** `exited 3`, `exited SIGSEGV`, `exited none`, `exited 0 error=boom` */
function exitOf(line: Line): Report {
  const ending = wordAt(line, 3)
  const error = line.options.get('error')
  const ended = ending.startsWith('SIG')
    ? { code: null, osSignal: ending }
    : { code: ending === 'none' ? null : Number(ending), osSignal: null }
  return { type: 'exited', ...ended, ...(error === undefined ? {} : { error }) }
}

/** Returns a supervisor's ended children, as the daemon reads them from the store. */
function endedChildrenOf(line: Line, world: World): { readonly endedChildren?: readonly Process[] } {
  const children = world.row(wordAt(line, 1))?.supervision?.children
  return children ? { endedChildren: children.flatMap(({ uuid }) => world.dead.get(uuid) ?? []) } : {}
}

/** `restart=transient complete=fresh child=x` · `supervisor strategy=one_for_all max=2 window=60000` */
function restartsOf(line: Line, driver: DriverName): SpecChanges {
  const { options } = line
  const type = options.get('restart') as RestartType | undefined
  const onComplete = options.get('complete') as OnComplete | undefined
  const childId = options.get('child')
  const intensity = {
    maxRestarts: numberOption(line, 'max') ?? 2,
    windowMs: numberOption(line, 'window') ?? 60_000,
    backoff: { initialMs: 1_000, maxMs: 8_000, factor: 2 },
  }
  return {
    ...(type ? { restart: { type, ...(onComplete ? { onComplete } : {}), ...(childId === undefined ? intensity : {}) } } : {}),
    ...(childId === undefined ? {} : { childId }),
    ...(driver === 'supervisor' ? { supervisor: { strategy: (options.get('strategy') ?? 'one_for_one') as Strategy, ...intensity } } : {}),
  }
}

function specOf(line: Line): ReturnType<typeof kernelSpec> {
  const driver =
    line.words.find((flag): flag is DriverName => flag === 'native' || flag === 'acp' || flag === 'command' || flag === 'supervisor') ??
    'native'
  const limits: Limits = {
    ...limitsOf(line, LIMIT_NAMES),
    ...limitOf(line, 'warnAt'),
    ...(line.options.has('unknownPrice') ? { unknownPrice: line.options.get('unknownPrice') as 'refuse' } : {}),
    ...(line.options.has('onLimit')
      ? { actions: Object.fromEntries(LIMIT_NAMES.map((name) => [name, line.options.get('onLimit') as 'suspend'])) }
      : {}),
  }
  return kernelSpec({
    driver,
    limits,
    name: line.options.get('named') ?? null,
    interactive: hasFlag(line, 'interactive'),
    intent: line.options.get('intent') ?? 'work',
    ...permissionsOf(line),
    ...restartsOf(line, driver),
    ...(hasFlag(line, 'lines') ? { format: 'claude' as const } : {}),
    ...(hasFlag(line, 'input') ? { input: true as const } : {}),
    argv: driver === 'command' ? ['make'] : null,
    ...(line.options.has('cleans') ? { graceMs: numberOption(line, 'cleans') ?? 0 } : {}),
  })
}

/** `tools=read,ls deny=bash agent=coder reads=/a writes=/a/b network=off signals=none spawns=coder` */
function permissionsOf(line: Line): SpecChanges {
  const listOf = (key: string): readonly string[] | undefined =>
    line.options.has(key) ? listOption(line, key).filter((entry) => entry !== '') : undefined
  const [tools, deny, agent, read, write, spawns] = [
    listOf('tools'),
    listOf('deny'),
    line.options.get('agent'),
    listOf('reads'),
    listOf('writes'),
    listOf('spawns'),
  ]
  const signals = line.options.get('signals') as 'none' | undefined
  const capabilities = {
    ...(read || write ? { paths: { ...(read && { read }), ...(write && { write }) } } : {}),
    ...(line.options.has('network') ? { network: 'off' as const } : {}),
    ...(signals && { signals }),
    ...(spawns && { spawns }),
  }
  return {
    ...(tools && { tools }),
    ...(deny && { deny }),
    ...(agent && { agent }),
    ...(Object.keys(capabilities).length > 0 ? { capabilities } : {}),
  }
}

/** `fork b of=a step=2` forks where that step is complete; without `step`, at the current state. */
function forkPointOf(line: Line, world: World): { readonly origin: Process; readonly at: ForkPoint } {
  const origin = world.row(line.options.get('of') ?? '')
  if (!origin) throw new Error(`nothing to fork: ${line.words.join(' ')}`)
  const step = numberOption(line, 'step')
  const forkPoint = step === null ? forkPointNow(origin) : null
  if (forkPoint) return { origin, at: forkPoint }
  let at: Process | undefined
  for (const fact of world.history(origin.uuid)) {
    at = fold(at, fact)
    if (at.progress.wholeStep === (step ?? origin.progress.wholeStep))
      return { origin, at: { step: at.progress.wholeStep, seq: at.seq, state: forkState(at) } }
  }
  throw new Error(`no step ${step}`)
}

const isOverridden = (line: Line): boolean => ['model', 'named', 'tools', 'deny', 'reads', 'writes'].some((key) => line.options.has(key))

function overridesOf(line: Line): { model?: string; name?: string } {
  const model = line.options.get('model')
  const name = line.options.get('named')
  return { ...(model === undefined ? {} : { model }), ...(name === undefined ? {} : { name }) }
}

function limitsOf(line: Line, names: readonly LimitName[]): Limits {
  return Object.assign({}, ...names.map((name) => limitOf(line, name))) as Limits
}

function limitOf(line: Line, key: LimitName | 'warnAt'): Limits {
  const value = numberOption(line, key)
  return value === null ? {} : { [key]: value }
}

function wordAt(line: Line, index: number): string {
  const found = line.words[index]
  if (found === undefined) throw new Error(`word ${index} is missing in: ${line.words.join(' ')}`)
  return found
}

const hasFlag = (line: Line, flag: string): boolean => line.words.includes(flag)
const senderOf = (line: Line): Sender => (line.options.get('by') ?? 'user') as Sender
const listOption = (line: Line, key: string): string[] => line.options.get(key)?.split(',') ?? []
const anyOf = (line: Line): string | null => (wordAt(line, 1) === 'all' ? null : wordAt(line, 1))

function numberOption(line: Line, key: string): number | null {
  const value = line.options.get(key)
  return value === undefined ? null : Number(value)
}

function pidOf(line: Line, world: World): number {
  return numberOption(line, 'pid') ?? world.row(wordAt(line, 1))?.pid ?? 0
}
