// What the API answers, as zod schemas: one per view of src/api/views.ts, held to its type in both directions, so that neither
// can have a field that the other lacks. For the document and for tests alone: no answer goes through them, and they are loaded
// when the document is asked for. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../config/limit-rules.ts'
import { LIMIT_NAMES } from '../../kernel/limits.ts'
import { ERRORS, type ErrorCode } from '../../kernel/errors.ts'
import { of } from './exact.ts'
import { crewReportAnswers } from './crew-report-answers.ts'
import { crewAnswers } from './crew-up-answers.ts'
import { composeAnswers } from './compose-answers.ts'
import { heartbeatAnswers } from './heartbeat-answers.ts'
import { historyAnswers } from './history-answers.ts'
import { mcpAnswers } from './mcp-answers.ts'
import { usageAnswers } from './usage-answers.ts'
import { resumeAnswers } from './resume-answers.ts'
import type { LogLine } from '../../api/log-lines.ts'
import type {
  AgentProblem, AgentsView, AgentView, AskView, CheckView, DaemonView, ErrorBody, EventView, HoldView, LimitUseView, LivenessView, PendingSignalView, ProcessView, ProviderCheckView, RemovedView, SentSignalView, SignalsView, SpawnedView, SteerView, StepView, SubtreeUsageView, SupervisorView, UsageView, WorktreeEndView, WorktreeView,
} from '../../api/views.ts'

const time = z.iso.datetime({ offset: true })
const uuid = z.string().meta({ examples: ['0198c1a2-7b54-7cc3-9d4e-5f60718293a4'] })
const ms = z.number().min(0)
const count = z.int().min(0)
const usd = z.number().min(0)
const names = z.array(z.string())
const permits = { paths: z.object({ read: names.nullable(), write: names.nullable() }), network: z.enum(['on', 'off']), signals: z.enum(['none', 'children', 'subtree']), spawns: names.nullable() }
const held = z.enum(['yes', 'asked', 'part', 'no'])
const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const driver = z.enum(['native', 'acp', 'command', 'supervisor', 'crew', 'compose'])
const containment = z.enum(['cgroup', 'pidns', 'group'])
const signal = z.enum(['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME'])
const handler = z.enum(['default', 'ignore', 'message'])
const status = z.enum([
  'pending', 'starting', 'ready', 'working', 'waiting', 'suspended', 'stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted',
])
const holdReason = z.enum([
  'user', 'subtree', 'budget', 'rate-limit', 'loop', 'context-full', 'breaker', 'disk-full', 'credentials', 'supervisor', 'daemon-shutdown', 'daemon-crash',
])

const hold = of<HoldView>()(z.object({ reason: holdReason, root: uuid.exactOptional(), by: z.string(), at: time, until: time.exactOptional(), wake: z.literal(true).exactOptional() })).meta({
  id: 'HoldView', description: 'Why a process is paused. `root` belongs to `subtree`: the process whose subtree was paused.',
})

const ask = of<AskView>()(z.object({
  id: z.string(), kind: z.enum(['permission', 'question']), text: z.string(), at: time,
  options: z.array(z.object({ id: z.string(), name: z.string(), kind: z.enum(['allow_once', 'allow_always', 'reject_once', 'reject_always', 'choice']) })),
})).meta({ id: 'AskView', description: 'What a process asks of a person. Without options it is answered by a text.' })

const tokens = { inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count }
const usage = of<UsageView>()(z.object({
  ...tokens, steps: count, turns: count, messagesSent: count, toolCalls: count, contextTokens: count, costUsd: usd,
  unpriced: z.boolean().describe('some call had no known price, so `costUsd` is a lower bound'),
  estimated: z.boolean().describe('some call was cut off and charged by its estimate'),
  contextWindow: count.nullable(), turnCostUsd: usd.nullable(), cpuTimeMs: ms.nullable().describe('of its programs'), rssBytes: count.nullable(), peakRssBytes: count.nullable(), outputBytes: count.nullable(), updatedAt: time,
})).meta({ id: 'UsageView', description: 'What a process has used so far, over all its incarnations.' })

