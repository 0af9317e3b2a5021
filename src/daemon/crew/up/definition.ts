// Resolves the definition of a crew: values of the request, else of the file, else defaults. Only reads files; must never start anything.
// Tests: test/e2e/crew/up.test.ts, test/tables/daemon/crew/up/definition.test.ts.
import { basename, dirname } from 'node:path'
import { findCrew } from '../../../config/config.ts'
import { toCrewCommand } from '../../../config/crew/shell-commands.ts'
import { readTasks, type FileTask } from '../../../config/crew/tasks.ts'
import { MissingCrewError, type FileCrew, type WorkerRoleName } from '../../../config/crew/crews.ts'
import { canRoleImplement } from '../../../kernel/crew/state/queries.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { checkProcessName } from '../../operations/spec-builder.ts'
import type { CrewTaskBody, CrewUpBody, CrewWhoBody } from '../../../api/views/crew-up.ts'
import type { Paths } from '../../../config/paths.ts'
import type { NewTask } from '../../../kernel/model/crew/commands.ts'
import type { CrewShellCommand, CommitGate, MergeMode } from '../../../kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../kernel/model/process-spec.ts'
import { WORKER_ROLES } from '../../../kernel/model/crew/words.ts'
import { truncate } from '../../../kernel/util/truncate.ts'
import { withAbsoluteScriptPath } from './script-path.ts'

export interface CrewDefinition {
  readonly name: string
  /** the files that it comes from; the members need none of them */
  readonly files: readonly string[]
  readonly cwd: string
  /** null if the engine coordinates */
  readonly coordinator: CrewWhoBody | null
  readonly staff: readonly { readonly role: WorkerRoleName; readonly count: number }[]
  /** the agents of single roles, which override `commonAgent` */
  readonly roleAgents: { readonly [R in WorkerRoleName]?: CrewWhoBody }
  /** the agent for all members */
  readonly commonAgent: CrewWhoBody
  readonly gate: CommitGate
  readonly merge: MergeMode
  readonly reviews: boolean
  readonly worktrees: boolean
  /** true: the crew waits for more tasks when all its tasks are closed */
  readonly stay: boolean
  readonly maxAttempts: number
  readonly maxWorkers: number
  /** share of used context, from 0 to 1, at which a member is handed over to a successor; null: never */
  readonly handOver: number | null
  readonly verify?: CrewShellCommand
  /** the command that sets up each new worktree */
  readonly setup?: CrewShellCommand
  /** patterns of the files to copy into each new worktree */
  readonly copy: readonly string[]
  /** the verify commands of single roles, which override `verify` */
  readonly verifyBy?: NonNullable<CrewSpec['verifyBy']>
  readonly tasks: readonly NewTask[]
  /** true: no done task of an earlier crew is taken over */
  readonly startsAnew: boolean
}

const DEFAULT_MAX_ATTEMPTS = 3
/** default share of used context at which a member is handed over */
const DEFAULT_HAND_OVER_SHARE = 0.9

