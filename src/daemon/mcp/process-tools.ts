// The tools by which any process reaches others: start, look, wait, write, signal, pause. Each is an operation of the API, by
// the agent that calls; what it may not do the kernel refuses, and its journal has it. Test: test/e2e/mcp-server.test.ts.
import { isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import { statusOf } from '../../kernel/status.ts'
import { define, type Called, type OwnDefinition } from './tool.ts'
import type { SpawnBody } from '../../api/views.ts'
import type { Process, Uuid } from '../../kernel/types.ts'

/** rows that `ps` gives, and lines that `inspect` gives */
const MAX_ROWS = 100
const MAX_LINES = 200
/** Clients drop a call after 60 to 300 s. */
const WAIT_S = 45
const MAX_WAIT_S = 240
const PROGRESS_MS = 10_000
const MAX_TEXT = 200_000
const MAX_RESULT_CHARS = 4_000

const ref = z.string().min(1).max(200).describe('PID, name or ID; `self` is you')
const SELF = 'self'

/** What an agent looks at most. */
export interface Row {
  readonly pid: number
  readonly id: string
  readonly name: string | null
  readonly agent: string
  readonly status: string
  readonly intent?: string
  readonly note?: string
  readonly exit?: { readonly code: number; readonly reason?: string }
  /** its last words */
  readonly result?: string
}

export async function processOf(name: string, { host, caller }: Called): Promise<Process> {
  if (name !== SELF) return host.reads.resolve(name)
  if (caller === null) throw new KernelError('INVALID', '`self` is no process: you are a person here', undefined, 'Name a process by its PID or name; `ps` lists them.')
  return caller
}

/** Is it the caller, its parent, or of those below it, by spawns or as they stand now? Of all others no words are shown: they may be anybody's. */
async function isKin({ uuid, parent, parentUuid }: Process, { host, caller }: Called): Promise<boolean> {
  if (caller === null || uuid === caller.uuid || uuid === caller.parent) return true
  const [seen, above] = [new Set<Uuid>(), [parent, parentUuid]]
  for (const one of above) {
    if (one === caller.uuid) return true
    if (one === null || seen.has(one)) continue
    seen.add(one)
    const found = await host.reads.find(one)
    if (found) above.push(found.parent, found.parentUuid)
  }
  return false
}

async function rowOf(process: Process, called: Called): Promise<Row> {
  const { pid, uuid, spec, life, note, progress } = process
  const exit = life.state === 'zombie' || life.state === 'dead' ? life.exit : null
  const seen = { pid, id: uuid, name: spec.name, agent: spec.agent, status: statusOf(process) }
  if (!(await isKin(process, called))) return { ...seen, ...(exit === null ? {} : { exit: { code: exit.code } }) }
  return {
    ...seen, intent: spec.intent.slice(0, 200),
    ...(note === null ? {} : { note }),
    ...(exit === null ? {} : { exit: { code: exit.code, reason: exit.reason } }),
    ...(progress.lastText === null || exit === null ? {} : { result: progress.lastText }),
  }
}

const ps = define({
  name: 'ps', who: 'any', effect: 'read',
  description: 'Lists processes: you, your parent and all below you; with `all` every living process, with `ended` also those that have ended.',
  input: z.strictObject({ all: z.boolean().default(false), ended: z.boolean().default(false) }),
  example: { ended: true },
  async run({ all, ended }, { host: { reads }, caller }) {
    const views = await reads.list({ all: ended, limit: MAX_ROWS, fields: ['uuid', 'parentUuid', 'pid', 'ppid', 'name', 'agent', 'status', 'intent', 'note', 'exit', 'children'] })
    const family = new Set(caller === null ? [] : [caller.uuid, ...(caller.parent === null ? [] : [caller.parent])])
    // Parents stand before their children, as PIDs only grow; one that was handed on is found by its new parent's list.
    const byUuid = new Map(views.map((view) => [view.uuid, view]))
    const seen = caller === null ? [] : [caller.uuid]
    for (const uuid of seen) {
      const below = [...(byUuid.get(uuid)?.children ?? []), ...views.filter((view) => view.parentUuid === uuid).map((view) => view.uuid)]
      for (const child of below) if (!family.has(child) && family.add(child)) seen.push(child)
    }
    const shown = all || caller === null ? views : views.filter(({ uuid }) => family.has(uuid))
    const rows = shown.slice(-MAX_ROWS).map(({ uuid, pid, ppid, name, agent, status, intent, note, exit }) => {
      const words = caller === null || family.has(uuid) ? { intent: intent.slice(0, 120), ...(note ? { note } : {}) } : {}
      return { pid, ppid, id: uuid, name, agent, status, ...words, ...(exit ? { exit: exit.code } : {}) }
    })
    return { processes: rows, ...(shown.length > rows.length ? { leftOut: shown.length - rows.length } : {}) }
  },
})

const inspect = define({
  name: 'inspect', who: 'any', effect: 'read',
  description: 'One process of yours, or your parent: status, why it is paused, what it asks, usage, its last words, and with `lines` the last lines of its log.',
  input: z.strictObject({ process: ref, lines: z.int().min(0).max(MAX_LINES).default(0) }),
  example: { process: 'builder', lines: 20 },
  async run({ process: name, lines }, called) {
    const { reads } = called.host
    const process = await processOf(name, called)
    if (!(await isKin(process, called))) return rowOf(process, called)
    const { status, holds, asks, ppid, cwd, model, usage, limits, queueCount } = reads.view(process)
    const worktree = process.files
    const log = lines === 0 ? {} : { log: (await reads.logs(process, lines)).lines.map(({ text }) => text) }
    return {
      ...(await rowOf(process, called)), status, ppid, cwd, model, holds, queueCount, limits,
      asks: asks.map(({ id, text, options }) => ({ id, text, options })), usage: { steps: usage.steps, turns: usage.turns, inputTokens: usage.inputTokens, outputTokens: usage.outputTokens, costUsd: usage.costUsd },
      ...(worktree ? { worktree: { dir: worktree.dir, branch: worktree.branch } } : {}),
      lastWords: process.progress.lastText?.slice(0, MAX_RESULT_CHARS) ?? null, ...log,
    }
  },
})

const spawn = define({
  name: 'spawn', who: 'any', effect: 'once',
  description: 'Starts a process below you and answers at once: an agent with an intent, or a command. It shares your limits and may do no more than you. `wait` tells when it has ended, and its last words.',
  input: z.strictObject({
    intent: z.string().min(1).max(MAX_TEXT).optional().describe('what the agent is to do, whole: it knows nothing of your conversation'),
    agent: z.string().min(1).max(200).optional().describe('name of an agent; default: the configured one'),
    command: z.array(z.string()).min(1).max(1_000).optional().describe('a program with its arguments, in place of an agent'),
    name: z.string().max(64).optional(),
    model: z.string().max(1_000).optional(),
    cwd: z.string().max(4_096).optional().describe('default: yours'),
    worktree: z.boolean().optional().describe('a git worktree of its own'),
    interactive: z.boolean().optional().describe('stays for more messages when its work is done'),
    tools: z.array(z.string()).max(200).optional().describe('only these tools'),
    max_steps: z.int().min(1).optional(), budget_usd: z.number().positive().optional(), budget_tokens: z.int().min(1).optional(), timeout_s: z.int().min(1).optional(),
  }),
  example: { intent: 'Find out why test/e2e/login.test.ts fails. Change nothing; report the cause and the lines.', name: 'login', max_steps: 40 },
  async run(input, called) {
    const { host: { operations } } = called
    const { process: view } = await operations.spawn(bodyOf(input, called))
    return { pid: view.pid, id: view.uuid, name: view.name, status: view.status, ...(view.note ? { note: view.note } : {}), next: `wait with {"processes": ["${view.pid}"]}` }
  },
})

function bodyOf(input: { readonly [K in 'intent' | 'agent' | 'name' | 'model' | 'cwd']?: string | undefined } & {
  readonly command?: readonly string[] | undefined; readonly tools?: readonly string[] | undefined; readonly worktree?: boolean | undefined; readonly interactive?: boolean | undefined
  readonly max_steps?: number | undefined; readonly budget_usd?: number | undefined; readonly budget_tokens?: number | undefined; readonly timeout_s?: number | undefined
}, { host: { keys }, caller, place }: Called): SpawnBody {
  const { intent, agent, command, name, model, worktree, interactive, tools } = input
  if ((intent === undefined) === (command === undefined)) throw new KernelError('INVALID', 'spawn wants either an intent or a command', undefined, 'Give `intent` for an agent, or `command` as a list for a program.')
  const home = caller?.spec.cwd ?? place?.cwd ?? '/'
  const cwd = input.cwd === undefined ? home : isAbsolute(input.cwd) ? input.cwd : resolve(home, input.cwd)
  // What it was started with itself; the keys are told apart again, and stay in memory.
  const env = caller ? { ...caller.spec.env, ...keys.known(caller.uuid) } : { ...place?.env }
  const limits = defined({ maxSteps: input.max_steps, budgetUsd: input.budget_usd, budgetTokens: input.budget_tokens, timeoutMs: input.timeout_s === undefined ? undefined : input.timeout_s * 1_000 })
  return {
    cwd, env, ...(caller ? { parent: caller.uuid } : {}),
    ...defined({ intent, agent, name, model, worktree, interactive, argv: command && [...command], allow: tools && [...tools] }),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  }
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

const wait = define({
  name: 'wait', who: 'any', effect: 'read',
  description: `Waits until processes have ended (or are as \`for\` says), all of them or with \`any\` the first. Answers after ${WAIT_S} s at the latest, with \`done: false\`: then call it again.`,
  input: z.strictObject({
    processes: z.array(z.string().min(1).max(200)).min(1).max(50),
    for: z.enum(['exited', 'ready', 'suspended', 'waiting']).default('exited'),
    any: z.boolean().default(false),
    timeout_s: z.int().min(1).max(MAX_WAIT_S).default(WAIT_S).describe(`at most ${MAX_WAIT_S}; longer than your client waits for a call is of no use`),
  }),
  example: { processes: ['12', 'login'], any: true },
  async run({ processes: names, for: what, any: first, timeout_s: seconds }, called) {
    const { host: { waiter, reads }, signal, progress } = called
    const found = await Promise.all(names.map((name) => processOf(name, called)))
    if (found.some(({ uuid }) => uuid === called.caller?.uuid)) throw new KernelError('INVALID', 'you cannot wait for yourself', undefined, 'Name another process; `ps` lists them.')
    const ending = new AbortController()
    const until = AbortSignal.any([signal, ending.signal])
    const waits = found.map(({ uuid }) => waiter.wait(uuid, what, seconds * 1_000, until))
    const since = performance.now()
    const tell = (): void => progress(`waiting for ${names.join(', ')}: ${Math.round((performance.now() - since) / 1_000)} s`)
    tell()
    const timer = setInterval(tell, PROGRESS_MS)
    try {
      if (first) await Promise.race(waits)
    } finally {
      if (first) ending.abort()
      await Promise.allSettled(waits)
      clearInterval(timer)
    }
    const ended = await Promise.all(waits)
    const isDone = ended.map(({ timedOut }) => !timedOut)
    const rows = await Promise.all(found.map(async ({ uuid }) => rowOf(await reads.get(uuid), called)))
    const done = first ? isDone.includes(true) : !isDone.includes(false)
    return { done, processes: rows, ...(done ? {} : { next: 'they are not there yet: call wait again, or do something else meanwhile' }) }
  },
})

const steered = (process: Process, { affected, note, process: { status } }: { readonly affected: number; readonly note?: string; readonly process: { readonly status: string } }): object => ({ pid: process.pid, affected, status, ...(note === undefined ? {} : { note }) })
const VIA = 'mcp'

const signal = define({
  name: 'signal', who: 'any', effect: 'once',
  description: 'Sends SIGTERM (stop, with a grace period), SIGKILL, SIGINT (end its turn), SIGPAUSE or SIGRESUME to a process of yours, with `subtree` also to all below it.',
  input: z.strictObject({ process: ref, signal: z.enum(['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']), subtree: z.boolean().default(false) }),
  example: { process: 'login', signal: 'SIGTERM' },
  async run({ process: name, signal: which, subtree }, called) {
    const process = await processOf(name, called)
    return steered(process, await called.host.operations.signal(process.uuid, { signal: which, subtree, ...(which === 'SIGTERM' ? { leastGraceMs: 10_000 } : {}) }, VIA))
  },
})

const pause = define({
  name: 'pause', who: 'any', effect: 'idempotent',
  description: 'Pauses a process of yours at its next boundary, or at once with `now`; with `subtree` all below it, too. Who pauses itself goes on when somebody resumes it.',
  input: z.strictObject({ process: ref, subtree: z.boolean().default(false), now: z.boolean().default(false) }),
  example: { process: '12', subtree: true },
  async run({ process: name, subtree, now }, called) {
    const process = await processOf(name, called)
    return steered(process, await called.host.operations.pause(process.uuid, { subtree, now }, VIA))
  },
})

const resume = define({
  name: 'resume', who: 'any', effect: 'idempotent',
  description: 'Lets a process of yours go on: ends the pause that you made, or begins one that has ended anew where it was, with `message` as what it is told.',
  input: z.strictObject({ process: ref, subtree: z.boolean().default(false), message: z.string().min(1).max(MAX_TEXT).optional() }),
  example: { process: '12', message: 'The server is up now: run the tests again.' },
  async run({ process: name, subtree, message }, called) {
    const process = await processOf(name, called)
    const { operations, removals } = called.host
    return steered(process, await removals.alone(process.uuid, (uuid) => operations.resume(uuid, { subtree, ...(message === undefined ? {} : { message }) })))
  },
})

export const PROCESS_TOOLS: readonly OwnDefinition[] = [ps, inspect, spawn, wait, signal, pause, resume]