const limits = of<ProcessView['limits']>()(limitsRule)
const subtreeUsage = of<SubtreeUsageView>()(z.object({
  steps: count, turns: count, messagesSent: count, toolCalls: count, ...tokens, costUsd: usd, cpuTimeMs: ms, outputBytes: count, rssBytes: count,
  unpriced: z.boolean(), estimated: z.boolean(), openCalls: count, reservedTokens: count, reservedUsd: usd,
})).meta({ id: 'SubtreeUsageView', description: 'What a process and all below it have used; `reserved` is what calls that are open may still take.' })
const limitUse = of<LimitUseView>()(z.object({
  limit: z.enum(LIMIT_NAMES), used: z.number().min(0), of: z.number().min(0), action: z.enum(['suspend', 'terminate', 'refuse']), scope: uuid.nullable().describe('whose limit it is, if not its own'),
})).meta({ id: 'LimitUseView', description: 'How much of a limit is used.' })

const sentSignal = of<SentSignalView>()(z.object({
  signal, by: z.string(), via: z.string().nullable().describe('what the client calls itself'), root: uuid.nullable().describe('the process whose subtree was meant'),
  disposition: z.enum(['default', 'ignored', 'message', 'pending']), at: time, escalatedMs: ms.nullable().describe('SIGKILL had to follow, after so long'),
})).meta({ id: 'SentSignalView', description: 'A signal that was sent to a process.' })
const handlers = z.partialRecord(signal, handler) as z.ZodType<ProcessView['signals']['handlers']>
const pendingSignal = of<PendingSignalView>()(z.object({ signal, by: z.string(), via: z.string().nullable(), root: uuid.nullable(), dueInMs: ms.nullable().describe('at the latest; null: when it is unblocked') }))

const liveness = of<LivenessView>()(z.object({ word: z.enum(['silent', 'stalled', 'waiting', 'stopped']), since: time, evidence: z.string().describe('what it was doing') })).meta({ id: 'LivenessView' })

const worktree = of<WorktreeView>()(z.object({
  dir: z.string(), branch: z.string(), base: z.string().describe('the commit that it began at'), recordedStep: count.nullable().describe('the newest step whose files are recorded'),
}))
const worktreeEnd = of<WorktreeEndView>()(z.object({
  dir: z.string(), kept: z.string().exactOptional().describe('why it is still there'), salvaged: z.string().exactOptional().describe('the ref of what was not committed'),
  branch: z.string().exactOptional().describe('it stays, as it has commits of its own'),
}))

const restartType = z.enum(['permanent', 'transient', 'temporary'])
const onComplete = z.enum(['fresh', 'stop'])
const backoff = z.object({ initialMs: ms, maxMs: ms, factor: z.number() })
const restart = of<ProcessView['restart']>()(z.object({
  type: restartType, onComplete: onComplete.exactOptional(), maxRestarts: count.exactOptional(), windowMs: ms.exactOptional(), backoff: backoff.exactOptional(),
}).nullable())
const pendingRestart = z.object({ attempt: count, cause: z.string(), at: time.nullable().describe('null: when its supervisor says so') }).nullable()
const supervisor = of<SupervisorView>()(z.object({
  strategy: z.enum(['one_for_one', 'one_for_all', 'rest_for_one']), maxRestarts: count, windowMs: ms, backoff,
  children: z.array(z.object({
    id: z.string(), uuid, restart: restartType, onComplete: onComplete.nullable(), restarts: count.describe('within the window'),
    nextStart: time.nullable(), status: status.nullable().describe('null: it has ended'), pid: count.nullable(),
  })),
})).meta({ id: 'SupervisorView', description: 'How a supervisor keeps its children, in the order of their start.' })

