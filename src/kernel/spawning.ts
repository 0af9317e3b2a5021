// Spawn and start: from a request to a row, and from a row to a driver that is asked to run it.
// Owns the checks before a row exists, and how work that was cut off is closed before a driver goes on with it.
// Test: test/tables/spawning.test.ts.
import { KernelError } from './errors.ts'
import { takesMessages } from './capabilities.ts'
import { closeModelCall, closeOpenWork, closeSummary } from './closing.ts'
import { hold } from './holding.ts'
import { accountsOver } from './limits.ts'
import { inheritedHolds } from './pausing.ts'
import { checkSpawner, permitted } from './permitting.ts'
import { checkChild, checkMember, keepsChildren, noteChild } from './children.ts'
import { livingAncestors, livingChildren } from './tree.ts'
import type { InputOf } from './inputs.ts'
import type { Hold, Process, ProcessSpec, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

const MAX_DEPTH = 64
/** characters of a name */
const MAX_NAME = 64

export function spawn(work: Work, input: InputOf<'spawn'>): void {
  const { uuid, by } = input
  const parent = checkParent(work, input.parent)
  checkSpawner(work, by, input.spec, input.parent)
  const { spec, note } = permitted(work, { by, spec: called(work, input.spec, parent), before: null, parent: input.parent })
  checkRoom(work)
  checkName(work, spec.name)
  checkChild(work, parent, spec)
  checkMember(parent, spec)
  if (work.get(uuid)) throw new KernelError('CONFLICT', `${uuid} is in use`)
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH) throw new KernelError('RESOURCE_EXHAUSTED', `processes may be nested ${MAX_DEPTH} deep`)
  if (parent) checkFamily(work, parent, depth)
  const pid = work.takePid()
  work.emit(uuid, { type: 'process.spawned', pid, spec, parentUuid: input.parent, depth, by: input.by })
  if (takesMessages(spec) && spec.intent !== '') {
    work.emit(uuid, { type: 'process.queue', id: 'intent', from: input.by, text: spec.intent })
  }
  if (note !== null) work.emit(uuid, { type: 'process.note', text: note })
  if (parent) work.emit(parent.uuid, { type: 'child.spawned', child: uuid, childPid: pid })
  noteChild(work, work.need(uuid))
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note } })
  work.effect({ type: 'start', uuid, pid })
}

/** A child of a supervisor that nobody named is called by its place, `SUPERVISOR.ID`, if nobody else is. */
function called(work: Work, spec: ProcessSpec, parent: Process | undefined): ProcessSpec {
  const family = parent?.spec.name ?? null
  if (spec.name !== null || spec.childId === undefined || family === null) return spec
  const name = `${family}.${spec.childId}`
  return name.length > MAX_NAME || work.named(name) !== undefined ? spec : { ...spec, name }
}

/** Errors: RESOURCE_EXHAUSTED where it has as many children as it may have, or it or one who pays for it may have none so deep. */
function checkFamily(work: Work, parent: Process, depth: number): void {
  const { maxChildren } = parent.spec.limits
  if (maxChildren !== undefined && livingChildren(work, parent.uuid).length >= maxChildren) throw new KernelError('RESOURCE_EXHAUSTED', `process ${parent.pid} may have ${maxChildren} children at a time`)
  for (const { pid, spec: { limits: { maxDepth } }, depth: top } of accountsOver(work, parent)) {
    if (maxDepth !== undefined && depth - top > maxDepth) throw new KernelError('RESOURCE_EXHAUSTED', `below process ${pid} processes may be nested ${maxDepth} deep`)
  }
}

export function checkRoom(work: Work): void {
  if (work.active < work.maxProcesses) return
  throw new KernelError('RESOURCE_EXHAUSTED', `${work.active} processes run, and ${work.maxProcesses} may`)
}

export function checkName(work: Work, name: string | null): void {
  if (name === null) return
  const other = work.named(name)
  if (other !== undefined) throw new KernelError('CONFLICT', `a living process is called "${name}"`, { uuid: other })
}

/** Why one that has ended cannot come back by itself; null: it can. */
export function placeTaken(work: Work, { name }: ProcessSpec): string | null {
  if (work.active >= work.maxProcesses) return `${work.active} processes run, and ${work.maxProcesses} may`
  return name !== null && work.named(name) !== undefined ? `another process is called "${name}"` : null
}

