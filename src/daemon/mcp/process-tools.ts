// The tools that list, inspect, start, await, signal, pause and resume processes. Each of them is an operation of the API in the name of
// the calling process, or of the user. The kernel refuses what the process may not do, and records the refusal.
// Test: test/e2e/mcp/server.test.ts.
import { isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import { statusOf } from '../../kernel/model/status.ts'
import { resolveProcess } from './process-reference.ts'
import { defineOwnTool, type ToolCallContext, type OwnToolDefinition } from './tool.ts'
import type { SpawnBody } from '../../api/views/process.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { SIGNALS, WAIT_TARGETS } from '../../kernel/model/words.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

/** The largest numbers of rows of `ps` and of lines of `inspect`. */
const MAX_ROWS = 100
const MAX_LINES = 200
/** The default and the longest duration of `wait`: MCP clients drop a call after 60 to 300 s. */
const WAIT_S = 45
const MAX_WAIT_S = 240
/** Interval of the progress messages of `wait`. */
const PROGRESS_MS = 10_000
const MAX_TEXT = 200_000
const MAX_RESULT_CHARS = 4_000

const ref = z.string().min(1).max(200).describe('PID, name, ID, or id of a member of your crew; `self` is you')

/** A process as other agents see it. */
export interface ProcessSummary {
  readonly pid: number
  readonly id: string
  readonly name: string | null
  readonly agent: string
  readonly status: string
  readonly intent?: string
  readonly note?: string
  readonly exit?: { readonly code: number; readonly reason?: string }
  /** its last text */
  readonly result?: string
}

/**
 * True for the caller itself, its parent, and all its descendants, by spawn or by the current tree. Texts of other processes are hidden
 * from the caller, because they may be private.
 */
async function isRelated({ uuid, parent, parentUuid }: Process, { host, caller }: ToolCallContext): Promise<boolean> {
  if (caller === null || uuid === caller.uuid || uuid === caller.parent) return true
  const [visited, ancestors] = [new Set<Uuid>(), [parent, parentUuid]]
  for (const ancestor of ancestors) {
    if (ancestor === caller.uuid) return true
    if (ancestor === null || visited.has(ancestor)) continue
    visited.add(ancestor)
    const found = await host.reads.find(ancestor)
    if (found) ancestors.push(found.parent, found.parentUuid)
  }
  return false
}

/** Returns a summary of a process, without texts if the process is not related to the caller. */
async function summaryOf(process: Process, context: ToolCallContext): Promise<ProcessSummary> {
  const { pid, uuid, spec, life, note, progress } = process
  const exit = life.state === 'zombie' || life.state === 'dead' ? life.exit : null
  const publicFields = { pid, id: uuid, name: spec.name, agent: spec.agent, status: statusOf(process) }
  if (!(await isRelated(process, context))) return { ...publicFields, ...(exit === null ? {} : { exit: { code: exit.code } }) }
  return {
    ...publicFields,
    intent: spec.intent.slice(0, 200),
    ...(note === null ? {} : { note }),
    ...(exit === null ? {} : { exit: { code: exit.code, reason: exit.reason } }),
    ...(progress.lastText === null || exit === null ? {} : { result: progress.lastText }),
  }
}

const ps = defineOwnTool({
  name: 'ps',
  who: 'any',
  effect: 'read',
  description:
    'Lists processes: you, your parent and all processes below you. With `all` it lists every living process, with `ended` also ended ones.',
  input: z.strictObject({ all: z.boolean().default(false), ended: z.boolean().default(false) }),
  example: { ended: true },
  async run({ all, ended }, { host: { reads }, caller }) {
    const views = await reads.list({
      all: ended,
      limit: MAX_ROWS,
      fields: ['uuid', 'parentUuid', 'pid', 'ppid', 'name', 'agent', 'status', 'intent', 'note', 'exit', 'children'],
    })
    const related = new Set(caller === null ? [] : [caller.uuid, ...(caller.parent === null ? [] : [caller.parent])])
    // `children` has the current tree, and `parentUuid` the process that spawned each one.
    const byUuid = new Map(views.map((view) => [view.uuid, view]))
    const queue = caller === null ? [] : [caller.uuid]
    for (const uuid of queue) {
      const children = [...(byUuid.get(uuid)?.children ?? []), ...views.filter((view) => view.parentUuid === uuid).map((view) => view.uuid)]
      for (const child of children) if (!related.has(child) && related.add(child)) queue.push(child)
    }
    const shown = all || caller === null ? views : views.filter(({ uuid }) => related.has(uuid))
    const rows = shown.slice(-MAX_ROWS).map(({ uuid, pid, ppid, name, agent, status, intent, note, exit }) => {
      const texts = caller === null || related.has(uuid) ? { intent: intent.slice(0, 120), ...(note ? { note } : {}) } : {}
      return { pid, ppid, id: uuid, name, agent, status, ...texts, ...(exit ? { exit: exit.code } : {}) }
    })
    return { processes: rows, ...(shown.length > rows.length ? { leftOut: shown.length - rows.length } : {}) }
  },
})

const inspect = defineOwnTool({
  name: 'inspect',
  who: 'any',
  effect: 'read',
  description: 'Shows one process: status, holds, questions, usage, last text. With `lines` it also shows the last lines of its log.',
  input: z.strictObject({ process: ref, lines: z.int().min(0).max(MAX_LINES).default(0) }),
  example: { process: 'builder', lines: 20 },
  async run({ process: name, lines }, context) {
    const { reads } = context.host
    const process = await resolveProcess(name, context)
    if (!(await isRelated(process, context))) return summaryOf(process, context)
    const { status, holds, asks, ppid, cwd, model, usage, limits, queueCount } = reads.view(process)
    const worktree = process.files
    const log = lines === 0 ? {} : { log: (await reads.logs(process, { tail: lines })).lines.map(({ text }) => text) }
    return {
      ...(await summaryOf(process, context)),
      status,
      ppid,
      cwd,
      model,
      holds,
      queueCount,
      limits,
      asks: asks.map(({ id, text, options }) => ({ id, text, options })),
      usage: {
        steps: usage.steps,
        turns: usage.turns,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        costUsd: usage.costUsd,
      },
      ...(worktree ? { worktree: { dir: worktree.dir, branch: worktree.branch } } : {}),
      lastWords: process.progress.lastText?.slice(0, MAX_RESULT_CHARS) ?? null,
      ...log,
    }
  },
})

const spawn = defineOwnTool({
  name: 'spawn',
  who: 'any',
  effect: 'once',
  description:
    'Starts a process below you, and answers at once: an agent with an intent, or a command. The process shares your limits, and has at most your permissions. `wait` returns its last text when it has ended.',
  input: z.strictObject({
    intent: z.string().min(1).max(MAX_TEXT).optional().describe('the complete task: the agent does not see your conversation'),
    agent: z.string().min(1).max(200).optional().describe('name of an agent; default: the configured one'),
    command: z.array(z.string()).min(1).max(1_000).optional().describe('a program with its arguments, instead of an agent'),
    name: z.string().max(64).optional(),
    model: z.string().max(1_000).optional(),
    cwd: z.string().max(4_096).optional().describe('working directory; default: yours'),
    worktree: z.boolean().optional().describe('true: it works in a git worktree of its own'),
    interactive: z.boolean().optional().describe('true: it waits for further messages after its work'),
    tools: z.array(z.string()).max(200).optional().describe('the only tools that it may use'),
    max_steps: z.int().min(1).optional(),
    budget_usd: z.number().positive().optional(),
    budget_tokens: z.int().min(1).optional(),
    timeout_s: z.int().min(1).optional(),
  }),
  example: {
    intent: 'Find out why test/e2e/login.test.ts fails. Change nothing; report the cause and the lines.',
    name: 'login',
    max_steps: 40,
  },
  async run(input, context) {
    const {
      host: { operations },
    } = context
    const { process: view } = await operations.spawn(spawnBodyOf(input, context))
    return {
      pid: view.pid,
      id: view.uuid,
      name: view.name,
      status: view.status,
      ...(view.note ? { note: view.note } : {}),
      next: `wait with {"processes": ["${view.pid}"]}`,
    }
  },
})

/** Turns the input of `spawn` into the request body. Errors: INVALID unless there is either an intent or a command. */
function spawnBodyOf(
  input: { readonly [K in 'intent' | 'agent' | 'name' | 'model' | 'cwd']?: string | undefined } & {
    readonly command?: readonly string[] | undefined
    readonly tools?: readonly string[] | undefined
    readonly worktree?: boolean | undefined
    readonly interactive?: boolean | undefined
    readonly max_steps?: number | undefined
    readonly budget_usd?: number | undefined
    readonly budget_tokens?: number | undefined
    readonly timeout_s?: number | undefined
  },
  { host: { credentials }, caller, userContext }: ToolCallContext,
): SpawnBody {
  const { intent, agent, command, name, model, worktree, interactive, tools } = input
  if ((intent === undefined) === (command === undefined))
    throw new KernelError(
      'INVALID',
      'spawn needs either an intent or a command',
      undefined,
      'Give `intent` for an agent, or `command` as a list for a program.',
    )
  const callerCwd = caller?.spec.cwd ?? userContext?.cwd ?? '/'
  const cwd = input.cwd === undefined ? callerCwd : isAbsolute(input.cwd) ? input.cwd : resolve(callerCwd, input.cwd)
  // The keys are separated from the environment again when the spec is built, and stay in memory.
  const env = caller ? { ...caller.spec.env, ...credentials.storedKeys(caller.uuid) } : { ...userContext?.env }
  const limits = withoutUndefined({
    maxSteps: input.max_steps,
    budgetUsd: input.budget_usd,
    budgetTokens: input.budget_tokens,
    timeoutMs: input.timeout_s === undefined ? undefined : input.timeout_s * 1_000,
  })
  return {
    cwd,
    env,
    ...(caller ? { parent: caller.uuid } : {}),
    ...withoutUndefined({ intent, agent, name, model, worktree, interactive, argv: command && [...command], allow: tools && [...tools] }),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  }
}

const wait = defineOwnTool({
  name: 'wait',
  who: 'any',
  effect: 'read',
  description: `Waits until all processes (with \`any\`: one of them) have ended, or are in the state \`for\`. After ${WAIT_S} s it answers with \`done: false\`: then call it again.`,
  input: z.strictObject({
    processes: z.array(z.string().min(1).max(200)).min(1).max(50),
    for: z.enum(WAIT_TARGETS).default('exited'),
    any: z.boolean().default(false),
    timeout_s: z
      .int()
      .min(1)
      .max(MAX_WAIT_S)
      .default(WAIT_S)
      .describe(`the longest wait, at most ${MAX_WAIT_S}; must be less than the call timeout of your client`),
  }),
  example: { processes: ['12', 'login'], any: true },
  async run({ processes: names, for: target, any: isAnyEnough, timeout_s: seconds }, context) {
    const {
      host: { waiter, reads },
      signal,
      progress,
    } = context
    const found = await Promise.all(names.map((name) => resolveProcess(name, context)))
    if (found.some(({ uuid }) => uuid === context.caller?.uuid))
      throw new KernelError('INVALID', 'you cannot wait for yourself', undefined, 'Name another process; `ps` lists them.')
    const endWaits = new AbortController()
    const callerGone = AbortSignal.any([signal, endWaits.signal])
    const waits = found.map(({ uuid }) => waiter.wait(uuid, [target], seconds * 1_000, callerGone))
    const startedAt = performance.now()
    const reportProgress = (): void => progress(`waiting for ${names.join(', ')}: ${Math.round((performance.now() - startedAt) / 1_000)} s`)
    reportProgress()
    const timer = setInterval(reportProgress, PROGRESS_MS)
    try {
      if (isAnyEnough) await Promise.race(waits)
    } finally {
      if (isAnyEnough) endWaits.abort()
      await Promise.allSettled(waits)
      clearInterval(timer)
    }
    const results = await Promise.all(waits)
    const areDone = results.map(({ timedOut }) => !timedOut)
    const rows = await Promise.all(found.map(async ({ uuid }) => summaryOf(await reads.get(uuid), context)))
    const done = isAnyEnough ? areDone.includes(true) : !areDone.includes(false)
    return { done, processes: rows, ...(done ? {} : { next: 'not finished yet: call wait again, or do something else meanwhile' }) }
  },
})

const steerResult = (
  process: Process,
  {
    affected,
    note,
    process: { status },
  }: { readonly affected: number; readonly note?: string; readonly process: { readonly status: string } },
): object => ({ pid: process.pid, affected, status, ...(note === undefined ? {} : { note }) })

/** The name of the client that is recorded for signals of these tools. */
const VIA = 'mcp'

const signal = defineOwnTool({
  name: 'signal',
  who: 'any',
  effect: 'once',
  description:
    'Sends SIGTERM (stop, with a grace period), SIGKILL, SIGINT (end its turn), SIGPAUSE or SIGRESUME to a process of yours. With `subtree` the signal also goes to all processes below it.',
  input: z.strictObject({
    process: ref,
    signal: z.enum(SIGNALS),
    subtree: z.boolean().default(false),
  }),
  example: { process: 'login', signal: 'SIGTERM' },
  async run({ process: name, signal: signalName, subtree }, context) {
    const process = await resolveProcess(name, context)
    return steerResult(
      process,
      await context.host.operations.signal(
        process.uuid,
        { signal: signalName, subtree, ...(signalName === 'SIGTERM' ? { leastGraceMs: STOP_GRACE_MS } : {}) },
        VIA,
      ),
    )
  },
})

const pause = defineOwnTool({
  name: 'pause',
  who: 'any',
  effect: 'idempotent',
  description:
    'Pauses a process of yours at its next boundary, or at once with `now`. With `subtree` all processes below it are paused, too. If you pause yourself, you continue when another process or the user resumes you.',
  input: z.strictObject({ process: ref, subtree: z.boolean().default(false), now: z.boolean().default(false) }),
  example: { process: '12', subtree: true },
  async run({ process: name, subtree, now }, context) {
    const process = await resolveProcess(name, context)
    return steerResult(process, await context.host.operations.pause(process.uuid, { subtree, now }, VIA))
  },
})

const resume = defineOwnTool({
  name: 'resume',
  who: 'any',
  effect: 'idempotent',
  description:
    'Continues a process of yours: ends your pause of it, or resumes an ended process from its history. The process receives `message`.',
  input: z.strictObject({ process: ref, subtree: z.boolean().default(false), message: z.string().min(1).max(MAX_TEXT).optional() }),
  example: { process: '12', message: 'The server is up now: run the tests again.' },
  async run({ process: name, subtree, message }, context) {
    const process = await resolveProcess(name, context)
    const { operations, removals } = context.host
    return steerResult(
      process,
      await removals.runExclusively(process.uuid, (uuid) =>
        operations.resume(uuid, { subtree, ...(message === undefined ? {} : { message }) }),
      ),
    )
  },
})

export const PROCESS_TOOLS: readonly OwnToolDefinition[] = [ps, inspect, spawn, wait, signal, pause, resume]
