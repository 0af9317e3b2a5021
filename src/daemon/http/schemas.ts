// Schemas of most API requests: one zod schema for each body and each query. crew/schemas.ts and some files of routes have the others.
// Unknown fields are refused, and every text and list has a limit. The rest of the daemon trusts validated values.
// Test: test/e2e/daemon/api.test.ts.
import { z } from 'zod'
import { effortRule, fallbackRule } from '../../config/config.ts'
import { gatewayMode } from '../../config/keys/gateway.ts'
import { labelChangeRule, labelsRule } from '../../config/label-rules.ts'
import { limitsRule, raiseRule } from '../../config/limit-rules.ts'
import { childIdRule, intensityRules, restartRule, strategyRule } from '../../config/restart-rules.ts'
import { isField } from '../views/process-view.ts'
import type { LogPosition } from '../views/logs.ts'
import {
  CONTAINMENT_KINDS,
  HANDLERS,
  PERMISSION_POLICIES,
  SIGNALS,
  STAKES_ACTIONS,
  USAGE_GROUPS,
  type Handler,
  type Signal,
  WAIT_TARGETS,
  type WaitTarget,
} from '../../kernel/model/words.ts'

/** The largest number of characters of an intent or a message. */
const MAX_TEXT_CHARS = 1_000_000
/** The maximum length of the input of a command in UTF-8. */
const MAX_INPUT_BYTES = 1_000_000
/** The largest number of entries in a list of permissions. */
const MAX_LIST_ENTRIES = 1_000
const DAY_MS = 86_400_000

const ms = z
  .number()
  .min(0)
  .max(366 * DAY_MS)
/** Text for stdin of a command. */
const inputText = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_INPUT_BYTES, `has more than ${MAX_INPUT_BYTES} bytes`)
  .refine((text) => text.isWellFormed(), 'has an incomplete character')
/** Text for the operating system, which cannot contain NUL. */
const textWithoutNul = z.string().regex(/^[^\0]*$/, 'must not contain NUL')
export const dir = textWithoutNul.min(1).max(4_096).startsWith('/', 'must be an absolute path')
export const env = z.record(textWithoutNul.max(1_000), textWithoutNul.max(512 * 1024))
const nameList = z.array(z.string().max(1_000)).max(MAX_LIST_ENTRIES)
export const flag = z.enum(['0', '1']).transform((value) => value === '1')
const count = (most: number) => z.coerce.number().int().min(0).max(most)

/** The end of the year 9999: later times have no date of ISO 8601 with four digits. */
const MAX_TIME_MS = 253_402_300_799_999
/** `Date.parse` alone would also accept text such as `a-10000`. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/
/** A time in a query: ms since the epoch, or ISO 8601. An earlier time counts as the epoch. */
const instant = z
  .string()
  .max(40)
  .transform((text, context) => {
    const at = /^\d{1,15}$/.test(text) ? Number(text) : ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
    if (Number.isNaN(at) || at > MAX_TIME_MS) context.addIssue({ code: 'custom', message: `"${text}" is not a time` })
    return Math.max(0, at)
  })

const fields = z
  .string()
  .max(1_000)
  .transform((names, context) => {
    const all = names.split(',')
    const unknown = all.filter((name) => !isField(name))
    for (const name of unknown) context.addIssue({ code: 'custom', message: `a process has no field "${name}"` })
    return all.filter(isField)
  })