function checkParent(work: Work, uuid: Uuid | null): Process | undefined {
  if (uuid === null) return undefined
  const parent = work.get(uuid)
  if (!parent || parent.life.state === 'zombie' || parent.life.state === 'dead') throw new KernelError('NOT_FOUND', `no living parent ${uuid}`)
  if (parent.life.state === 'running' && parent.life.stopping) throw new KernelError('INVALID', `parent ${parent.pid} is stopping`)
  if ([parent, ...livingAncestors(work, parent)].some(mustEndWithSubtree)) throw new KernelError('INVALID', `parent ${parent.pid} is to be stopped, with all below it`)
  return parent
}

/** The stop of its subtree waits behind a mask: who is born meanwhile would escape it. */
function mustEndWithSubtree({ signals }: Process): boolean {
  return signals.pending.some(({ signal, root }) => signal === 'SIGTERM' && root !== null)
}

/** The daemon's answer to a `start` effect; things may have changed since, and then it does nothing. */
export function start(work: Work, input: InputOf<'start'>): void {
  const process = work.get(input.uuid)
  if (!process || process.pid !== input.pid) return
  const { life } = process
  const idle = life.state === 'running' && !life.attached && !life.stopping && life.holds.length === 0
  if (life.state !== 'created' && !idle) return
  if (input.missingKeys.length > 0) waitForKeys(work, process, input.missingKeys)
  else if (life.state === 'created') begin(work, process, input)
  else attach(work, process, input)
  if (keepsChildren(process)) work.news.push({ type: 'begun', uuid: process.uuid, kin: input.kin ?? [] })
}

function waitForKeys(work: Work, process: Process, missing: readonly string[]): void {
  const keys: Hold = { reason: 'credentials', by: 'system', at: work.now.wall }
  if (process.life.state === 'created') beginHeld(work, process, keys)
  else hold(work, process.uuid, keys, false)
  work.emit(process.uuid, { type: 'process.note', text: `needs ${missing.join(', ')}` })
}

type Beginning = Pick<InputOf<'start'>, 'containment' | 'metered' | 'direct'>

function begin(work: Work, process: Process, { containment, metered, direct }: Beginning): void {
  if (inheritedHolds(work, process).length > 0) return beginHeld(work, process)
  work.emit(process.uuid, { type: 'process.started', mono: work.now.mono, attached: true, containment, ...(metered ? { metered } : {}), ...(direct === undefined ? {} : { direct }) })
  closeSummary(work, process)
  closeOpenWork(work, process.uuid)
  work.effect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}

/** A process that is paused before it began runs without a driver until its last hold is gone: those it was born under, and its own. */
export function beginHeld(work: Work, process: Process, ...own: readonly Hold[]): void {
  const holds = [...inheritedHolds(work, process), ...own]
  work.emit(process.uuid, { type: 'process.started', mono: work.now.mono, attached: false, containment: null })
  closeSummary(work, process)
  closeOpenWork(work, process.uuid)
  for (const held of holds) hold(work, process.uuid, held, false)
}

/** A placeholder gets its driver: its calls that may have begun were closed when it came back. */
function attach(work: Work, process: Process, { containment, metered, direct }: Beginning): void {
  work.emit(process.uuid, { type: 'process.attached', containment, ...(metered ? { metered } : {}), ...(direct === undefined ? {} : { direct }) })
  closeSummary(work, process)
  closeModelCall(work, process.uuid)
  work.effect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}

/** A message into the queue. Errors: RESOURCE_EXHAUSTED at 1,000. */
export function enqueue(work: Work, uuid: Uuid, message: { readonly id: string; readonly from: Sender; readonly text: string; readonly urgent?: true }): void {
  if (isQueueFull(work.need(uuid))) throw new KernelError('RESOURCE_EXHAUSTED', `${MAX_QUEUE} messages wait already`)
  work.emit(uuid, { type: 'process.queue', ...message })
}

export function isQueueFull(process: Process): boolean {
  return process.queue.length >= MAX_QUEUE
}

/** messages per process */
const MAX_QUEUE = 1_000
