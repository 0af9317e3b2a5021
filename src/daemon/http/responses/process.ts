// Schemas of processes: their state, usage, limits and permissions, for src/api/views/process.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../../config/limit-rules.ts'
import { DISPOSITIONS } from '../../../kernel/model/signals.ts'
import {
  ACTIVITIES,
  HANDLERS,
  BOUND_NAMES,
  HOLD_REASONS,
  LIMIT_ACTIONS,
  LIMIT_NAMES,
  ON_COMPLETE,
  OUTPUT_FORMATS,
  RESTART_TYPES,
  SIGNALS,
  SIGNAL_SCOPES,
  STRATEGIES,
  PROCESS_STATES,
  METERINGS,
  CALL_DECISIONS,
  PERMISSION_POLICIES,
} from '../../../kernel/model/words.ts'
import {
  doing,
  why,
  containment,
  costFields,
  count,
  driver,
  effort,
  ms,
  status,
  text,
  texts,
  time,
  tokenFields,
  unbegunField,
  usd,
  uuid,
  version,
} from './fields.ts'
import { ENFORCEMENT_LEVELS } from '../../../kernel/state/permissions.ts'
import { ASK_KINDS, ASK_OPTION_KINDS, ASK_SOURCES, ASK_TOOL_KINDS } from '../../../kernel/model/asks.ts'

const signal = z.enum(SIGNALS)

export const hold = z
  .object({
    reason: z.enum(HOLD_REASONS),
    root: uuid.exactOptional().describe('for the reason `subtree`: the process whose subtree was paused'),
    by: text,
    at: time,
    until: time.exactOptional().describe('when the cause of the hold ends, if known'),
    wake: z.literal(true).exactOptional().describe('the hold is released automatically at `until`'),
    limit: z.enum(BOUND_NAMES).exactOptional().describe('for the reason `budget`: the limit or the budget of the home that is used up'),
    scope: uuid.exactOptional().describe('for the reason `budget`: the process that the limit belongs to; absent: the home'),
  })
  .meta({ id: 'HoldView', description: 'Why a process is paused.' })

const sentSignal = z
  .object({
    signal,
    by: text,
    via: text.nullable().describe('the name of the sending client'),
    root: uuid.nullable().describe('the process whose subtree was signalled; null: the signal was sent only to this process'),
    disposition: z.enum(DISPOSITIONS),
    at: time,
    escalatedMs: ms.nullable().describe('the time after which SIGKILL followed; null: no SIGKILL followed'),
  })
  .meta({ id: 'SentSignalView', description: 'A signal that was sent to a process.' })

const pendingSignal = z
  .object({
    signal,
    by: text,
    via: text.nullable(),
    root: uuid.nullable(),
    dueInMs: ms.nullable().describe('the time until the signal is delivered although it is blocked; null: it waits until it is unblocked'),
  })
  .describe('A signal that waits because it is blocked.')

const handlers = z.partialRecord(signal, z.enum(HANDLERS))
const recent = z.array(sentSignal).describe('the latest signals that were sent to the process')

const signals = z
  .object({ version, uuid, pid: count, mask: z.array(signal), handlers, pending: z.array(pendingSignal), recent })
  .describe('The signal state of a process.')

const askTool = z
  .object({
    name: text,
    kind: z.enum(ASK_TOOL_KINDS),
    input: z.unknown().describe('JSON; of a long input only the beginning'),
    cut: z.boolean().describe('true: a part of `input` is left out'),
    locations: texts.describe('the paths that the call works on'),
  })
  .meta({ id: 'AskToolView', description: 'The tool call that a question is about.' })
const askDiff = z
  .object({
    path: text,
    old: text.nullable().describe('null: the file is new'),
    new: text,
    oldKnown: z.boolean().describe('false: the file exists, but its old text could not be read'),
    equalBefore: count.describe('equal lines before the texts that are left out'),
    equalAfter: count.describe('equal lines after the texts that are left out'),
    cut: count.describe('characters that are left out at the ends of the texts'),
  })
  .meta({ id: 'AskDiffView', description: 'A change of a file: the old and the new text of the whole file, or of the changed part.' })