/** The fields that describe a process, in a spawn request or as a child of a supervisor. */
const processFields = {
  intent: z.string().max(MAX_TEXT_CHARS).exactOptional(),
  argv: z.array(textWithoutNul.max(MAX_TEXT_CHARS)).min(1).max(10_000).exactOptional(),
  agent: z.string().min(1).max(200).exactOptional().describe('the name of an agent; default `default`, the built-in one'),
  model: z.string().min(1).max(1_000).exactOptional(),
  name: z.string().min(1).max(200).exactOptional(),
  worktree: z
    .boolean()
    .exactOptional()
    .describe('true: it works in a git worktree of its own, on a branch of its own, and its files are recorded'),
  interactive: z.boolean().exactOptional(),
  allow: nameList
    .exactOptional()
    .describe(
      'the permissions, which replace those of the agent file: names of tools, `read:PATH`, `write:PATH`, `network`, `spawn`, `spawn:AGENT`, `signal`. Rules such as `bash(npm test:*)` are added to those of the file',
    ),
  deny: nameList.exactOptional().describe('forbidden: names of tools, `network`, `spawn`, `signal`, and rules such as `bash(git push:*)`'),
  containment: z.enum(['auto', ...CONTAINMENT_KINDS]).exactOptional(),
  wake: z
    .boolean()
    .exactOptional()
    .describe('true: it continues automatically when a rate limit is over; default: as in the agent file, else it waits for the user'),
  instructions: z
    .boolean()
    .exactOptional()
    .describe('native agents: false: it does not get the `AGENTS.md` of its repository; default: as in the agent file, else true'),
  skills: z
    .boolean()
    .exactOptional()
    .describe('native agents: false: it gets no skills (`SKILL.md`); default: as in the agent file, else true'),
  reeve: z
    .boolean()
    .exactOptional()
    .describe("true: it gets reeve's own tools, to start and control other processes; default: as in the agent file"),
  labels: labelsRule.exactOptional().describe('labels to find it by, in addition to those of its agent file; children do not inherit them'),
  limits: limitsRule.exactOptional(),
  effort: effortRule.exactOptional().describe('the reasoning effort of the model'),
  fallback: fallbackRule.exactOptional().describe('models that are tried, in order, if the first one cannot answer'),
  mcp: nameList.exactOptional().describe('the MCP servers that it may use, by name; default: all configured ones, []: none'),
  permissions: z
    .enum(PERMISSION_POLICIES)
    .exactOptional()
    .describe(
      'for calls of tools without a rule; default: as in the agent file, else `allow` for native agents, and `ask` for external ones',
    ),
  gateway: gatewayMode
    .exactOptional()
    .describe('external agents and commands: whether model calls go through the gateway; default: as configured'),
  restart: restartRule.exactOptional().describe('when it is restarted: `no`, `on-failure`, `always`, or a policy with its intensity'),
}
const childId = childIdRule.describe('its id among the children of its supervisor')

const childBody = z.strictObject({ ...processFields, childId, cwd: dir.exactOptional() }).describe('A child of a supervisor.')
const supervisorBody = z
  .strictObject({ strategy: strategyRule.exactOptional(), ...intensityRules, children: z.array(childBody).max(1_000).exactOptional() })
  .describe('A supervisor with its children, in start order.')

export const spawnBody = z
  .strictObject({
    ...processFields,
    cwd: dir,
    input: inputText
      .exactOptional()
      .describe('a text for stdin of the command in `argv`: at most 1 MB in UTF-8, and never recorded. A restart is refused'),
    parent: z.string().min(1).max(200).exactOptional(),
    removeAtEnd: z
      .boolean()
      .exactOptional()
      .describe(
        'true: it is removed with its history 10 s after its end, or at once by a `DELETE`. It stays if its worktree has changes, if it is pinned, or if it was interrupted',
      ),
    childId: childId.exactOptional().describe('its id among the children of its supervisor, which is its `parent`'),
    supervisor: z
      .union([z.string().min(1).max(200), supervisorBody])
      .exactOptional()
      .describe('makes it a supervisor: a name in reeve.yaml, or the supervisor itself with its children'),
    env: env.exactOptional().describe('the environment of the client; secret values are kept in memory only, all others are recorded'),
  })
  .describe('POST /v1/processes. `cwd` and `env` are those of the client.')

export const mcpClientBody = z
  .strictObject({ cwd: dir, env: env.exactOptional() })
  .describe('The directory and environment of an MCP client of the user.')

/** The name of a signal, or its number: reeve numbers the signals from 1, in the order of `SIGNALS`. */
const signal = z.union([z.string().max(20), z.int().min(1).max(SIGNALS.length)])

export const signalBody = z.strictObject({
  signal,
  subtree: z.boolean().exactOptional(),
  graceMs: ms.exactOptional(),
  leastGraceMs: ms
    .exactOptional()
    .describe('the shortest grace period if `graceMs` is absent; an agent that is known to need longer gets more'),
})

const signals = z.array(signal).max(SIGNALS.length)
const signalName = z.enum(SIGNALS)
export const signalsBody = z
  .strictObject({
    handlers: (z.partialRecord(signalName, z.enum(HANDLERS)) as z.ZodType<{ [S in Signal]?: Handler }>).exactOptional(),
    set: signals.exactOptional(),
    block: signals.exactOptional(),
    unblock: signals.exactOptional(),
  })
  .describe(
    'POST /v1/processes/:ref/signals. The handlers are set first. Then `set` replaces the mask, or `block` and `unblock` change it. A signal is a name, or its number in reeve.',
  )

export const pauseBody = z.strictObject({ subtree: z.boolean().exactOptional(), now: z.boolean().exactOptional() })

