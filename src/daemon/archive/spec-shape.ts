// Is that a spec that this daemon could act on? What is imported may have been made by hand; a checksum does not say who wrote it.
// Owns the shape of the fields that are read before anything runs; what they mean is checked where they are used.
// Test: test/e2e/archive-damage.test.ts.
import * as z from 'zod'
import { gatewayMode } from '../../config/gateway.ts'
import { issueWords } from '../../config/issues.ts'
import { livenessRule } from '../../config/liveness.ts'
import { limitsRule } from '../../config/limit-rules.ts'

const words = z.array(z.string())
const path = z.string().startsWith('/', 'expected an absolute path')

/** Strict: a limit that this version does not know would not hold. */
const capabilities = z.strictObject({
  paths: z.strictObject({ read: z.array(path).optional(), write: z.array(path).optional() }).optional(),
  network: z.literal('off').optional(), signals: z.enum(['none', 'children']).optional(), spawns: words.optional(),
})

const count = z.number().min(0)
const intensity = z.object({ maxRestarts: count, windowMs: count, backoff: z.object({ initialMs: count, maxMs: count, factor: z.number().min(1) }) })
const restart = intensity.partial().extend({ type: z.enum(['permanent', 'transient', 'temporary']), onComplete: z.enum(['fresh', 'stop']).optional() })

const node = z.looseObject({ name: z.string(), needs: words, retries: count, template: z.unknown() })

const shape = z.looseObject({
  name: z.string().nullable(), agent: z.string(), driver: z.enum(['native', 'acp', 'command', 'supervisor', 'crew', 'compose']), intent: z.string(),
  cwd: path, interactive: z.boolean(), model: z.string().nullable(),
  fallback: words.optional(), system: z.string().nullable(), tools: words.nullable(), deny: words, capabilities: capabilities.optional(), argv: words.nullable(),
  mcp: z.array(z.looseObject({ name: z.string(), kind: z.enum(['stdio', 'http']) })).optional(),
  env: z.record(z.string(), z.string()), credentials: words, containment: z.enum(['auto', 'cgroup', 'pidns', 'group']),
  worktree: z.looseObject({ repository: path, dir: path, branch: z.string(), base: z.string(), files: z.looseObject({ commit: z.string() }).optional() }).optional(),
  limits: limitsRule,
  liveness: livenessRule.optional(), wake: z.literal(true).optional(), reeve: z.literal(true).optional(),
  crew: z.looseObject({
    coordinator: z.enum(['engine', 'agent']), gate: z.enum(['auto', 'coordinator', 'human']), maxAttempts: count, maxWorkers: count, staff: z.array(z.looseObject({ role: z.string(), count })),
    git: z.looseObject({ repository: path, base: z.string(), branch: z.string() }).nullable(), roles: z.record(z.string(), z.looseObject({})),
  }).optional(),
  member: z.looseObject({ crew: z.string(), id: z.string(), role: z.enum(['coordinator', 'generic', 'implementer', 'reviewer', 'researcher']) }).optional(),
  gateway: gatewayMode.optional(),
  restart: restart.optional(), childId: z.string().optional(), supervisor: intensity.extend({ strategy: z.enum(['one_for_one', 'one_for_all', 'rest_for_one']) }).optional(),
  compose: z.looseObject({ file: z.string(), parallel: count.optional(), nodes: z.array(node) }).optional(),
}).refine(({ driver, crew }) => driver !== 'crew' || crew !== undefined, 'a crew says how it works')
  .refine(({ driver, compose }) => driver !== 'compose' || compose !== undefined, 'a run says which nodes it has')
  .refine(({ driver, supervisor }) => driver !== 'supervisor' || supervisor !== undefined, 'a supervisor says how it keeps its children')

/** What is wrong with it, as text; null if nothing is. */
export function specProblem(spec: unknown): string | null {
  const parsed = shape.safeParse(spec)
  const issue = parsed.error?.issues[0]
  // What a node starts is as good as what a process starts.
  if (!issue) return parsed.data?.compose?.nodes.map(({ template }) => specProblem(template)).find((problem) => problem !== null) ?? null
  return `its spec cannot be used: ${issue.path.map(String).join('.')} ${issueWords(issue)}`.replace(':  ', ': ')
}
