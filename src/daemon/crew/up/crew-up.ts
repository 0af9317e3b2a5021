// `crew up`: starts a crew with its tasks, from a file and a request, or only plans it. Every check runs before anything starts.
// Test: test/e2e/crew/up.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { listCopies } from '../../../drivers/git/copy-to-worktree.ts'
import { Git, GitError, gitUser } from '../../../drivers/git/git.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { resolveDefinition, type CrewDefinition } from './definition.ts'
import { crewUpCommandLine } from './restart-command.ts'
import { checkCheckout, findCrewRepository, type CrewRepository, type RepositoryRequest } from './repository.ts'
import { crewPlanView } from './plan.ts'
import { planTakeOver, type TakeOver } from './take-over.ts'
import { withHomeLimits } from '../../operations/home-limits.ts'
import { killInput, undoSpawn } from '../../operations/undo-spawn.ts'
import { buildTaskAgentTemplates, type TaskAgentTemplate } from './task-agents.ts'
import { buildRoleTemplates, type MemberTemplates, type MemberTemplatesDeps } from './member-specs.ts'
import type { CrewPlanView, CrewUpBody, CrewUpView } from '../../../api/views/crew-up.ts'
import type { NewTask } from '../../../kernel/model/crew/commands.ts'
import type { Store } from '../../../store/store.ts'
import type { ContainmentManager } from '../../../drivers/contain/containment-contract.ts'
import type { Credentials } from '../../incarnation/credentials.ts'
import type { Clock } from '../../loop/clock.ts'
import type { Pipeline } from '../../loop/pipeline.ts'
import { viaOf, type Requester } from '../../loop/requester.ts'
import type { ProcessQueries } from '../../views/process-queries.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { CrewProcessSpec } from '../../../kernel/model/process-spec.ts'

export interface CrewUpDeps extends MemberTemplatesDeps, Partial<Requester> {
  readonly pipeline: Pipeline
  readonly reads: ProcessQueries
  readonly store: Pick<Store, 'tail'>
  readonly credentials: Credentials
  readonly containments: ContainmentManager
  readonly clock: Pick<Clock, 'now'>
  readonly tmpDir: string
  /** throws while nothing new may start */
  readonly checkMayStart: () => void
}

/** maximum number of skipped files that notes name */
const MAX_NAMED_SKIPPED = 20

/** A crew that has passed all checks and is ready to start. */
interface PreparedCrew {
  readonly definition: CrewDefinition
  readonly spec: CrewProcessSpec
  readonly templates: MemberTemplates
  /** the specs of workers for tasks that name an agent or a model */
  readonly taskTemplates: readonly TaskAgentTemplate[]
  readonly crewRepository: CrewRepository | null
  readonly takeOver: TakeOver
  readonly notes: string[]
}

/** Starts a crew. Errors: those of a spawn, of files (AGENT_INVALID) and of the repository. After an error, nothing was started. */
export async function startCrew(body: CrewUpBody, deps: CrewUpDeps): Promise<CrewUpView> {
  const {
    spec,
    templates,
    taskTemplates,
    takeOver: { tasks },
    crewRepository,
    notes,
  } = await prepareCrew(body, deps, false)
  const uuid = uuidv7()
  try {
    await resolveKeys(uuid, templates, taskTemplates, deps.credentials)
    await submitRequests(uuid, spec, tasks, deps)
  } catch (error) {
    deps.credentials.forget(uuid)
    throw error
  }
  const { reads } = deps
  return {
    version: 1,
    process: reads.view(await reads.get(uuid)),
    branch: crewRepository?.git.branch ?? null,
    base: crewRepository?.git.base ?? null,
    tasks: tasks.length,
    notes,
  }
}

/** The plan of a request, with the errors that its start would have. Starts, creates and keeps nothing. */
export async function planCrew(body: CrewUpBody, deps: CrewUpDeps): Promise<CrewPlanView> {
  const { definition, spec, templates, taskTemplates, crewRepository, takeOver, notes } = await prepareCrew(body, deps, true)
  const copies = crewRepository ? await findCopies(spec, deps) : { copied: [], notes: [] }
  const uuid = uuidv7()
  await resolveKeys(uuid, templates, taskTemplates, deps.credentials).finally(() => deps.credentials.forget(uuid))
  return crewPlanView({
    definition,
    spec,
    taskTemplates,
    crewRepository,
    takeOver,
    copied: copies.copied,
    notes: [...notes, ...copies.notes],
  })
}

/** The files that would be copied into each worktree, and notes about skipped files. An error of git becomes a note. */
async function findCopies(
  { cwd, crew }: CrewProcessSpec,
  deps: CrewUpDeps,
): Promise<{ readonly copied: readonly string[]; readonly notes: readonly string[] }> {
  await using git = openGit(deps)
  try {
    const { files, skipped } = await listCopies(git, Object.values(crew.roles)[0]?.env ?? {}, {
      from: cwd,
      patterns: crew.copy ?? [],
    })
    return {
      copied: files,
      notes: skipped.slice(0, MAX_NAMED_SKIPPED).map(({ name, why }) => `${name} is not copied into worktrees: ${why}`),
    }
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return { copied: [], notes: [error.message] }
  }
}

function openGit({ containments, tmpDir }: CrewUpDeps): Git {
  return new Git((network) => containments.open(containments.plan(uuidv7(), 0, 'auto'), tmpDir, network))
}