export const ask = z
  .object({
    id: text,
    kind: z.enum(ASK_KINDS).describe('`plan`: an approval sets the permissions of the process'),
    text,
    at: time,
    options: z.array(
      z.object({
        id: text,
        name: text,
        kind: z.enum(ASK_OPTION_KINDS).describe('`choice`: the option means neither yes nor no'),
      }),
    ),
    callId: text.nullable().describe('the tool call that it is about; null: none'),
    step: count.nullable().describe('the step that asks; null: not known'),
    message: text.nullable().describe('the last text of the agent before the question, truncated; null: none'),
    source: z
      .enum(ASK_SOURCES)
      .nullable()
      .describe('`recorded`: reeve runs exactly this call; `said`: an external agent describes it; null: no call is known'),
    tool: askTool.nullable().describe('the call; null: not about a call, or not known'),
    diff: z.array(askDiff).describe('the changes of files that the call would make'),
    moreFiles: count.describe('the number of further changed files that `diff` leaves out'),
    hash: text.describe('of the text, options, call and diff; an answer that gives it as `seen` counts only for a question with this hash'),
  })
  .meta({ id: 'AskView', description: 'A question of a process for the user. Without options the answer is a text.' })

const liveness = z
  .object({
    word: z.enum(['silent', 'stalled', 'waiting', 'stopped']),
    since: time,
    evidence: text.describe('what the process was doing at that time'),
  })
  .meta({ id: 'LivenessView', description: 'A liveness problem of a running process.' })

const worktree = z
  .object({
    dir: text,
    branch: text,
    base: text.describe('the commit from which the worktree was created'),
    recordedStep: count.nullable().describe('the newest step with recorded files'),
    changes: z
      .object({
        commits: count.describe('the number of commits after `base`'),
        count: count.describe('the number of uncommitted files'),
        files: texts.describe('the first 100 uncommitted files'),
      })
      .nullable()
      .exactOptional()
      .describe('only present if requested; null while the process runs, or if git fails'),
  })
  .describe('The git worktree of a process. It is created when the process starts.')

const usage = z
  .object({
    ...tokenFields,
    steps: count,
    turns: count,
    messagesSent: count,
    toolCalls: count,
    contextTokens: count,
    ...costFields,
    costUsd: usd.nullable().describe('null if no price is known; a lower bound if `unpriced` is true'),
    contextWindow: count.nullable(),
    turnCostUsd: usd.nullable(),
    cpuTimeMs: ms.nullable().describe('the CPU time of its programs; null: it had none, or nothing was measured'),
    rssBytes: count.nullable().describe('the memory of its programs; null while none runs'),
    peakRssBytes: count.nullable(),
    outputBytes: count.nullable(),
    updatedAt: time,
  })
  .meta({ id: 'UsageView', description: 'The usage of a process so far, over all its incarnations.' })

const usageField = z
  .enum(['usage.costUsd', 'usage.inputTokens', 'usage.unpriced'])
  .describe('The parts of `usage` that a list can select one by one.')

const subtreeUsage = z
  .object({
    steps: count,
    turns: count,
    messagesSent: count,
    toolCalls: count,
    ...tokenFields,
    costUsd: usd.nullable(),
    cpuTimeMs: ms,
    outputBytes: count,
    rssBytes: count,
    unpriced: z.boolean(),
    estimated: z.boolean(),
    openCalls: count,
    reservedTokens: count,
    reservedUsd: usd,
  })
  .meta({
    id: 'SubtreeUsageView',
    description: 'The usage of a process and all its descendants. `reservedTokens` and `reservedUsd`: the estimated cost of open calls.',
  })

const limitUse = z
  .object({
    limit: z.enum(LIMIT_NAMES),
    used: z.number().min(0).describe('the usage so far, in the unit of the limit'),
    of: z.number().min(0).describe('the value of the limit'),
    action: z.enum([...LIMIT_ACTIONS, 'refuse']).describe('`refuse`: requests beyond the limit are refused'),
    scope: uuid.nullable().describe('the ancestor that the limit belongs to; null: the process itself'),
    source: z
      .enum(['process', 'config'])
      .describe("where the limit comes from. `process`: a flag, an agent file or a resume; `config`: `limits` of the user's config.yaml"),
  })
  .meta({ id: 'LimitUseView', description: 'How much of a limit is used.' })

