// A crew as it was asked for: what stands in a file, with what the request says besides, and the defaults. Owns which word counts;
// reads files, and starts nothing. Test: test/e2e/crew-up.test.ts, test/tables/crew-definition.test.ts.
import { dirname, resolve } from 'node:path'
import { findCrew } from '../config/config.ts'
import { readTasks, type TaskFile } from '../config/crew-tasks.ts'
import { WORKER_ROLES, type CrewFile, type WorkerRoleName } from '../config/crews.ts'
import { canWork } from '../crew/finding.ts'
import { KernelError } from '../kernel/errors.ts'
import { checkName } from './specs.ts'
import type { CrewTaskBody, CrewUpBody, CrewWhoBody } from '../api/crew-up-views.ts'
import type { Paths } from '../config/paths.ts'
import type { NewTask } from '../crew/commands.ts'

export interface Definition {
  readonly name: string
  readonly cwd: string
  /** null: the engine */
  readonly coordinator: CrewWhoBody | null
  readonly staff: readonly { readonly role: WorkerRoleName; readonly count: number }[]
  /** who has a role, in place of what the crew says */
  readonly who: { readonly [R in WorkerRoleName]?: CrewWhoBody }
  readonly all: CrewWhoBody
  readonly gate: 'auto' | 'coordinator' | 'human'
  readonly merge: 'auto' | 'leave'
  readonly reviews: boolean
  readonly worktrees: boolean
  readonly stay: boolean
  readonly maxAttempts: number
  readonly maxWorkers: number
  readonly handOver: number | null
  readonly tasks: readonly NewTask[]
}

const ATTEMPTS = 3
const HAND_OVER = 0.9

/** Errors: AGENT_INVALID with the place of what is wrong in a file, INVALID. */
export async function definitionOf(body: CrewUpBody, paths: Paths): Promise<Definition> {
  const { name, crew, at } = await written(body, paths)
  checkName(body.name ?? name)
  const tasks = await tasksOf(body, crew)
  const reviews = body.reviews ?? crew.reviews ?? true
  const staff = staffOf(body, crew, reviews)
  const coordinator = said(coordinatorOf(body.coordinator, body.cwd), crew.coordinator && fromHere(crew.coordinator, at), null)
  if (staff.length === 0 && coordinator === null) throw new KernelError('INVALID', 'it has no workers, and the engine starts none before one was lost')
  const maxWorkers = roomFor(body, crew, staff)
  if (coordinator === null) checkAble(tasks, staff, maxWorkers)
  const stay = body.stay ?? crew.stay ?? false
  if (tasks.length === 0 && !stay && coordinator === null) throw new KernelError('INVALID', 'what is it to do? It has no tasks', undefined, 'Give --tasks FILE, or --stay to add tasks later with `reeve crew add`.')
  const gate = body.gate ?? crew.gate ?? 'auto'
  if (gate === 'coordinator' && coordinator === null) throw new KernelError('INVALID', 'the gate `coordinator` needs a coordinator that is an agent: the engine says yes to all')
  return {
    name: body.name ?? name, cwd: crew.cwd ?? body.cwd, coordinator, staff, tasks, reviews, gate, stay,
    who: Object.fromEntries(WORKER_ROLES.flatMap((role) => (crew.workers?.[role] ? [[role, fromHere(crew.workers[role], at)]] : []))),
    all: { ...fromHere(crew, at), ...fromHere(body, body.cwd) },
    merge: body.merge ?? crew.merge ?? 'auto',
    worktrees: body.worktrees ?? crew.worktrees ?? true,
    maxAttempts: body.maxAttempts ?? crew.maxAttempts ?? ATTEMPTS,
    maxWorkers,
    handOver: said(body.handOver, crew.handOver, HAND_OVER),
  }
}

/** Errors: INVALID where not even those that it begins with may live; a flag for more of them than the file lets live means it so. */
function roomFor({ workers, maxWorkers }: CrewUpBody, crew: CrewFile, staff: Definition['staff']): number {
  const count = staff.reduce((sum, one) => sum + one.count, 0)
  const asked = maxWorkers ?? crew.maxWorkers
  const isMeant = maxWorkers !== undefined || workers === undefined
  if (asked !== undefined && asked < count && isMeant) throw new KernelError('INVALID', `it begins with ${count} workers, and ${asked} may live`, undefined, 'Give it fewer workers, or a greater max_workers (--max-workers).')
  return Math.max(asked ?? 1, count)
}