const process = of<ProcessView>()(z.object({
  uuid, pid: count, ppid: count.describe('0 is the kernel'), parentUuid: uuid.nullable().describe('its parent at the spawn'),
  name: z.string().nullable(), agent: z.string(), driver, format: z.enum(['claude', 'codex', 'gemini', 'opencode']).nullable(), state: z.enum(['created', 'running', 'zombie', 'dead']), status,
  activity: z.enum(['starting', 'ready', 'working', 'waiting']).nullable(), holds: z.array(hold), asks: z.array(ask), resumeAt: time.nullable().describe('when what holds it will be over, as far as that is known'), liveness: liveness.nullable().describe('null: alive, or it does not run'),
  intent: z.string(), cwd: z.string(), worktree: worktree.nullable(), host: z.string(), containment: containment.nullable(),
  gateway: z.object({ on: z.boolean(), why: z.string().nullable() }).nullable().describe('whether its models are called through the gateway, and why not'),
  createdAt: time, startedAt: time.nullable(), pausedAt: time.nullable(), exitedAt: time.nullable(),
  elapsedMs: ms.describe('active time: it stands still while the process is suspended'),
  exit: z.object({ code: z.int(), reason: z.string(), signal: signal.exactOptional(), error: z.string().exactOptional() }).nullable(),
  stopping: z.object({ signal, by: z.string(), at: time, graceMs: ms, wrapsUp: z.boolean().describe('its agent was told, and may work on within the grace') }).nullable(),
  signals: z.object({ mask: z.array(signal), pending: z.array(signal), handlers, recent: z.array(sentSignal) }),
  step: count, turn: count, interactive: z.boolean(), originUuid: uuid.nullable(), originStep: count.nullable(), resumedFromStep: count.nullable(), checkpointStep: count.nullable().describe('the step of its newest checkpoint'),
  model: z.string().nullable(), fallback: z.array(z.string()), effort: effort.nullable(), sessionId: z.string().nullable(),
  role: z.string().nullable(), phase: z.string().nullable(), taskId: z.string().nullable(), queueCount: count, retiredAt: time.nullable(),
  updatedAt: time, lastActivityAt: time, usage, subtreeUsage, limits, limitUse: z.array(limitUse), metering: z.enum(['call', 'report', 'none']), memoryLimit: z.enum(['held', 'measured']).nullable(), restart, pendingRestart, childId: z.string().nullable(), supervisor: supervisor.nullable(),
  capabilities: z.object({ tools: names.nullable(), deny: names, mcp: names, ...permits, enforced: z.object({ tools: held, paths: held, network: held }), notes: names }),
  children: z.array(uuid), pinned: z.boolean(), note: z.string().nullable(), lastText: z.string().nullable(),
})).meta({ id: 'ProcessView', description: 'A process as it is now.' })

/** What a list with `fields` gives. */
const someOfProcess = process.partial().extend({ usage: usage.partial().exactOptional() }).meta({ id: 'ProcessRow', description: 'A process, or the fields of it that were asked for.' })

const step = of<StepView>()(z.object({
  step: count, startedAt: time, finishedAt: time.nullable(), model: z.string(), attempts: count, text: z.string().nullable(),
  tools: z.array(z.object({
    callId: z.string(), name: z.string(), input: z.unknown(), outcome: z.string().nullable(), result: z.string().nullable(), durationMs: ms.nullable(),
  })),
  ...tokens, costUsd: usd.nullable(), notes: z.array(z.string()).describe('what happened to the context after it'),
})).meta({ id: 'StepView', description: 'One model call with the tool calls that it asked for.' })

const line = of<LogLine>()(z.object({ at: time, stream: z.enum(['stdout', 'stderr', 'assistant', 'user', 'tool', 'system']), text: z.string() })).meta({ id: 'LogLine' })

const agent = of<AgentView>()(z.object({
  name: z.string(), description: z.string(), driver, command: z.array(z.string()).nullable(), model: z.string().nullable(),
  usesModel: z.string().nullable().describe('the model that it would have here'), needs: z.array(z.string()).describe('the names of the keys that this model needs'),
  resumes: z.enum(['context', 'session', 'rerun']).describe('what an ended process of it goes on with'), forks: z.enum(['any step', 'now', 'asked', 'no']).describe('where one can be forked; `asked`: the agent says so when it is started'),
  usable: z.boolean().describe('it could run, as far as the daemon can see'), reason: z.string().nullable().describe('why not'), install: z.string().nullable().describe('what would install its program, which is not there'),
  fallback: z.array(z.string()).nullable(), effort: effort.nullable(),
  tools: z.array(z.string()).nullable(), deny: z.array(z.string()), mcp: z.array(z.string()).nullable(), capabilities: z.object(permits), limits,
  source: z.enum(['project', 'claude', 'user', 'built-in']), file: z.string().nullable(), unsupported: z.array(z.string()),
})).meta({ id: 'AgentView' })
const problem = of<AgentProblem>()(z.object({ file: z.string(), line: count, message: z.string() }))