export const resumeBody = z.strictObject({
  subtree: z.boolean().exactOptional(),
  only: z.boolean().exactOptional(),
  message: z.string().min(1).max(MAX_TEXT_CHARS).exactOptional(),
  model: z.string().min(1).max(1_000).exactOptional().describe('overrides the model of an ended process'),
  effort: effortRule.exactOptional().describe('overrides the effort of an ended process'),
  limits: limitsRule.exactOptional().describe('new values of limits, also of a suspended process; other limits stay the same'),
  raise: raiseRule.exactOptional().describe('amounts that are added to its limits'),
  gateway: gatewayMode.exactOptional().describe('external agents and commands: whether model calls go through the gateway from now on'),
  allow: nameList.exactOptional().describe('additional permissions, written as in a spawn; never more than a living parent has'),
  deny: nameList.exactOptional(),
  rerun: z.boolean().exactOptional(),
  fork: z
    .boolean()
    .exactOptional()
    .describe('true: starts a new process that continues from the history of this one, which stays unchanged'),
  fromStep: z.int().min(0).max(1e9).exactOptional().describe('the step after which a fork continues: from 0 to the last complete step'),
  fromCheckpoint: z
    .boolean()
    .exactOptional()
    .describe('true: continues from the newest checkpoint, or fails if there is none; a fork begins at its step'),
  withFiles: z.boolean().exactOptional().describe('true: the fork works in a new worktree with the files of its step'),
  name: z.string().min(1).max(200).exactOptional(),
  cwd: dir.exactOptional(),
  env: env.exactOptional(),
})

export const sendBody = z.strictObject({ text: z.string().min(1).max(MAX_TEXT_CHARS), now: z.boolean().exactOptional() })
export const answerBody = z
  .strictObject({
    id: z.string().min(1).max(1_000).exactOptional().describe('the id of the question; needed only if several are open'),
    option: z.string().min(1).max(1_000).exactOptional(),
    text: z.string().min(1).max(MAX_TEXT_CHARS).exactOptional(),
    seen: z
      .string()
      .min(1)
      .max(100)
      .exactOptional()
      .describe('the `hash` of the question that the user saw; `CONFLICT` if this question is no longer open'),
    undoMs: z
      .int()
      .min(0)
      .max(60_000)
      .exactOptional()
      .describe('the agent gets the answer after so many ms, and until then it can be taken back; absent: at once'),
  })
  .describe('A question with options is answered by `option`, any other by `text`.')
export const doctorModelsBody = z
  .strictObject({
    env: env.exactOptional().describe('the environment of the client; its keys are used only for this request'),
  })
  .describe('POST /v1/doctor/models.')
export const modelsBody = z
  .strictObject({
    env: env.exactOptional().describe('the environment of the client; its keys are used only for this request'),
    provider: z.string().min(1).max(100).exactOptional().describe('only this provider'),
  })
  .describe('POST /v1/models.')
export const stopBody = z.strictObject({
  drainMs: z.int().min(0).max(DAY_MS).exactOptional(),
  restart: z.boolean().exactOptional().describe('true: another daemon starts afterwards, so the page comes back with its sessions'),
})

export const dirBody = z.strictObject({ dir }).describe('A directory of the client: an absolute path.')
export const snoozeBody = z
  .strictObject({ until: z.iso.datetime({ offset: true }).nullable().describe('a time in the future; null: the needs are shown again') })
  .describe('Until when the present needs of a process are put off.')
export const pinBody = z.strictObject({ pinned: z.boolean() }).describe('`pinned: false` removes the pin.')

export const renameBody = z
  .strictObject({ name: z.string().min(1).max(200) })
  .describe('The new name: it must be valid, and no living process may have it.')

export const labelBody = z.strictObject({ labels: labelChangeRule }).describe('New values of labels by key; null removes a label.')

/** Bodies by the names of their types in src/api/views. */
export const PROCESS_BODIES = {
  SpawnBody: spawnBody,
  SupervisorBody: supervisorBody,
  ChildBody: childBody,
  SignalBody: signalBody,
  SignalsBody: signalsBody,
  PauseBody: pauseBody,
  ResumeBody: resumeBody,
  SendBody: sendBody,
  AnswerBody: answerBody,
  RenameBody: renameBody,
  LabelBody: labelBody,
}

