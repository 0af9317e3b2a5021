// What the API accepts: one zod schema per body and query. Unknown fields are refused, every text and list has a limit.
// Owns the edge: what passes here is trusted inside. Test: test/e2e/api.test.ts.
import { z } from 'zod'
import { effortRule, fallbackRule } from '../../config/config.ts'
import { gatewayMode } from '../../config/gateway.ts'
import { limitsRule, raiseRule } from '../../config/limit-rules.ts'
import { childIdRule, intensityRules, restartRule, strategyRule } from '../../config/restart.ts'
import { of } from './exact.ts'
import { isField } from '../views.ts'
import type { McpSeatBody } from '../../api/mcp-views.ts'
import type { DirBody, PinBody } from '../../api/history-views.ts'
import type { AnswerBody, ChildBody, DoctorModelsBody, PauseBody, ResumeBody, SendBody, SignalBody, SignalsBody, SpawnBody, SupervisorBody } from '../../api/views.ts'

/** characters of an intent or a message */
const MAX_TEXT = 1_000_000
const MAX_WORDS = 1_000
const DAY_MS = 86_400_000

const ms = z.number().min(0).max(366 * DAY_MS)
/** What is given to the operating system cannot hold a NUL. */
const plain = z.string().regex(/^[^\0]*$/, 'must not contain NUL')
export const dir = plain.min(1).max(4_096).startsWith('/', 'must be an absolute path')
export const env = z.record(plain.max(1_000), plain.max(512 * 1024))
const words = z.array(z.string().max(1_000)).max(MAX_WORDS)
export const flag = z.enum(['0', '1']).transform((value) => value === '1')
const count = (most: number) => z.coerce.number().int().min(0).max(most)

/** Wall ms, or ISO 8601. */
const instant = z.string().max(40).transform((text, context) => {
  const at = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isNaN(at)) context.addIssue({ code: 'custom', message: `"${text}" is no time` })
  return at
})

const fields = z.string().max(1_000).transform((names, context) => {
  const all = names.split(',')
  const unknown = all.filter((name) => !isField(name))
  for (const name of unknown) context.addIssue({ code: 'custom', message: `a process has no field "${name}"` })
  return all.filter(isField)
})

/** What one process is to be, wherever it stands. */
const ownFields = {
  intent: z.string().max(MAX_TEXT).exactOptional(),
  argv: z.array(plain.max(MAX_TEXT)).min(1).max(10_000).exactOptional(),
  agent: z.string().min(1).max(200).exactOptional(),
  model: z.string().min(1).max(1_000).exactOptional(),
  name: z.string().min(1).max(200).exactOptional(),
  worktree: z.boolean().exactOptional(),
  interactive: z.boolean().exactOptional(),
  allow: words.exactOptional(),
  deny: words.exactOptional(),
  containment: z.enum(['auto', 'cgroup', 'pidns', 'group']).exactOptional(),
  wake: z.boolean().exactOptional(),
  reeve: z.boolean().exactOptional(),
  limits: limitsRule.exactOptional(),
  effort: effortRule.exactOptional(),
  fallback: fallbackRule.exactOptional(),
  mcp: words.exactOptional(),
  permissions: z.enum(['ask', 'allow', 'deny']).exactOptional(),
  gateway: gatewayMode.exactOptional(),
  restart: restartRule.exactOptional(),
}

const supervisorBody = of<SupervisorBody>()(z.strictObject({
  strategy: strategyRule.exactOptional(), ...intensityRules,
  children: z.array(of<ChildBody>()(z.strictObject({ ...ownFields, childId: childIdRule, cwd: dir.exactOptional() }))).max(1_000).exactOptional(),
}))

export const spawnBody = of<SpawnBody>()(z.strictObject({
  ...ownFields,
  cwd: dir,
  parent: z.string().min(1).max(200).exactOptional(),
  childId: childIdRule.exactOptional(),
  supervisor: z.union([z.string().min(1).max(200), supervisorBody]).exactOptional(),
  env: env.exactOptional(),
}))

export const seatBody = of<McpSeatBody>()(z.strictObject({ cwd: dir, env: env.exactOptional() }))

