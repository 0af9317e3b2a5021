// Spawn and start: a request becomes a row, and a driver runs that row. Has the checks before a row exists. Must close interrupted calls
// before a driver continues. Test: test/tables/kernel/decide/spawn.test.ts.
import { KernelError } from '../model/errors.ts'
import { takesMessages } from '../model/capabilities.ts'
import { closeModelCall, closeOpenWork, closeCompaction } from './close-open-calls.ts'
import { addHold } from './holds/add-hold.ts'
import { payerChainOf } from '../state/limits.ts'
import { inheritedHolds } from './holds/release-holds.ts'
import { checkSpawner, authorizeSpec } from './authorize.ts'
import { checkChild, checkMember, supervisesChildren, registerChild } from './children.ts'
import { livingAncestors, livingChildren } from '../state/tree.ts'
import type { InputOf } from '../model/inputs.ts'
import type { Hold, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Uuid } from '../model/ids.ts'
import type { ProcessSpec } from '../model/process-spec.ts'

/** maximum number of levels of the process tree */
const MAX_DEPTH = 64
/** maximum number of characters of a name */
const MAX_NAME_CHARS = 64

/** Creates the row of a new process, and requests its start. Errors: those of the checks. */
export function spawnProcess(draft: DecisionDraft, input: InputOf<'spawn'>): void {
  const { uuid, by } = input
  const parent = checkParent(draft, input.parent)
  checkSpawner(draft, by, input.spec, input.parent)
  const { spec, note } = authorizeSpec(draft, { by, spec: withDefaultName(draft, input.spec, parent), before: null, parent: input.parent })
  checkTableHasRoom(draft)
  checkName(draft, spec.name)
  checkChild(draft, parent, spec)
  checkMember(parent, spec)
  if (draft.get(uuid)) throw new KernelError('CONFLICT', `${uuid} is in use`)
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH)
    throw new KernelError(
      'RESOURCE_EXHAUSTED',
      `processes can be nested at most ${MAX_DEPTH} levels deep`,
      undefined,
      'Start it from a process on a higher level.',
    )
  if (parent) checkTreeLimits(draft, parent, depth)
  const pid = draft.takePid()
  draft.emit(uuid, { type: 'process.spawned', pid, spec, parentUuid: input.parent, depth, by: input.by })
  if (takesMessages(spec) && spec.intent !== '') {
    draft.emit(uuid, { type: 'process.queue', id: 'intent', from: input.by, text: spec.intent })
  }
  if (note !== null) draft.emit(uuid, { type: 'process.note', text: note })
  if (parent) draft.emit(parent.uuid, { type: 'child.spawned', child: uuid, childPid: pid })
  registerChild(draft, draft.mustGet(uuid))
  draft.replyDone(input.reply, uuid, { note })
  draft.addEffect({ type: 'start', uuid, pid })
}

/** An unnamed child of a supervisor is named `SUPERVISOR.ID`, unless that name is taken. */
function withDefaultName(draft: DecisionDraft, spec: ProcessSpec, parent: Process | undefined): ProcessSpec {
  const parentName = parent?.spec.name ?? null
  if (spec.name !== null || spec.childId === undefined || parentName === null) return spec
  const name = `${parentName}.${spec.childId}`
  return name.length > MAX_NAME_CHARS || draft.findByName(name) !== undefined ? spec : { ...spec, name }
}

const TREE_LIMIT_HINT =
  'Wait until a child ends, or raise the limit: `reeve resume` takes `--max-children` and `--max-depth` for a suspended or ended process.'

/** Checks `maxChildren` of the parent, and `maxDepth` of the parent and its payers. Errors: RESOURCE_EXHAUSTED. */
function checkTreeLimits(draft: DecisionDraft, parent: Process, depth: number): void {
  const { maxChildren } = parent.spec.limits
  if (maxChildren !== undefined && livingChildren(draft, parent.uuid).length >= maxChildren)
    throw new KernelError(
      'RESOURCE_EXHAUSTED',
      `process ${parent.pid} can have at most ${maxChildren} children at a time`,
      undefined,
      TREE_LIMIT_HINT,
    )
  for (const {
    pid,
    spec: {
      limits: { maxDepth },
    },
    depth: accountDepth,
  } of payerChainOf(draft, parent)) {
    if (maxDepth !== undefined && depth - accountDepth > maxDepth)
      throw new KernelError(
        'RESOURCE_EXHAUSTED',
        `below process ${pid}, processes can be nested at most ${maxDepth} levels deep`,
        undefined,
        TREE_LIMIT_HINT,
      )
  }
}

/** Checks that one more active process fits. Errors: RESOURCE_EXHAUSTED. */
export function checkTableHasRoom(draft: DecisionDraft): void {
  if (draft.activeCount >= draft.maxProcesses) throw tableFullError(draft.activeCount, draft.maxProcesses)
}