const enforcementLevel = z
  .enum(ENFORCEMENT_LEVELS)
  .describe(
    'Whether a restriction is enforced. `yes`: always; `asked`: only when the agent asks for permission; `part`: only for some of its tools; `no`: never.',
  )
const capabilityFields = {
  paths: z.object({ read: texts.nullable(), write: texts.nullable() }),
  network: z.enum(['on', 'off']),
  signals: z.enum(SIGNAL_SCOPES),
  spawns: texts.nullable(),
}
export const declaredCapabilities = z.object(capabilityFields).describe('The permissions except those for tools; null: unrestricted.')

const policy = z.enum(PERMISSION_POLICIES)
const capabilities = z
  .object({
    tools: texts.nullable(),
    deny: texts,
    mcp: texts.describe('the names of the MCP servers that the process may use'),
    calls: z
      .object({
        default: policy,
        allow: texts,
        ask: texts,
        deny: texts,
        tools: z.record(z.string(), z.enum(CALL_DECISIONS)).describe('external agents: the policy for a kind, title or name of a tool'),
      })
      .nullable()
      .describe(
        "which calls of tools are allowed, denied or need the user's answer; null: a native agent without permissions, or a command",
      ),
    ...capabilityFields,
    enforced: z.object({ tools: enforcementLevel, paths: enforcementLevel, network: enforcementLevel }),
    notes: texts.describe('restrictions that are not enforced, as text'),
  })
  .describe('The permissions of a process. Null: not restricted.')

const restartType = z.enum(RESTART_TYPES)
const onComplete = z.enum(ON_COMPLETE)
const backoff = z.object({ initialMs: ms, maxMs: ms, factor: z.number() })
const restart = z.object({
  type: restartType,
  onComplete: onComplete.exactOptional().describe('default: `fresh` for `permanent`, else `stop`'),
  maxRestarts: count.exactOptional(),
  windowMs: ms.exactOptional(),
  backoff: backoff.exactOptional(),
})

const supervisedChild = z
  .object({
    id: text,
    uuid,
    restart: restartType,
    onComplete: onComplete.nullable(),
    restarts: count.describe('the number of restarts within the window of its supervisor'),
    restartedAt: z.array(time).describe('the times of these restarts, the oldest first'),
    nextStart: time.nullable().describe('the time of the next restart; null: none is pending'),
    status: status.nullable().describe('null: the child has ended'),
    pid: count.nullable().describe('null: the child has ended'),
  })
  .describe('A child of a supervisor.')
const supervisor = z
  .object({ strategy: z.enum(STRATEGIES), maxRestarts: count, windowMs: ms, backoff, children: z.array(supervisedChild) })
  .meta({ id: 'SupervisorView', description: 'A supervisor and its children, in start order.' })