/** Resolves the definition. Errors: AGENT_INVALID with file and line; INVALID. */
export async function resolveDefinition(body: CrewUpBody, paths: Paths): Promise<CrewDefinition> {
  const { name, crew, baseDir, file } = await readCrew(body, paths)
  checkProcessName(body.name ?? name)
  const tasks = await tasksOf(body, crew, baseDir)
  const reviews = body.reviews ?? crew.reviews ?? true
  const staff = staffOf(body, crew, reviews)
  const coordinator = firstDefined(
    coordinatorOf(body.coordinator, body.cwd),
    crew.coordinator && resolveFields(crew.coordinator, baseDir),
    null,
  )
  if (staff.length === 0 && coordinator === null)
    throw new KernelError('INVALID', 'the crew has no workers, and only an agent as coordinator could start some')
  const maxWorkers = maxWorkersOf(body, crew, staff)
  if (coordinator === null) checkTasksPossible(tasks, staff, maxWorkers)
  const stay = body.stay ?? crew.stay ?? false
  if (tasks.length === 0 && !stay && coordinator === null)
    throw new KernelError(
      'INVALID',
      'the crew has no tasks',
      undefined,
      'Give --tasks FILE, or --stay to add tasks later with `reeve crew add`.',
    )
  const gate = body.gate ?? crew.gate ?? 'auto'
  if (gate === 'coordinator' && coordinator === null)
    throw new KernelError('INVALID', 'the gate `coordinator` needs an agent as coordinator: the engine approves everything')
  return {
    name: body.name ?? name,
    files: [file, body.tasks ?? crew.tasks].filter((from) => typeof from === 'string'),
    cwd: crew.cwd ?? body.cwd,
    coordinator,
    staff,
    tasks,
    reviews,
    gate,
    stay,
    roleAgents: Object.fromEntries(
      WORKER_ROLES.flatMap((role) => (crew.workers?.[role] ? [[role, resolveFields(crew.workers[role], baseDir)]] : [])),
    ),
    commonAgent: { ...resolveFields(crew, baseDir), ...resolveFields(body, body.cwd) },
    merge: body.merge ?? crew.merge ?? 'auto',
    startsAnew: body.anew ?? false,
    worktrees: body.worktrees ?? crew.worktrees ?? true,
    maxAttempts: body.maxAttempts ?? crew.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    maxWorkers,
    ...verifyCommandsOf(body, crew),
    ...setupCommandOf(body, crew),
    copy: body.copy ?? crew.copy ?? [],
    handOver: firstDefined(body.handOver, crew.handOver, DEFAULT_HAND_OVER_SHARE),
  }
}

/**
 * The maximum number of workers. If the request asks for more workers than the file's maximum, the maximum is raised.
 * Errors: INVALID if any other maximum is below the number of initial workers.
 */
function maxWorkersOf({ workers, maxWorkers }: CrewUpBody, crew: FileCrew, staff: CrewDefinition['staff']): number {
  const count = staff.reduce((sum, entry) => sum + entry.count, 0)
  const requested = maxWorkers ?? crew.maxWorkers
  const isLimit = maxWorkers !== undefined || workers === undefined
  if (requested !== undefined && requested < count && isLimit)
    throw new KernelError(
      'INVALID',
      `the crew starts with ${count} workers, but its maximum is ${requested}`,
      undefined,
      'Give it fewer workers, or a higher max_workers (--max-workers).',
    )
  return Math.max(requested ?? 1, count)
}

/**
 * Checks that the initial workers can do every task, if the crew has no room for others. Errors: INVALID with the first impossible task.
 */
function checkTasksPossible(tasks: readonly NewTask[], staff: CrewDefinition['staff'], maxWorkers: number): void {
  if (staff.reduce((sum, { count }) => sum + count, 0) < maxWorkers) return
  const impossible = tasks.find(
    ({ kind = 'work', role = null }) => kind === 'work' && !staff.some((entry) => canRoleImplement(entry.role, { role })),
  )
  if (impossible)
    throw new KernelError(
      'INVALID',
      `no worker of the crew could do ${impossible.id === undefined ? '' : `${impossible.id} `}"${impossible.title}": it has ${staff.map(({ role, count }) => `${count} ${role}`).join(', ')}`,
      undefined,
      'Add an implementer or a generic worker, or allow more workers (--max-workers).',
    )
}

interface CrewSource {
  readonly name: string
  readonly crew: FileCrew
  /** the directory from which relative paths start */
  readonly baseDir: string
  /** null if the request alone defines the crew */
  readonly file: string | null
}

/** The crew of a file. An empty crew if there is no file and the request alone is enough. */
async function readCrew(body: CrewUpBody, paths: Paths): Promise<CrewSource> {
  const hasOwnTasks = body.file === undefined && body.tasks !== undefined
  try {
    const { name, crew, file } = await findCrew(body.crew, {
      cwd: body.cwd,
      paths,
      ...(body.file === undefined ? {} : { file: body.file }),
    })
    return { name, crew, baseDir: dirname(file), file }
  } catch (error) {
    if (!(error instanceof MissingCrewError)) throw error
    if (hasOwnTasks || (body.file === undefined && body.stay && body.workers !== undefined))
      return { name: body.crew ?? 'crew', crew: {}, baseDir: body.cwd, file: null }
    const hasNoProjectFile = !error.hasOthers && basename(error.file) === 'config.yaml'
    throw new KernelError(
      'AGENT_INVALID',
      `${hasNoProjectFile ? 'there is no reeve.yaml here, and ' : ''}${error.message}`,
      error.details,
      'Write it below `crews:` in reeve.yaml (docs/reference/crews.md), or give everything by flags: `reeve crew up --workers 2 --tasks tasks.md`.',
    )
  }
}