export const resumableQuery = z.strictObject({ after: z.string().max(100).optional(), limit: count(1_000).default(100) })
export const refParams = z.object({ ref: z.string().min(1).max(200) })
export const idParams = z.object({ id: z.string().min(1).max(200) })
export const childQuery = z.strictObject({ id: childIdRule })
export const removeQuery = z.strictObject({
  force: flag.optional(),
  unchanged: flag.optional().describe('1: only if its worktree has no changes, neither commits nor files'),
})
export const daemonQuery = z.strictObject({
  figures: flag.default(true).describe('0: without the load, memory, disk and OS processes of the machine, which are then not measured'),
})
export const listQuery = z.strictObject({ all: flag.optional(), limit: count(10_000).optional(), fields: fields.optional() })
export const processQuery = z.strictObject({ changes: flag.optional() })
export const stakesQuery = z.strictObject({
  action: z.enum(STAKES_ACTIONS).default('stop').describe('stop: SIGTERM with a grace; kill: SIGKILL'),
  subtree: flag.default(false).describe('1: also on all its living descendants'),
  files: flag.default(true).describe('0: git does not examine its worktree'),
  filesMs: count(10_000).default(300).describe('the longest time of git for that, in ms'),
})
export const stepsQuery = z
  .strictObject({
    after: count(1e9).optional(),
    before: count(1e9).optional().describe('only with `brief`: steps before this one; without `after` the last ones'),
    limit: count(5_000).optional().describe('default 100, at most 1,000; with `brief` 5,000'),
    brief: flag.default(false).describe('1: a short row for each step, as columns'),
    at: count(1e9).optional().describe('only this step, with all its details'),
  })
  .refine(
    ({ brief, before, limit = 0 }) => brief || (before === undefined && limit <= 1_000),
    '`before` and a `limit` above 1,000 need `brief`',
  )
  .refine(
    ({ at, brief, after, limit }) => at === undefined || !(brief || after !== undefined || limit !== undefined),
    '`at` is one step, and excludes the other fields',
  )
export const askParams = refParams.extend({ id: z.string().min(1).max(1_000) })
export const stepPartParams = refParams.extend({ step: count(1e9), callId: z.string().min(1).max(1_000) })
export const stepPartQuery = z.strictObject({
  part: z
    .string()
    .regex(/^(result|input|image:\d{1,3})$/)
    .default('result')
    .describe('`result`, `input` or an image, such as `image:0`'),
  offset: count(1e9).default(0),
})
/** A state of files; src/daemon/operations/diff-sides.ts parses it. */
const diffSide = z.string().min(1).max(220)
const sidesFields = {
  from: diffSide
    .optional()
    .describe(
      'the state before; default `base`, the commit from which the worktree began. Or `origin` (the files that a fork began with), `now`, or a step. `NAME@12` and `NAME@now` are states of another process',
    ),
  to: diffSide.optional().describe('the state after, written as `from`; default `now`'),
  path: z.string().min(1).max(4_096).optional().describe('only this file, or the files below this directory'),
}
export const filesQuery = z.strictObject(sidesFields)
export const diffQuery = z
  .strictObject({
    ...sidesFields,
    step: count(1e9).optional().describe('the same as `to` with a step'),
    context: count(1_000).optional().describe('the number of unchanged lines around a change; default 3'),
    format: z
      .enum(['patch', 'view', 'stat'])
      .default('patch')
      .describe(
        '`patch`: with the unified diff for git. `view`: cut for a reader, to 400 kB of a file and 2 MB in all. `stat`: only the list of files',
      ),
  })
  .refine(({ step, to }) => step === undefined || to === undefined, '`step` and `to` exclude each other')
export const mergeQuery = z.strictObject({
  onto: z
    .string()
    .regex(/^[0-9a-f]{40,64}$/)
    .describe('the commit into which the work would be merged'),
  repository: dir.describe('the git directory of the repository of that commit'),
  top: dir.describe('the checkout of that commit; its git attributes apply'),
})
const identityPart = z.string().regex(/^[^\0-\x1f<>]{1,200}$/)
export const commitBody = z
  .strictObject({
    author: z.strictObject({ name: identityPart, email: identityPart }),
    unfinished: z.boolean().exactOptional().describe('true: also while the process has not ended'),
  })
  .describe('POST /v1/processes/:ref/commit.')