const check = of<CheckView>()(z.object({
  name: z.string(), ok: z.boolean(), detail: z.string(), hint: z.string().exactOptional(), optional: z.literal(true).exactOptional(),
})).meta({ id: 'CheckView' })

const keyState = z.enum(['environment', 'credentials.yaml', 'keyCommand', 'missing'])
const provider = of<ProviderCheckView>()(z.object({
  name: z.string(), kind: z.enum(['anthropic', 'openai', 'google', 'openai-compatible']), baseURL: z.string(),
  key: z.object({ name: z.string(), from: keyState }).nullable(), ok: z.boolean(), detail: z.string(), models: count.nullable(),
  optional: z.literal(true).exactOptional(),
})).meta({ id: 'ProviderCheckView' })

const version = z.literal(1)

export const answers = {
  ...resumeAnswers,
  ...historyAnswers,
  ...composeAnswers,
  ...usageAnswers,
  ...mcpAnswers,
  ...heartbeatAnswers,
  ...crewAnswers(status, ask, process),
  ...crewReportAnswers(status),
  process: z.object({ version, process }),
  spawned: of<SpawnedView>()(z.object({ version, process, note: z.string().exactOptional().describe('what who asked for it should know') })),
  processes: z.object({ version, processes: z.array(someOfProcess) }),
  steps: z.object({ version, steps: z.array(step) }),
  logs: z.object({ version, lines: z.array(line), cursor: count.describe('events after it are not in the lines yet') }),
  waited: z.object({ version, process, timedOut: z.boolean() }),
  steered: of<SteerView>()(z.object({
    version, affected: count.describe('how many processes the request reached'), process,
    note: z.string().exactOptional(), childrenGoOn: count.exactOptional().describe('living children of one that is being ended'),
  })),
  signals: of<SignalsView>()(z.object({ version, uuid, pid: count, mask: z.array(signal), handlers, pending: z.array(pendingSignal), recent: z.array(sentSignal) })),
  sent: z.object({ version, id: z.string(), queueCount: count }),
  removed: of<RemovedView>()(z.object({ version, uuid, pid: count, name: z.string().nullable(), removedAt: time, worktree: worktreeEnd.exactOptional(), crew: z.object({ branch: z.string(), commits: count, unmerged: z.array(z.string()), salvaged: z.array(z.string()) }).exactOptional().describe('what git keeps of a crew') })),
  agents: of<AgentsView>()(z.object({ version, agents: z.array(agent), errors: z.array(problem), keys: z.record(z.string(), keyState) })),
  daemon: of<DaemonView>()(z.object({
    version, pid: count, reeve: z.string(), home: z.string(), socket: z.string(), startedAt: time, uptimeMs: ms, containment,
    processes: z.object({ live: count, suspended: count, max: count }), cursor: count,
    stopping: z.object({ leftMs: ms, waitsFor: z.array(count).describe('PIDs') }).exactOptional().describe('it drains before it ends'),
  })),
  checks: z.object({ version, checks: z.array(check) }),
  providers: z.object({ version, providers: z.array(provider) }),
  stopping: z.object({ version, stopping: z.literal(true) }),
  document: z.looseObject({ openapi: z.string() }),
}

export type Answers = typeof answers

/** One event of a stream. */
export const eventAnswer = (z.looseObject({
  version, seq: count.describe('the cursor; 0 for what is not kept'), uuid: z.string(), pid: count, at: time, type: z.string(),
}) satisfies z.ZodType<EventView>).meta({ id: 'Event', description: 'The envelope of every event. Other fields depend on `type` and `fact`: docs/api.md has them.' })

const codes = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]

export const errorAnswer = of<ErrorBody>()(z.object({
  version, error: z.object({ code: z.enum(codes), message: z.string(), hint: z.string(), details: z.record(z.string(), z.unknown()).exactOptional() }),
})).meta({ id: 'Error', description: 'The codes are one closed set: docs/errors.md has each with its meaning.' })