export function tableFullError(active: number, most: number): KernelError {
  return new KernelError('RESOURCE_EXHAUSTED', `${active} processes are running; the limit is ${most}`)
}

/** Checks that no living process has the name. Errors: CONFLICT. */
export function checkName(draft: DecisionDraft, name: string | null): void {
  if (name === null) return
  const other = draft.findByName(name)
  if (other !== undefined) throw new KernelError('CONFLICT', `a living process is called "${name}"`, { uuid: other })
}

/** The reason why an ended process cannot restart automatically; null: it can. */
export function restartObstacle(draft: DecisionDraft, { name }: ProcessSpec): string | null {
  if (draft.activeCount >= draft.maxProcesses) return `${draft.activeCount} processes are running; the limit is ${draft.maxProcesses}`
  return name !== null && draft.findByName(name) !== undefined ? `another process is called "${name}"` : null
}

function checkParent(draft: DecisionDraft, uuid: Uuid | null): Process | undefined {
  if (uuid === null) return undefined
  const parent = draft.get(uuid)
  if (!parent || parent.life.state === 'zombie' || parent.life.state === 'dead')
    throw new KernelError('NOT_FOUND', `no living parent ${uuid}`)
  if (parent.life.state === 'running' && parent.life.stopping) throw new KernelError('INVALID', `parent ${parent.pid} is stopping`)
  if ([parent, ...livingAncestors(draft, parent)].some(hasPendingSubtreeStop))
    throw new KernelError('INVALID', `parent ${parent.pid} will be stopped, with all below it`)
  return parent
}

/** True while a mask defers the stop of the process and its subtree. A child that starts now would escape that stop. */
function hasPendingSubtreeStop({ signals }: Process): boolean {
  return signals.pending.some(({ signal, root }) => signal === 'SIGTERM' && root !== null)
}

/** Handles the daemon's answer to a `start` effect. Does nothing if the process has ended or was paused since then. */
export function startProcess(draft: DecisionDraft, input: InputOf<'start'>): void {
  const process = draft.get(input.uuid)
  if (!process || process.pid !== input.pid) return
  const { life } = process
  const needsDriver = life.state === 'running' && !life.attached && !life.stopping && life.holds.length === 0
  if (life.state !== 'created' && !needsDriver) return
  if (input.missingKeys.length > 0) holdForMissingKeys(draft, process, input.missingKeys)
  else if (life.state === 'created') startDriver(draft, process, input)
  else attachDriver(draft, process, input)
  if (supervisesChildren(process))
    draft.followUps.push({ type: 'supervisorStarted', uuid: process.uuid, endedChildren: input.endedChildren ?? [] })
}

function holdForMissingKeys(draft: DecisionDraft, process: Process, missing: readonly string[]): void {
  const hold: Hold = { reason: 'credentials', by: 'system', at: draft.now.wall }
  if (process.life.state === 'created') startOnHold(draft, process, hold)
  else addHold(draft, process.uuid, hold, false)
  draft.emit(process.uuid, { type: 'process.note', text: `needs ${missing.join(', ')}` })
}

type StartDetails = Pick<InputOf<'start'>, 'containment' | 'metered' | 'direct'>

function startDriver(draft: DecisionDraft, process: Process, { containment, metered, direct }: StartDetails): void {
  if (inheritedHolds(draft, process).length > 0) return startOnHold(draft, process)
  draft.emit(process.uuid, {
    type: 'process.started',
    mono: draft.now.mono,
    attached: true,
    containment,
    ...(metered ? { metered } : {}),
    ...(direct === undefined ? {} : { direct }),
  })
  closeCompaction(draft, process)
  closeOpenWork(draft, process)
  draft.addEffect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}

/**
 * Starts an incarnation that is held from the beginning, by inherited holds and by `own`. It gets a driver when its
 * last hold is released.
 */
export function startOnHold(draft: DecisionDraft, process: Process, ...own: readonly Hold[]): void {
  const holds = [...inheritedHolds(draft, process), ...own]
  draft.emit(process.uuid, { type: 'process.started', mono: draft.now.mono, attached: false, containment: null })
  closeCompaction(draft, process)
  closeOpenWork(draft, process)
  for (const hold of holds) addHold(draft, process.uuid, hold, false)
}

/** Gives a driver to a process that runs without one. Tool calls that may have begun were closed before. */
function attachDriver(draft: DecisionDraft, process: Process, { containment, metered, direct }: StartDetails): void {
  draft.emit(process.uuid, {
    type: 'process.attached',
    containment,
    ...(metered ? { metered } : {}),
    ...(direct === undefined ? {} : { direct }),
  })
  closeCompaction(draft, process)
  closeModelCall(draft, process.uuid)
  draft.addEffect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}
