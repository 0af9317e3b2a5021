// Parses `crews:` of a reeve.yaml: coordinator, workers and tasks. Flags of the command line give a crew of the same shape. Starts
// nothing. Test: test/tables/config/crew/crews.test.ts.
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import { copyPatternsOfFile } from './copy-patterns.ts'
import { COMMAND_KEYS, commandRule } from './shell-commands.ts'
import { FILE_LIMIT_KEYS, fileLimitsRule } from '../limit-rules.ts'
import { toFileTasks, taskKeys, tasksRule, type FileTask } from './tasks.ts'
import { childIdRule } from '../restart-rules.ts'
import { type Limits, PERMISSION_POLICIES, type PermissionPolicy } from '../../kernel/model/words.ts'
import {
  type CrewShellCommand,
  COMMIT_GATES,
  MERGE_MODES,
  WORKER_ROLES,
  type CommitGate,
  type MergeMode,
} from '../../kernel/model/crew/words.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'

/** maximum number of workers of a crew at a time */
export const MAX_WORKERS = 50
/** maximum number of crews in a file */
const MAX_CREWS = 100

const text = z.string().min(1).max(10_000)
const memberKeys = {
  agent: text.optional(),
  model: text.optional(),
  permissions: z.enum(PERMISSION_POLICIES).optional(),
  limits: fileLimitsRule.optional(),
}
const worker = z.strictObject({ count: z.int().min(0).max(MAX_WORKERS).default(1), ...memberKeys, verify: commandRule.optional() })
const coordinator = z.strictObject(memberKeys)
const workerCount = z.int().min(0).max(MAX_WORKERS)

export type WorkerRoleName = (typeof WORKER_ROLES)[number]

const workers = z.union(
  [
    workerCount.transform((count) => ({ generic: { count } })),
    z.partialRecord(
      z.enum(WORKER_ROLES),
      z.union(
        [workerCount.transform((count) => ({ count })), worker],
        'expected a number, or { count: …, agent: …, model: …, permissions: …, limits: …, verify: … }',
      ),
    ),
  ],
  `expected a number, or a number for each role: ${WORKER_ROLES.join(', ')}`,
)

/** The rule for `tasks`. It parses by hand, because a zod union would only report that no alternative matches. */
const tasks = z.unknown().transform((value, context): string | z.output<typeof tasksRule> => {
  const read = typeof value === 'string' ? text.safeParse(value) : tasksRule.safeParse(value)
  for (const issue of read.error?.issues ?? []) context.issues.push({ ...issue, input: undefined })
  return read.data ?? []
})

/** The keys of a crew in a file. */
const crewShape = {
  coordinator: z
    .union(
      [text.transform((agent) => (agent === 'engine' ? null : { agent })), coordinator],
      'expected engine, the name of an agent, or { agent: …, model: …, permissions: …, limits: … }',
    )
    .optional(),
  workers: workers.optional(),
  ...memberKeys,
  gate: z.enum(COMMIT_GATES).optional(),
  merge: z.enum(MERGE_MODES).optional(),
  reviews: z.boolean().optional(),
  worktrees: z.boolean().optional(),
  stay: z.boolean().optional(),
  max_attempts: z.int().min(1).max(100).optional(),
  max_workers: z.int().min(1).max(MAX_WORKERS).optional(),
  hand_over: z.union([z.number().gt(0.1).lte(1), z.literal('off')], 'expected a share of the context such as 0.9, or off').optional(),
  verify: commandRule.optional(),
  setup: commandRule.optional(),
  copy: copyPatternsOfFile.optional(),
  cwd: text.optional(),
  tasks: tasks.optional(),
}

const crew = z.strictObject(crewShape)

export const crewsRule = z.record(childIdRule, crew).refine((all) => Object.keys(all).length <= MAX_CREWS, `at most ${MAX_CREWS} crews`)
export type CrewsConfig = z.infer<typeof crewsRule>

/** Returns the known keys below `crews`, for suggestions. */
export function crewKeys([, , part, role, inner]: readonly PropertyKey[]): readonly string[] {
  if (part === undefined) return Object.keys(crewShape)
  if (part === 'tasks') return taskKeys(inner)
  if (part === 'verify' || part === 'setup' || inner === 'verify') return COMMAND_KEYS
  if (part === 'limits' || role === 'limits' || inner === 'limits') return FILE_LIMIT_KEYS
  if (part === 'coordinator') return Object.keys(memberKeys)
  return role === undefined ? WORKER_ROLES : Object.keys(worker.shape)
}