export const needsQuery = z.strictObject({
  under: z.string().min(1).max(200).optional().describe('only the needs of this process and of all below it'),
  all: flag.optional().describe('1: also the needs that are put off'),
  limit: count(1_000).default(200),
})
const usageGroup = z.enum(USAGE_GROUPS)
export const usageQuery = z.strictObject({
  by: z
    .string()
    .max(40)
    .default('agent')
    .transform((names) => names.split(','))
    .pipe(z.union([z.tuple([usageGroup]), z.tuple([usageGroup, usageGroup])]))
    .describe('one group, or two with a comma between: a row for each pair'),
  label: z.string().min(1).max(100).optional().describe('the key of the label of the group `label`, which needs it'),
  labelled: z.string().min(1).max(400).optional().describe('only processes with this label: KEY=VALUE, or KEY with any value'),
  every: z.enum(['hour', 'day']).optional().describe('a row for each hour or day, and for the group of `by`; only with one group'),
  since: instant.optional().describe('only usage since this time; whole hours'),
  until: instant.optional().describe('only usage before this time; whole hours'),
  under: z.string().min(1).max(200).optional().describe('only this process and all below it'),
})
export const searchQuery = z.strictObject({
  text: z.string().min(1).max(500),
  in: z
    .string()
    .max(8_000)
    .transform((refs) => refs.split(','))
    .pipe(z.array(z.string().min(1).max(200)).max(200))
    .optional()
    .describe('references of processes, separated by commas; absent: all'),
  since: instant.optional(),
  limit: count(1_000).default(100),
  ignoreCase: flag.default(false),
})
/** A position in a log, as its text. */
const logPosition = z
  .string()
  .regex(/^\d{1,15}(\.\d{1,9})?$/)
  .transform((text): LogPosition => {
    const [cursor, lines = Infinity] = text.split('.').map(Number)
    return { cursor: cursor ?? 0, lines }
  })
/** Returns the text of a position in a log, as `before` of a request takes it. */
export function logPositionText({ cursor, lines }: LogPosition): string {
  return Number.isFinite(lines) ? `${cursor}.${lines}` : String(cursor)
}
export const logsQuery = z.strictObject({
  tail: count(10_000).default(100),
  since: instant.optional(),
  before: logPosition.optional().describe('`before` of another answer: the lines before those'),
  match: z.string().min(1).max(500).optional().describe('only lines with this text'),
  ignoreCase: flag.default(false).describe('1: `match` ignores case'),
  subtree: flag.default(false).describe('1: also all processes below it, living and ended, as one log'),
})
const refText = z.string().min(1).max(200)
export const compareQuery = z.strictObject({ a: refText, b: refText })
export const contextQuery = z.strictObject({ text: flag.default(false).describe('1: with the beginning of each text') })
export const spansQuery = z.strictObject({
  subtree: flag.default(false).describe('1: also all processes below it, living and ended'),
  since: instant.optional(),
  until: instant.optional(),
  max: count(20_000).default(2_000).describe('the greatest number of spans of one process: its last ones'),
})
export const eventsQuery = z.strictObject({
  after: count(Number.MAX_SAFE_INTEGER).optional(),
  since: instant.optional(),
  follow: flag.optional(),
  live: flag.optional(),
  tail: count(10_000).optional(),
  types: z
    .string()
    .max(2_000)
    .transform((names) => names.split(','))
    .optional()
    .describe('only events of these types or facts, separated by commas'),
  brief: flag.default(false).describe('1: texts are cut at 2,048 characters, and end with the number of missing ones'),
})
/** States, separated by commas; the request is answered when one of them is reached. */
const waitFor = z
  .string()
  .max(100)
  .regex(new RegExp(`^(${WAIT_TARGETS.join('|')})(,(${WAIT_TARGETS.join('|')}))*$`))
  .transform((states) => states.split(',') as WaitTarget[])
export const waitQuery = z.strictObject({
  for: waitFor.default(['exited']),
  timeoutMs: count(60_000).default(60_000),
})
export const rowsQuery = z.strictObject({
  scope: z
    .string()
    .regex(/^(live|recent|all|subtree:.{1,200})$/, 'is one of live, recent, all and subtree:REF')
    .default('recent')
    .describe(
      '`live`: the processes that have not ended; `recent`: also what ended in the last 24 hours, and the ancestors of all these; `all`: the 10,000 newest; `subtree:REF`: the recent ones at and below a process',
    ),
  shape: z.enum(['columns', 'objects']).default('columns').describe('columns: a list of values for each field; objects: a list of rows'),
  follow: flag.optional().describe('1: a stream of server-sent events'),
  after: z.string().max(100).optional().describe('with `follow`: the cursor after which the stream begins; absent: with all rows'),
})
export const agentsQuery = z.strictObject({
  cwd: dir,
  path: z.string().max(8_000).optional().describe('the PATH of the client; default: the PATH of the daemon'),
  model: z.string().min(1).max(1_000).optional(),
})
export const doctorQuery = z.strictObject({ verify: flag.optional() })