function staffOf({ workers }: CrewUpBody, crew: FileCrew, reviews: boolean): CrewDefinition['staff'] {
  const counts: { readonly [R in WorkerRoleName]?: number } =
    typeof workers === 'number'
      ? { generic: workers }
      : (workers ?? Object.fromEntries(Object.entries(crew.workers ?? {}).map(([role, { count }]) => [role, count])))
  const staff = WORKER_ROLES.flatMap((role) => {
    const count = counts[role] ?? 0
    return count > 0 ? [{ role, count }] : []
  })
  if (staff.length > 0 || workers !== undefined || crew.workers) return staff
  // A second worker is needed, because no worker reviews its own change.
  return [{ role: 'generic', count: reviews ? 2 : 1 }]
}

function coordinatorOf(requested: CrewUpBody['coordinator'], cwd: string): CrewWhoBody | null | undefined {
  if (requested === undefined) return undefined
  if (typeof requested === 'string') return requested === 'engine' ? null : { agent: requested }
  return resolveFields(requested, cwd)
}

/** The agent's fields. The relative path of a script starts from `baseDir`. */
function resolveFields({ agent, model, permissions, limits }: CrewWhoBody, baseDir: string): CrewWhoBody {
  const resolvedModel = model === undefined ? undefined : withAbsoluteScriptPath(model, baseDir)
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(resolvedModel === undefined ? {} : { model: resolvedModel }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(limits === undefined ? {} : { limits }),
  }
}

async function tasksOf(body: CrewUpBody, crew: FileCrew, baseDir: string): Promise<readonly NewTask[]> {
  const tasks = body.tasks ?? crew.tasks ?? []
  const tasksDir = typeof tasks === 'string' ? dirname(tasks) : body.tasks ? body.cwd : baseDir
  const newTasks = (typeof tasks === 'string' ? await readTasks(tasks) : tasks).map((task) => newTask(task, tasksDir))
  return body.verify === false ? newTasks.map(({ verify: _, ...task }) => task) : newTasks
}

function newTask({ title, text, verify, model, ...rest }: CrewTaskBody | FileTask, baseDir: string): NewTask {
  return {
    ...rest,
    ...(model === undefined ? {} : { model: withAbsoluteScriptPath(model, baseDir) }),
    ...(verify === undefined ? {} : { verify: verify && toCrewCommand(verify) }),
    text,
    title: title ?? firstLine(text),
  }
}

const MAX_TITLE_CHARS = 100

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return truncate(line, MAX_TITLE_CHARS, '…')
}

function setupCommandOf({ setup: requested }: CrewUpBody, { setup = false }: FileCrew): Pick<CrewDefinition, 'setup'> {
  const command = requested === undefined ? setup : requested && toCrewCommand(requested)
  return command === false ? {} : { setup: command }
}

/** The verify commands of the crew and its roles. A command in the request overrides all of them. */
function verifyCommandsOf(
  { verify: requested }: CrewUpBody,
  { verify = false, workers = {} }: FileCrew,
): Pick<CrewDefinition, 'verify' | 'verifyBy'> {
  const crew = requested === undefined ? verify : requested && toCrewCommand(requested)
  const byRole =
    requested === undefined
      ? WORKER_ROLES.flatMap((role) => (workers[role]?.verify === undefined ? [] : [[role, workers[role].verify]]))
      : []
  return {
    ...(crew === false ? {} : { verify: crew }),
    ...(byRole.length > 0 ? { verifyBy: Object.fromEntries(byRole) as NonNullable<CrewDefinition['verifyBy']> } : {}),
  }
}

/** The first value that is not undefined. Null counts as a value. */
function firstDefined<T>(first: T | undefined, second: T | undefined, otherwise: T): T {
  return first !== undefined ? first : second !== undefined ? second : otherwise
}