async function prepareCrew(body: CrewUpBody, deps: CrewUpDeps, isPlan: boolean): Promise<PreparedCrew> {
  deps.checkMayStart()
  const definition = await resolveDefinition(body, deps.paths)
  const templates = await buildRoleTemplates(definition, body, deps)
  const env = Object.values(templates.roles)[0]?.env ?? {}
  await using git = openGit(deps)
  const crewRepository = definition.worktrees
    ? await resolveRepository(
        git,
        { name: definition.name, cwd: definition.cwd, files: definition.files, env, isPlan },
        { templates, tmpDir: deps.tmpDir },
      )
    : null
  const takeOver = await planTakeOver(definition, crewRepository?.git ?? null, env, {
    reads: deps.reads,
    store: deps.store,
    git: crewRepository ? git : null,
    now: deps.clock.now().wall,
    isPlan,
  })
  const restartCommand = crewUpCommandLine(body)
  const taskTemplates = await buildTaskAgentTemplates(
    takeOver.tasks,
    { roles: templates.roles, staff: definition.staff },
    { ...body.env, ...templates.secrets },
    deps,
  )
  return {
    definition,
    templates,
    taskTemplates,
    crewRepository,
    takeOver,
    spec: withHomeLimits(
      crewProcessSpec(definition, templates, crewRepository, restartCommand),
      deps.settings.limits,
      deps.parentUuid ?? null,
    ),
    notes: [...takeOver.notes, ...templates.notes, ...(crewRepository?.notes ?? [])],
  }
}

/** Requests the spawn and the tasks together, so that no crew exists without its tasks. */
async function submitRequests(
  uuid: Uuid,
  spec: CrewProcessSpec,
  tasks: readonly NewTask[],
  { pipeline, reads, parentUuid = null, via }: CrewUpDeps,
): Promise<void> {
  const requests = [pipeline.request({ type: 'spawn', by: 'user', uuid, spec, parent: parentUuid, ...viaOf(via) })]
  if (tasks.length > 0)
    requests.push(pipeline.request({ type: 'crew', by: 'user', uuid, command: { type: 'add_tasks', tasks }, ...viaOf(via) }))
  const failure = (await Promise.allSettled(requests)).find((result) => result.status === 'rejected')
  if (!failure) return
  throw await undoSpawn(failure.reason, [uuid], {
    find: (started) => reads.find(started),
    kill: (started) => pipeline.request(killInput(started)),
  })
}

async function resolveRepository(
  git: Git,
  request: RepositoryRequest,
  { templates: { roles }, tmpDir }: { readonly templates: MemberTemplates; readonly tmpDir: string },
): Promise<CrewRepository> {
  const crewRepository = await findCrewRepository(git, request)
  const worker = Object.entries(roles).find(([role]) => role !== 'coordinator')?.[1]
  if (worker)
    await checkCheckout(git, { ...gitUser(worker), repository: crewRepository.git.repository, commit: crewRepository.git.base, tmpDir })
  return crewRepository
}

/** Resolves the keys of all roles, and keeps them for the crew and its later members. */
async function resolveKeys(
  uuid: Uuid,
  { roles, secrets }: MemberTemplates,
  taskTemplates: readonly TaskAgentTemplate[],
  credentials: Credentials,
): Promise<void> {
  let values: Readonly<Record<string, string>> = {}
  const requirements = [
    ...Object.entries(roles).map(([role, spec]) => ({ role, spec, secrets })),
    ...taskTemplates.map((taskTemplate) => ({ ...taskTemplate, secrets: { ...secrets, ...taskTemplate.secrets } })),
  ]
  for (const { role, spec, secrets: roleSecrets } of requirements) {
    const resolved = await credentials.resolveAndKeep({ uuid, spec }, roleSecrets)
    if (resolved.missing.length > 0)
      throw new KernelError(
        'CREDENTIALS_MISSING',
        `${spec.model ?? spec.agent}, for the role ${role}, needs ${resolved.missing.join(', ')}`,
        {
          missing: resolved.missing,
        },
      )
    values = { ...values, ...credentials.storedKeys(uuid) }
  }
  credentials.keep(uuid, values)
}

function crewProcessSpec(
  {
    name,
    cwd,
    coordinator,
    staff,
    commonAgent,
    tasks,
    gate,
    merge,
    reviews,
    maxAttempts,
    maxWorkers,
    handOver,
    stay,
    verify,
    verifyBy,
    setup,
    copy,
  }: CrewDefinition,
  { roles }: MemberTemplates,
  crewRepository: CrewRepository | null,
  restartCommand: string | null,
): CrewProcessSpec {
  return {
    name,
    cwd,
    agent: 'crew',
    driver: 'crew',
    intent: `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}`,
    interactive: false,
    model: null,
    system: null,
    tools: null,
    deny: [],
    argv: null,
    env: Object.values(roles)[0]?.env ?? {},
    credentials: [],
    containment: 'group',
    limits: commonAgent.limits ?? {},
    crew: {
      coordinator: coordinator ? 'agent' : 'engine',
      gate,
      merge,
      reviews,
      maxAttempts,
      maxWorkers,
      staff,
      git: crewRepository?.git ?? null,
      handOver,
      ...(restartCommand === null ? {} : { again: restartCommand }),
      stay,
      roles,
      ...(verify && { verify }),
      ...(verifyBy && { verifyBy }),
      ...(setup && { setup }),
      ...(copy.length > 0 ? { copy } : {}),
    },
  }
}