export const process = z
  .object({
    uuid,
    pid: count,
    ppid: count.describe('0 is the kernel'),
    parentUuid: uuid.nullable().describe('the process that spawned this one'),
    name: text.nullable(),
    agent: text,
    driver,
    format: z
      .enum(OUTPUT_FORMATS)
      .nullable()
      .describe('the format of the JSON lines that its program writes; null: reeve does not understand the output'),
    state: z.enum(PROCESS_STATES),
    status,
    activity: z.enum(ACTIVITIES).nullable(),
    holds: z.array(hold),
    asks: z.array(ask).describe('its unanswered questions'),
    resumeAt: time.nullable().describe('the time at which its holds end, if known'),
    liveness: liveness.nullable().describe('its liveness problem; null: it has none, or it is not running'),
    intent: text,
    about: text.describe('the first line of the intent, truncated'),
    cwd: text,
    instructions: z
      .array(z.object({ name: text, path: text, sha256: text, cut: z.boolean().describe('the end of the file is left out') }))
      .describe('the files with instructions of its repository that a native agent has, the nearest first'),
    skills: z
      .array(z.object({ name: text, description: text, path: text, sha256: text.describe('of its `SKILL.md`, when the process began') }))
      .describe('the skills that a native agent may load'),
    directory: text.describe('where it was started; for a worktree, the same place in the checkout that it was made from'),
    worktree: worktree.nullable().describe('null without `worktree` in the spawn request'),
    host: text,
    containment: containment.nullable(),
    gateway: z
      .object({ on: z.boolean(), why: text.nullable() })
      .nullable()
      .describe('whether its model calls go through the gateway, and if not, why; null: its driver does not use the gateway'),
    createdAt: time,
    startedAt: time.nullable(),
    pausedAt: time.nullable(),
    exitedAt: time.nullable(),
    elapsedMs: ms.describe('the active time, which excludes the time in which it was suspended'),
    exit: z.object({ code: z.int(), reason: text, signal: signal.exactOptional(), error: text.exactOptional() }).nullable(),
    stopping: z
      .object({
        signal,
        by: text,
        at: time,
        graceMs: ms,
        wrapsUp: z.boolean().describe('true: its agent may finish its work within `graceMs`'),
      })
      .nullable(),
    signals: z.object({ mask: z.array(signal), pending: z.array(signal), handlers, recent }),
    step: count,
    turn: count,
    interactive: z.boolean().describe('true: it waits for messages after a turn, instead of ending'),
    input: z.boolean().describe('true: a command that began with a text on stdin, which is not recorded; so it cannot run again'),
    originUuid: uuid.nullable(),
    originStep: count.nullable(),
    resumedFromStep: count.nullable(),
    checkpointStep: count.nullable().describe('the step of the newest checkpoint; null: no checkpoint'),
    model: text.nullable(),
    fallback: texts.describe('models that are tried, in order, if the first one cannot answer'),
    effort: effort.nullable(),
    sessionId: text.nullable(),
    role: text.nullable(),
    phase: text.nullable(),
    taskId: text.nullable(),
    queueCount: count,
    retiredAt: time.nullable(),
    updatedAt: time,
    lastActivityAt: time,
    usage,
    subtreeUsage,
    limits: limitsRule,
    limitUse: z.array(limitUse).describe('the usage of the limits of this process, and of its ancestors'),
    metering: z
      .enum(METERINGS)
      .describe('when model calls are counted: before each call (`call`), when the agent reports them (`report`), or never (`none`)'),
    memoryLimit: z
      .enum(['held', 'measured'])
      .nullable()
      .describe(
        'how its memory limit is enforced: `held` by the operating system, or `measured` by reeve every second; null: it has no limit, or has not started',
      ),
    restart: restart.nullable().describe('the restart policy; null: it is not restarted'),
    pendingRestart: z
      .object({
        attempt: count.describe('the number of the restart'),
        cause: text.describe('how the last incarnation ended'),
        at: time.nullable().describe('the time of the restart; null: the supervisor decides'),
      })
      .nullable()
      .describe('the pending restart; null: none'),
    childId: text.nullable().describe('its id among the children of its supervisor'),
    supervisor: supervisor.nullable().describe('null for processes that are not supervisors'),
    capabilities,
    children: z.array(uuid),
    pinned: z.boolean(),
    removeAtEnd: z.boolean().describe('it is removed with its history when it has ended'),
    labels: z.record(text, text).describe('its labels, by key'),
    since: time.describe('when the status began; if that was before the start of the daemon, the nearest known time'),
    why: why.nullable().describe('null: it has ended'),
    doing: doing.nullable().describe('null: no call is open'),
    note: text.nullable().describe('the text of the NOTE column'),
    lastText: text.nullable().describe('the last assistant text, truncated to 500 characters'),
  })
  .meta({ id: 'ProcessView', description: 'A process in its current state.' })

/** A row of a list, which may have only the requested fields. */
const processRow = process
  .partial()
  .extend({ usage: usage.partial().exactOptional() })
  .meta({ id: 'ProcessRow', description: 'A process, or the requested fields of it.' })

export const step = z
  .object({
    step: count,
    startedAt: time,
    finishedAt: time.nullable(),
    model: text,
    attempts: count,
    text: text.nullable(),
    tools: z.array(
      z.object({
        callId: text,
        name: text,
        input: z.unknown(),
        outcome: text.nullable(),
        exitCode: z.number().nullable(),
        result: text.nullable(),
        durationMs: ms.nullable(),
        unbegun: unbegunField,
      }),
    ),
    ...tokenFields,
    costUsd: usd.nullable(),
    notes: texts.describe('what changed the context after the step, as text'),
  })
  .meta({ id: 'StepView', description: 'A step: one model call, with the tool calls that it requested.' })