/** The engine starts others where there is room. Errors: INVALID with the first task that nobody could ever do. */
function checkAble(tasks: readonly NewTask[], staff: Definition['staff'], maxWorkers: number): void {
  if (staff.reduce((sum, { count }) => sum + count, 0) < maxWorkers) return
  const lost = tasks.find(({ kind = 'work', role = null }) => kind === 'work' && !staff.some((one) => canWork(one.role, { role })))
  if (lost) throw new KernelError('INVALID', `no worker of it could do ${lost.id === undefined ? '' : `${lost.id} `}"${lost.title}": it has ${staff.map(({ role, count }) => `${count} ${role}`).join(', ')}`, undefined, 'Give it an implementer, or a generic one, or room for another (--max-workers).')
}

interface Written {
  readonly name: string
  readonly crew: CrewFile
  /** where its relative names begin */
  readonly at: string
}

/** What a file says; nothing where the request says enough by itself. */
async function written(body: CrewUpBody, paths: Paths): Promise<Written> {
  const isWhole = body.file === undefined && body.tasks !== undefined
  try {
    const { name, crew, file } = await findCrew(body.crew, { cwd: body.cwd, paths, ...(body.file === undefined ? {} : { file: body.file }) })
    return { name, crew, at: dirname(file) }
  } catch (error) {
    const isMissing = error instanceof KernelError && /has no crews$|^there is no crew /.test(error.message)
    if (!isMissing) throw error
    if (isWhole || (body.file === undefined && body.stay && body.workers !== undefined)) return { name: body.crew ?? 'crew', crew: {}, at: body.cwd }
    throw new KernelError('AGENT_INVALID', error.message.replace(/^(?=.*\/config\.yaml has no crews$)/, 'there is no reeve.yaml here, and '), error.details, 'Write it below `crews:` in reeve.yaml (docs/crews.md), or say all with flags: `reeve crew up --workers 2 --tasks tasks.md`.')
  }
}

function staffOf({ workers }: CrewUpBody, crew: CrewFile, reviews: boolean): Definition['staff'] {
  const counts: { readonly [R in WorkerRoleName]?: number } = typeof workers === 'number' ? { generic: workers } : (workers ?? Object.fromEntries(Object.entries(crew.workers ?? {}).map(([role, { count }]) => [role, count])))
  const staff = WORKER_ROLES.flatMap((role) => {
    const count = counts[role] ?? 0
    return count > 0 ? [{ role, count }] : []
  })
  if (staff.length > 0 || workers !== undefined || crew.workers) return staff
  // Nobody reviews what they wrote.
  return [{ role: 'generic', count: reviews ? 2 : 1 }]
}

function coordinatorOf(asked: CrewUpBody['coordinator'], cwd: string): CrewWhoBody | null | undefined {
  if (asked === undefined) return undefined
  if (typeof asked === 'string') return asked === 'engine' ? null : { agent: asked }
  return fromHere(asked, cwd)
}

/** A script is named from where the word stands. */
function fromHere({ agent, model, permissions, limits }: CrewWhoBody, at: string): CrewWhoBody {
  const whole = model?.startsWith('script:') ? `script:${resolve(at, model.slice('script:'.length))}` : model
  return { ...(agent === undefined ? {} : { agent }), ...(whole === undefined ? {} : { model: whole }), ...(permissions === undefined ? {} : { permissions }), ...(limits === undefined ? {} : { limits }) }
}

async function tasksOf(body: CrewUpBody, crew: CrewFile): Promise<readonly NewTask[]> {
  const tasks = body.tasks ?? crew.tasks ?? []
  return (typeof tasks === 'string' ? await readTasks(tasks) : tasks).map(newTask)
}

function newTask({ title, text, ...rest }: CrewTaskBody | TaskFile): NewTask {
  return { ...rest, text, title: title ?? firstLine(text) }
}

const TITLE_CHARS = 100

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length <= TITLE_CHARS ? line : `${line.slice(0, TITLE_CHARS - 1).toWellFormed()}…`
}

/** Null is said, too. */
function said<T>(first: T | undefined, second: T | undefined, otherwise: T): T {
  return first !== undefined ? first : second !== undefined ? second : otherwise
}
