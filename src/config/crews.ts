// Crews of a reeve.yaml: who coordinates, which workers there are, and what they work on. Owns the shape of `crews:`, for files
// and for what a command line says besides. Starts nothing. Test: test/tables/config-crews.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../kernel/errors.ts'
import type { Limits } from '../kernel/types.ts'
import { FILE_LIMIT_KEYS, fileLimitsRule } from './limit-rules.ts'
import { TASK_KEYS, taskFiles, tasksRule, type TaskFile } from './crew-tasks.ts'
import { childIdRule, defined } from './restart.ts'

/** workers that one crew may have at a time, and crews of one file */
export const MAX_WORKERS = 50
const MAX_CREWS = 100

const text = z.string().min(1).max(10_000)
const who = { agent: text.optional(), model: text.optional(), permissions: z.enum(['ask', 'allow', 'deny']).optional(), limits: fileLimitsRule.optional() }
const worker = z.strictObject({ count: z.int().min(0).max(MAX_WORKERS).default(1), ...who })
const coordinator = z.strictObject(who)
const some = z.int().min(0).max(MAX_WORKERS)

export const WORKER_ROLES = ['generic', 'implementer', 'reviewer', 'researcher'] as const
export type WorkerRoleName = (typeof WORKER_ROLES)[number]

const workers = z.union([
  some.transform((count) => ({ generic: { count } })),
  z.partialRecord(z.enum(WORKER_ROLES), z.union([some.transform((count) => ({ count })), worker], 'expected how many, or { count: …, agent: …, model: …, permissions: …, limits: … }')),
], `expected how many, or how many of each role: ${WORKER_ROLES.join(', ')}`)

/** A union would say of a list with a mistake in it only that it is neither. */
const tasks = z.unknown().transform((value, context): string | z.output<typeof tasksRule> => {
  const read = typeof value === 'string' ? text.safeParse(value) : tasksRule.safeParse(value)
  for (const issue of read.error?.issues ?? []) context.issues.push({ ...issue, input: undefined } as z.core.$ZodRawIssue)
  return read.data ?? []
})

/** What a file, and what the command line can say about a crew. */
const crewShape = {
  coordinator: z.union([text.transform((agent) => (agent === 'engine' ? null : { agent })), coordinator], 'expected engine, the name of an agent, or { agent: …, model: …, permissions: …, limits: … }').optional(),
  workers: workers.optional(),
  ...who,
  gate: z.enum(['auto', 'coordinator', 'human']).optional(),
  merge: z.enum(['auto', 'leave']).optional(),
  reviews: z.boolean().optional(),
  worktrees: z.boolean().optional(),
  stay: z.boolean().optional(),
  max_attempts: z.int().min(1).max(100).optional(),
  max_workers: z.int().min(1).max(MAX_WORKERS).optional(),
  hand_over: z.union([z.number().gt(0.1).lte(1), z.literal('off')], 'expected a share of the context such as 0.9, or off').optional(),
  cwd: text.optional(),
  tasks: tasks.optional(),
}

const crew = z.strictObject(crewShape)

export const crewsRule = z.record(childIdRule, crew).refine((all) => Object.keys(all).length <= MAX_CREWS, `at most ${MAX_CREWS} crews`)
export type Crews = z.infer<typeof crewsRule>

/** For suggestions: the keys that may stand below `crews`. */
export function crewKeys([, , part, role, inner]: readonly PropertyKey[]): readonly string[] {
  if (part === undefined) return Object.keys(crewShape)
  if (part === 'tasks') return TASK_KEYS
  if (part === 'limits' || role === 'limits' || inner === 'limits') return FILE_LIMIT_KEYS
  if (part === 'coordinator') return Object.keys(who)
  return role === undefined ? WORKER_ROLES : Object.keys(worker.shape)
}

interface Who {
  readonly agent?: string
  readonly model?: string
  readonly permissions?: 'ask' | 'allow' | 'deny'
  readonly limits?: Limits
}

/** A crew as it was written; what nobody said is absent. */
export interface CrewFile extends Who {
  /** null: the engine */
  readonly coordinator?: Who | null
  readonly workers?: Readonly<Partial<Record<WorkerRoleName, Who & { readonly count: number }>>>
  readonly gate?: 'auto' | 'coordinator' | 'human'
  readonly merge?: 'auto' | 'leave'
  readonly reviews?: boolean
  readonly worktrees?: boolean
  readonly stay?: boolean
  readonly maxAttempts?: number
  readonly maxWorkers?: number
  /** null: never */
  readonly handOver?: number | null
  readonly cwd?: string
  /** a file, whole, or the tasks themselves */
  readonly tasks?: string | readonly TaskFile[]
}

/** In the words of the code; places are whole. `file` is where it stands. */
function crewFile({ max_attempts, max_workers, hand_over, cwd, tasks, workers: staff, coordinator: leader, ...rest }: z.infer<typeof crew>, file: string): CrewFile {
  const from = (path: string): string => resolve(dirname(file), path)
  return {
    ...defined(rest),
    ...defined({
      coordinator: leader && defined(leader), maxAttempts: max_attempts, maxWorkers: max_workers,
      handOver: hand_over === 'off' ? null : hand_over,
      cwd: cwd === undefined ? undefined : from(cwd),
      tasks: typeof tasks === 'string' ? from(tasks) : tasks && taskFiles(tasks),
      workers: staff && Object.fromEntries(Object.entries(staff).flatMap(([role, one]) => (one ? [[role, defined(one)]] : []))),
    }),
    ...(leader === null ? { coordinator: null } : {}),
  } as CrewFile
}

export interface NamedCrew {
  readonly name: string
  readonly crew: CrewFile
  readonly file: string
}

/** The crew of that name, or the only one. Errors: AGENT_INVALID where there is none, or several and no name. */
export function crewNamed(all: Crews, name: string | undefined, file: string): NamedCrew {
  const names = Object.keys(all)
  const [only] = names
  const wanted = name ?? (names.length === 1 ? only : undefined)
  const found = wanted !== undefined && Object.hasOwn(all, wanted) ? all[wanted] : undefined
  if (found && wanted !== undefined) return { name: wanted, crew: crewFile(found, file), file }
  if (names.length === 0) throw new KernelError('AGENT_INVALID', `${file} has no crews`)
  throw new KernelError('AGENT_INVALID', name === undefined ? `which crew? ${file} has ${names.join(', ')}` : `there is no crew \`${name}\` in ${file}; there are ${names.join(', ')}`, undefined, 'Name one: `reeve crew up NAME`.')
}
