// Checks that an imported spec is valid for this daemon. A correct checksum is no proof that a daemon wrote the spec. Checks the shape of
// the fields that the daemon reads; their meaning is checked where they are used.
// Tests: test/tables/daemon/archive/spec-shape.test.ts, test/e2e/daemon/archive-damage.test.ts.
import * as z from 'zod'
import { gatewayMode } from '../../config/keys/gateway.ts'
import { issueText } from '../../config/zod-messages.ts'
import { labelsRule } from '../../config/label-rules.ts'
import { livenessRule } from '../../config/keys/liveness.ts'
import { recordedLimitsRule } from '../../config/limit-rules.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { hasPattern, toolRuleProblem } from '../../kernel/state/tool-rules.ts'
import { COMMIT_GATES, ROLES } from '../../kernel/model/crew/words.ts'
import {
  CALL_DECISIONS,
  CONTAINMENT_KINDS,
  DRIVERS,
  ON_COMPLETE,
  PERMISSION_POLICIES,
  RESTART_TYPES,
  STRATEGIES,
} from '../../kernel/model/words.ts'

const texts = z.array(z.string())
const path = z.string().startsWith('/', 'expected an absolute path')

/** Unknown fields are refused, because this version would not enforce them. */
const capabilities = z.strictObject({
  paths: z.strictObject({ read: z.array(path).optional(), write: z.array(path).optional() }).optional(),
  network: z.literal('off').optional(),
  signals: z.enum(['none', 'children']).optional(),
  spawns: texts.optional(),
})

const count = z.number().min(0)
const intensity = z.object({
  maxRestarts: count,
  windowMs: count,
  backoff: z.object({ initialMs: count, maxMs: count, factor: z.number().min(1) }),
})
const restart = intensity.partial().extend({ type: z.enum(RESTART_TYPES), onComplete: z.enum(ON_COMPLETE).optional() })

const node = z.looseObject({ name: z.string(), needs: texts, retries: count, template: z.unknown() })

const callRules = z.array(z.string().refine((rule) => !hasPattern(rule) || toolRuleProblem(rule) === null, 'is not a rule for calls'))

const shape = z
  .looseObject({
    name: z.string().nullable(),
    agent: z.string(),
    driver: z.enum(DRIVERS),
    labels: labelsRule.optional(),
    intent: z.string(),
    cwd: path,
    interactive: z.boolean(),
    model: z.string().nullable(),
    fallback: texts.optional(),
    system: z.string().nullable(),
    tools: texts.nullable(),
    deny: texts,
    capabilities: capabilities.optional(),
    permissions: z
      .strictObject({
        default: z.enum(PERMISSION_POLICIES),
        tools: z.record(z.string(), z.enum(CALL_DECISIONS)).optional(),
        allow: callRules.optional(),
        ask: callRules.optional(),
        deny: callRules.optional(),
      })
      .optional(),
    instructions: z
      .looseObject({ files: z.array(z.looseObject({ path, name: z.string(), sha256: z.string(), text: z.string() })) })
      .optional(),
    skills: z
      .array(z.looseObject({ name: z.string(), description: z.string(), path, file: z.string().optional(), sha256: z.string() }))
      .optional(),
    argv: texts.nullable(),
    mcp: z.array(z.looseObject({ name: z.string(), kind: z.enum(['stdio', 'http']) })).optional(),
    env: z.record(z.string(), z.string()),
    credentials: texts,
    containment: z.enum(['auto', ...CONTAINMENT_KINDS]),
    worktree: z
      .looseObject({
        repository: path,
        dir: path,
        branch: z.string(),
        base: z.string(),
        files: z.looseObject({ commit: z.string() }).optional(),
      })
      .optional(),
    limits: recordedLimitsRule,
    homeLimits: recordedLimitsRule.optional(),
    liveness: livenessRule.optional(),
    wake: z.literal(true).optional(),
    reeve: z.literal(true).optional(),
    input: z.literal(true).optional(),
    keepRaw: z.enum(['last', 'all']).optional(),
    crew: z
      .looseObject({
        coordinator: z.enum(['engine', 'agent']),
        gate: z.enum(COMMIT_GATES),
        maxAttempts: count,
        maxWorkers: count,
        staff: z.array(z.looseObject({ role: z.string(), count })),
        git: z.looseObject({ repository: path, base: z.string(), branch: z.string() }).nullable(),
        roles: z.record(z.string(), z.looseObject({})),
      })
      .optional(),
    member: z.looseObject({ crew: z.string(), id: z.string(), role: z.enum(ROLES) }).optional(),
    gateway: gatewayMode.optional(),
    restart: restart.optional(),
    removeAtEnd: z.literal(true).optional(),
    childId: z.string().optional(),
    supervisor: intensity.extend({ strategy: z.enum(STRATEGIES) }).optional(),
    compose: z.looseObject({ file: z.string(), parallel: count.optional(), nodes: z.array(node) }).optional(),
  })
  .refine(({ driver, model }) => driver !== 'native' || model !== null, 'a native agent needs a model')
  .refine(({ driver, argv }) => !CAPABILITIES[driver].hasProgram || argv !== null, 'a program needs a command line')
  .refine(({ driver, crew }) => driver !== 'crew' || crew !== undefined, 'a crew needs its settings')
  .refine(({ driver, compose }) => driver !== 'compose' || compose !== undefined, 'a run needs its nodes')
  .refine(({ driver, supervisor }) => driver !== 'supervisor' || supervisor !== undefined, 'a supervisor needs its settings')

/** Returns a text about the first error of a spec; null if it is valid. */
export function specProblem(spec: unknown): string | null {
  const parsed = shape.safeParse(spec)
  const issue = parsed.error?.issues[0]
  // The template of each node of a compose run is a spec as well.
  if (!issue) return parsed.data?.compose?.nodes.map(({ template }) => specProblem(template)).find((problem) => problem !== null) ?? null
  return `its spec cannot be used: ${issue.path.map(String).join('.')} ${issueText(issue)}`.replace(':  ', ': ')
}
