// What the API accepts about crews that are to begin: one zod schema per body and query, as schemas.ts has the rest.
// Test: test/e2e/crew-up.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../config/limit-rules.ts'
import { MAX_WORKERS } from '../../config/crews.ts'
import { taskIdRule } from '../../config/crew-tasks.ts'
import { dir, env, flag } from './schemas.ts'
import { of } from './exact.ts'
import type { CrewTaskBody, CrewUpBody, CrewWhoBody } from '../../api/crew-up-views.ts'

const MAX_TEXT = 100_000
const MAX_TASKS = 500

const who = {
  agent: z.string().min(1).max(200).exactOptional(),
  model: z.string().min(1).max(1_000).exactOptional(),
  permissions: z.enum(['ask', 'allow', 'deny']).exactOptional(),
  limits: limitsRule.exactOptional(),
}
const count = z.int().min(0).max(MAX_WORKERS)

export const crewTask = of<CrewTaskBody>()(z.strictObject({
  id: taskIdRule.exactOptional(),
  title: z.string().trim().min(1).max(200).exactOptional(),
  text: z.string().trim().min(1).max(MAX_TEXT),
  acceptance: z.string().trim().min(1).max(MAX_TEXT).exactOptional(),
  needs: z.array(taskIdRule).max(MAX_TASKS).exactOptional(),
  kind: z.enum(['work', 'human']).exactOptional(),
  role: z.enum(['generic', 'implementer', 'researcher']).exactOptional(),
  reviews: z.boolean().exactOptional(),
}))

export const crewUpBody = of<CrewUpBody>()(z.strictObject({
  ...who,
  crew: z.string().min(1).max(64).exactOptional(),
  file: dir.exactOptional(),
  name: z.string().min(1).max(64).exactOptional(),
  cwd: dir,
  env: env.exactOptional(),
  coordinator: z.union([z.string().min(1).max(200), of<CrewWhoBody>()(z.strictObject(who))]).exactOptional(),
  workers: z.union([count, z.strictObject({ generic: count.exactOptional(), implementer: count.exactOptional(), reviewer: count.exactOptional(), researcher: count.exactOptional() })]).exactOptional(),
  gate: z.enum(['auto', 'coordinator', 'human']).exactOptional(),
  merge: z.enum(['auto', 'leave']).exactOptional(),
  reviews: z.boolean().exactOptional(),
  worktrees: z.boolean().exactOptional(),
  stay: z.boolean().exactOptional(),
  maxAttempts: z.int().min(1).max(100).exactOptional(),
  maxWorkers: z.int().min(1).max(MAX_WORKERS).exactOptional(),
  handOver: z.number().gt(0.1).lte(1).nullable().exactOptional(),
  tasks: z.union([dir, z.array(crewTask).min(1).max(MAX_TASKS)]).exactOptional(),
}))

export const rolesQuery = z.strictObject({ cwd: dir })
export const crewsQuery = z.strictObject({ all: flag.optional() })
export const taskQuery = z.strictObject({ id: z.string().min(1).max(200) })