const line = z
  .object({
    at: time,
    stream: z.enum(['stdout', 'stderr', 'assistant', 'user', 'tool', 'system']),
    text,
    call: z
      .object({
        id: text,
        name: text,
        input: text.describe('its main field on one line, truncated'),
        state: z.enum(['open', 'not begun']).exactOptional().describe('absent: it has ended, or that is unknown'),
      })
      .exactOptional()
      .describe('the tool call that the line is about'),
    failed: z.literal(true).exactOptional().describe('the line is the beginning of the result of a failed tool call'),
    uuid: text.exactOptional().describe('the process of the line, in the log of a tree'),
    pid: count.exactOptional(),
    name: text.nullable().exactOptional(),
  })
  .meta({ id: 'LogLine', description: 'A line of `reeve logs`.' })

const steered = z
  .object({
    version,
    affected: count.describe('the number of processes that the request concerned'),
    process,
    note: text.exactOptional(),
    childrenGoOn: count.exactOptional().describe('the number of living children of an ended process'),
    missing: texts.exactOptional().describe('the names of the keys that the process waits for'),
    undo: z
      .object({ id: text, until: time.nullable().describe('null: until the process resumes') })
      .exactOptional()
      .describe('the question whose answer can be taken back, and until when; absent: the answer counts at once'),
  })
  .describe('The response to a signal, a pause, a resume or an answer.')

const spawned = z.object({
  version,
  process,
  note: text.exactOptional().describe('a remark for the user, such as that an agent file hides another one'),
})

const worktreeEnd = z
  .object({
    dir: text,
    kept: text.exactOptional().describe('why the worktree still exists; absent: it was removed'),
    salvaged: text.exactOptional().describe('the ref with its uncommitted files'),
    branch: text.exactOptional().describe('a branch that stays because it has commits of its own'),
  })
  .describe('What happened to the worktree of a removed process.')
const crewKept = z
  .object({
    branch: text,
    commits: count.describe('the number of commits of the branch'),
    unmerged: texts.describe('branches that are not merged into it'),
    salvaged: texts.describe('refs with uncommitted files'),
  })
  .describe('What git still has of a removed crew: its branch, other branches, and refs.')
const removed = z
  .object({
    version,
    uuid,
    pid: count,
    name: text.nullable(),
    removedAt: time,
    worktree: worktreeEnd.exactOptional(),
    crew: crewKept.exactOptional(),
  })
  .describe('A process that was removed.')

const candidate = z
  .object({ uuid: text, pid: count, name: text.nullable(), intent: text, status, createdAt: time, exitedAt: time.nullable() })
  .describe('A candidate for an ambiguous reference, in the details of `AMBIGUOUS`.')

export const processAnswers = {
  process: z.object({ version, process }),
  spawned,
  processes: z.object({ version, processes: z.array(processRow) }),
  logs: z.object({
    version,
    lines: z.array(line),
    cursor: count.describe('the cursor of the last event that the lines include'),
    before: text.nullable().describe('the value of `before` for the lines before these; null: there are none'),
  }),
  waited: z.object({ version, process, timedOut: z.boolean() }),
  steered,
  signals,
  sent: z.object({
    version,
    id: text,
    queueCount: count,
    note: text.exactOptional().describe('a remark for the user, if the message is delivered later than requested'),
  }),
  removed,
}

export const PROCESS_TYPES = {
  CandidateView: candidate,
  HoldView: hold,
  SentSignalView: sentSignal,
  PendingSignalView: pendingSignal,
  SignalsView: signals,
  AskView: ask,
  AskToolView: askTool,
  AskDiffView: askDiff,
  LivenessView: liveness,
  WorktreeView: worktree,
  UsageView: usage,
  UsageField: usageField,
  SubtreeUsageView: subtreeUsage,
  LimitUseView: limitUse,
  EnforcementLevelView: enforcementLevel,
  PermitsView: declaredCapabilities,
  CapabilitiesView: capabilities,
  SupervisedView: supervisedChild,
  SupervisorView: supervisor,
  ProcessView: process,
  StepView: step,
  LogLine: line,
  SteerView: steered,
  SpawnedView: spawned,
  WorktreeEndView: worktreeEnd,
  CrewKeptView: crewKept,
  RemovedView: removed,
}