export const signalBody = of<SignalBody>()(z.strictObject({
  signal: z.union([z.string().max(20), z.int().min(1).max(5)]),
  subtree: z.boolean().exactOptional(),
  graceMs: ms.exactOptional(),
  leastGraceMs: ms.exactOptional(),
}))

const signals = z.array(z.union([z.string().max(20), z.int().min(1).max(5)])).max(5)
const signalName = z.enum(['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME'])
export const signalsBody = of<SignalsBody>()(z.strictObject({
  handlers: (z.partialRecord(signalName, z.enum(['default', 'ignore', 'message'])) as z.ZodType<NonNullable<SignalsBody['handlers']>>).exactOptional(),
  set: signals.exactOptional(),
  block: signals.exactOptional(),
  unblock: signals.exactOptional(),
}))

export const pauseBody = of<PauseBody>()(z.strictObject({ subtree: z.boolean().exactOptional(), now: z.boolean().exactOptional() }))

export const resumeBody = of<ResumeBody>()(z.strictObject({
  subtree: z.boolean().exactOptional(),
  only: z.boolean().exactOptional(),
  message: z.string().min(1).max(MAX_TEXT).exactOptional(),
  model: z.string().min(1).max(1_000).exactOptional(),
  effort: effortRule.exactOptional(),
  limits: limitsRule.exactOptional(),
  raise: raiseRule.exactOptional(),
  gateway: gatewayMode.exactOptional(),
  allow: words.exactOptional(),
  deny: words.exactOptional(),
  rerun: z.boolean().exactOptional(),
  fork: z.boolean().exactOptional(),
  fromStep: z.int().min(0).max(1e9).exactOptional(),
  fromCheckpoint: z.boolean().exactOptional(),
  withFiles: z.boolean().exactOptional(),
  name: z.string().min(1).max(200).exactOptional(),
  cwd: dir.exactOptional(),
  env: env.exactOptional(),
}))

export const sendBody = of<SendBody>()(z.strictObject({ text: z.string().min(1).max(MAX_TEXT) }))
export const answerBody = of<AnswerBody>()(z.strictObject({
  id: z.string().min(1).max(1_000).exactOptional(),
  option: z.string().min(1).max(1_000).exactOptional(),
  text: z.string().min(1).max(MAX_TEXT).exactOptional(),
}))
export const doctorModelsBody = of<DoctorModelsBody>()(z.strictObject({ env: env.exactOptional() }))
export const stopBody = z.strictObject({ drainMs: z.int().min(0).max(DAY_MS).exactOptional() })

export const dirBody = of<DirBody>()(z.strictObject({ dir }))
export const pinBody = of<PinBody>()(z.strictObject({ pinned: z.boolean() }))

export const resumableQuery = z.strictObject({ after: z.string().max(100).optional(), limit: count(1_000).default(100) })
export const refParams = z.object({ ref: z.string().min(1).max(200) })
export const childQuery = z.strictObject({ id: childIdRule })
export const removeQuery = z.strictObject({ force: flag.optional() })
export const listQuery = z.strictObject({ all: flag.optional(), limit: count(10_000).optional(), fields: fields.optional() })
export const stepsQuery = z.strictObject({ after: count(1e9).default(0), limit: count(1_000).default(100) })
export const usageQuery = z.strictObject({ by: z.enum(['agent', 'model', 'day', 'tree']).default('agent'), since: instant.optional() })
export const logsQuery = z.strictObject({ tail: count(10_000).default(100), since: instant.optional() })
export const eventsQuery = z.strictObject({
  after: count(Number.MAX_SAFE_INTEGER).optional(),
  since: instant.optional(),
  follow: flag.optional(),
  live: flag.optional(),
  tail: count(10_000).optional(),
})
export const waitQuery = z.strictObject({
  for: z.enum(['exited', 'ready', 'suspended', 'waiting']).default('exited'),
  timeoutMs: count(60_000).default(60_000),
})
export const agentsQuery = z.strictObject({ cwd: dir, model: z.string().min(1).max(1_000).optional() })
export const doctorQuery = z.strictObject({ verify: flag.optional() })