/** The agent, model, permissions and limits of members. */
interface FileMember {
  readonly agent?: string
  readonly model?: string
  readonly permissions?: PermissionPolicy
  readonly limits?: Limits
}

/** A crew in a file. A key without a value is absent. */
export interface FileCrew extends FileMember {
  /** null: the engine coordinates, which uses no model */
  readonly coordinator?: FileMember | null
  readonly workers?: Readonly<
    Partial<Record<WorkerRoleName, FileMember & { readonly count: number; readonly verify?: CrewShellCommand | false }>>
  >
  /** the approval that a commit needs after the review */
  readonly gate?: CommitGate
  /** what happens to the commit of a task */
  readonly merge?: MergeMode
  /** false: no task is reviewed, unless it sets `reviews` itself */
  readonly reviews?: boolean
  /** false: all members work in one directory, and nothing is committed */
  readonly worktrees?: boolean
  /** true: the crew waits for more tasks when all are done */
  readonly stay?: boolean
  /** maximum number of attempts at one task */
  readonly maxAttempts?: number
  /** maximum number of workers at a time, with those that the crew starts itself */
  readonly maxWorkers?: number
  /** the used share of the context at which a member is replaced; null: never */
  readonly handOver?: number | null
  /** the command that must pass before a task's review */
  readonly verify?: CrewShellCommand | false
  /** runs once in each new worktree */
  readonly setup?: CrewShellCommand | false
  /** patterns of files that are copied into each new worktree */
  readonly copy?: readonly string[]
  readonly cwd?: string
  /** the absolute path of a file with tasks, or the tasks */
  readonly tasks?: string | readonly FileTask[]
}

/** Converts a parsed crew: keys to camelCase, and paths, which are relative to `file`, to absolute ones. */
function toFileCrew(
  {
    max_attempts,
    max_workers,
    hand_over,
    cwd,
    tasks,
    workers: parsedWorkers,
    coordinator: parsedCoordinator,
    ...rest
  }: z.infer<typeof crew>,
  file: string,
): FileCrew {
  const absolute = (path: string): string => resolve(dirname(file), path)
  return {
    ...withoutUndefined(rest),
    ...withoutUndefined({
      coordinator: parsedCoordinator && withoutUndefined(parsedCoordinator),
      maxAttempts: max_attempts,
      maxWorkers: max_workers,
      handOver: hand_over === 'off' ? null : hand_over,
      cwd: cwd === undefined ? undefined : absolute(cwd),
      tasks: typeof tasks === 'string' ? absolute(tasks) : tasks && toFileTasks(tasks),
      workers:
        parsedWorkers &&
        Object.fromEntries(Object.entries(parsedWorkers).flatMap(([role, group]) => (group ? [[role, withoutUndefined(group)]] : []))),
    }),
    ...(parsedCoordinator === null ? { coordinator: null } : {}),
  }
}

/** A crew of a file, with its name. */
export interface NamedCrew {
  readonly name: string
  readonly crew: FileCrew
  readonly file: string
}

const NAME_HINT = 'Name one: `reeve crew up NAME`.'

/** The error for a file without the wanted crew. */
export class MissingCrewError extends KernelError {
  readonly file: string
  /** false: the file has no crews at all */
  readonly hasOthers: boolean

  constructor(message: string, { file, hasOthers }: Pick<MissingCrewError, 'file' | 'hasOthers'>) {
    super('AGENT_INVALID', message, undefined, hasOthers ? NAME_HINT : undefined)
    this.file = file
    this.hasOthers = hasOthers
  }
}

/**
 * Returns the crew of that name, or the only one. Errors: `MissingCrewError` if there is none; AGENT_INVALID if there are several and no
 * name is given.
 */
export function findCrewByName(all: CrewsConfig, name: string | undefined, file: string): NamedCrew {
  const names = Object.keys(all)
  const [only] = names
  const wanted = name ?? (names.length === 1 ? only : undefined)
  const found = wanted !== undefined && Object.hasOwn(all, wanted) ? all[wanted] : undefined
  if (found && wanted !== undefined) return { name: wanted, crew: toFileCrew(found, file), file }
  if (names.length === 0) throw new MissingCrewError(`${file} has no crews`, { file, hasOthers: false })
  if (name === undefined) throw new KernelError('AGENT_INVALID', `which crew? ${file} has ${names.join(', ')}`, undefined, NAME_HINT)
  throw new MissingCrewError(`there is no crew \`${name}\` in ${file}; there are ${names.join(', ')}`, { file, hasOthers: true })
}
