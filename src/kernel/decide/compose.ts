// Runs of compose files: handles the start of a run, the ends of its nodes, answers to build requests, and resumes by the user. Turns the
// decisions of src/kernel/compose/run.ts into facts and new incarnations. Must never start a node twice: each build request has a number,
// and an answer with another number changes nothing. Tests: test/tables/kernel/decide/compose.test.ts, test/simulation/compose.test.ts.
import { decideAfterEnd, isFinalState, nextRunFact, nextRequestNumber, outcomeText } from '../compose/run.ts'
import { dependentsOf } from '../util/graph.ts'
import { resumeSource } from '../model/capabilities.ts'
import { canSupervise, registerChild } from './children.ts'
import { KernelError } from '../model/errors.ts'
import { makeFork } from './fork.ts'
import { isPauseHold } from '../model/holds.ts'
import { releaseHolds } from './holds/release-holds.ts'
import { restartNow, jitterOf } from './restart.ts'
import { startNewIncarnation, resumeProcess } from './resume.ts'
import { composeSpecOf, isComposeRun, composeRunOf } from '../compose/run-row.ts'
import { restartObstacle, spawnProcess } from './spawn.ts'
import { isLiving } from '../model/status.ts'
import type { ComposeNode } from '../model/compose.ts'
import type { InputOf } from '../model/inputs.ts'
import type { ExitStatus, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'
import type { NodeSpec } from '../model/process-spec.ts'
import { STOP_GRACE_MS } from '../model/signals.ts'

function asSender({ uuid }: Pick<Process, 'uuid'>): Sender {
  return `agent:${uuid}`
}

/** Records all facts that are due, and requests the nodes that can start. True when every node has a final state: the run then ends. */
export function advanceRun(draft: DecisionDraft, uuid: Uuid): boolean {
  for (let run = draft.mustGet(uuid); canSupervise(run); run = draft.mustGet(uuid)) {
    const fact = nextRunFact(composeSpecOf(run), composeRunOf(run))
    if (!fact) return false
    draft.emit(uuid, fact)
    if (fact.type === 'compose.starting') draft.addEffect({ type: 'compose.start', uuid, pid: run.pid, node: fact.node, ask: fact.ask })
    if (fact.type !== 'compose.finished') continue
    const reason = outcomeText(fact.outcome)
    const exit: ExitStatus = { code: reason === 'completed' ? 0 : 1, reason, cause: 'agent' }
    draft.emit(uuid, {
      type: 'process.stopping',
      stopping: { signal: 'SIGTERM', by: asSender(run), at: draft.now.wall, graceMs: STOP_GRACE_MS, exit },
    })
    return true
  }
  return false
}

/** Completes, fails, cancels or restarts a node whose process has ended. */
export function finishOrRestartNode(draft: DecisionDraft, run: Process, process: Process, exit: ExitStatus): void {
  const node = composeRunOf(run).nodes.find((candidate) => candidate.uuid === process.uuid && candidate.state === 'running')
  if (!node) return
  const canContinue = resumeSource(process) !== 'rerun' || process.clock.startedAt === null
  const decision = decideAfterEnd(nodeSpecOf(run, node.name), node, { exit, canContinue, chance: jitterOf(process) })
  if (decision.do === 'complete') draft.emit(run.uuid, { type: 'compose.completed', node: node.name, child: process.uuid })
  else if (decision.do === 'cancel')
    draft.emit(run.uuid, {
      type: 'compose.cancelled',
      node: node.name,
      reason: exit.cause === 'parent' && isStopping(run) ? 'stopped with its run' : decision.reason,
    })
  else if (decision.do === 'fail' || isStopping(run))
    draft.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: 'reason' in decision ? decision.reason : exit.reason })
  else {
    const { attempt, delayMs } = decision.do === 'retry' ? decision : { attempt: 0, delayMs: 0 }
    if (decision.do === 'retry')
      draft.emit(run.uuid, { type: 'compose.retrying', node: node.name, child: process.uuid, attempt, cause: exit.reason, delayMs })
    restartNode(draft, run, process, { exit, attempt, delayMs, node })
  }
}

interface NodeRestart {
  readonly node: ComposeNode
  readonly exit: ExitStatus
  readonly attempt: number
  readonly delayMs: number
}

/** Restarts a node's process, which waits while its run is paused. A process that cannot restart fails its node. */
function restartNode(draft: DecisionDraft, run: Process, process: Process, { node, exit, attempt, delayMs }: NodeRestart): void {
  const obstacle = restartObstacle(draft, process.spec)
  if (obstacle !== null) {
    draft.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: `it cannot restart: ${obstacle}` })
    return
  }
  restartNow(draft, process, { by: asSender(run), exit, attempt, delayMs: canSupervise(run) ? delayMs : null })
}

function isStopping({ life }: Process): boolean {
  return life.state === 'running' && life.stopping !== null
}

function nodeSpecOf(run: Process, name: string): NodeSpec {
  const found = composeSpecOf(run).nodes.find((node) => node.name === name)
  if (!found) throw new KernelError('INTERNAL', `run ${run.uuid} has no node "${name}"`)
  return found
}

/**
 * Recovers the nodes of a run that starts, possibly after the end of a daemon: restarts running nodes, and repeats build
 * requests. `endedChildren`: rows of ended processes of its nodes.
 */
export function continueRun(draft: DecisionDraft, uuid: Uuid, endedChildren: readonly Process[]): void {
  for (const node of composeRunOf(draft.mustGet(uuid)).nodes) {
    if (node.uuid !== null)
      recoverNode(draft, draft.mustGet(uuid), node, draft.get(node.uuid) ?? endedChildren.find((dead) => dead.uuid === node.uuid))
  }
  requestStartingNodes(draft, uuid)
}

function recoverNode(draft: DecisionDraft, run: Process, node: ComposeNode, row: Process | undefined): void {
  if (row && isLiving(row)) {
    if (row.parent !== run.uuid) draft.emit(row.uuid, { type: 'process.reparented', parent: run.uuid })
    // A living process was resumed by the user while the run was not running.
    return markNodeResumed(draft, run, row)
  }
  if (!row && node.state === 'running') draft.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: 'its process was removed' })
  if (row?.life.state !== 'dead') return
  const { exit } = row.life
  draft.loadEnded(row)
  if (node.state === 'running' && exit.cause !== 'parent') return finishOrRestartNode(draft, run, row, exit)
  // A process that was stopped together with its run also continues together with that run.
  if (exit.cause !== 'parent' || (node.state !== 'running' && node.state !== 'cancelled')) return
  if (node.state === 'cancelled') draft.emit(run.uuid, { type: 'compose.resumed', node: node.name, child: row.uuid, by: asSender(run) })
  restartNode(draft, draft.mustGet(run.uuid), row, { node, exit, attempt: 0, delayMs: 0 })
}

/** Repeats the build requests of a run, because an answer may have been refused during a pause, or lost with the daemon. */
export function requestStartingNodes(draft: DecisionDraft, uuid: Uuid): void {
  if (!canSupervise(draft.mustGet(uuid))) return
  for (const { name } of composeRunOf(draft.mustGet(uuid)).nodes.filter(({ state }) => state === 'starting')) {
    const run = draft.mustGet(uuid)
    const ask = nextRequestNumber(composeRunOf(run))
    draft.emit(uuid, { type: 'compose.starting', node: name, ask })
    draft.addEffect({ type: 'compose.start', uuid, pid: run.pid, node: name, ask })
  }
}

/** Starts a node that the daemon has built, or fails it. Errors: CONFLICT for an answer to an outdated request, which changes nothing. */
export function startBuiltNode(draft: DecisionDraft, input: InputOf<'composeNode'>): void {
  const { uuid, node: name, ask, made, reply, by, now } = input
  const run = draft.get(uuid)
  const node = run && isComposeRun(run) ? composeRunOf(run).nodes.find((candidate) => candidate.name === name) : undefined
  if (!run || !canSupervise(run) || node?.state !== 'starting' || node.ask !== ask)
    throw new KernelError('CONFLICT', `node "${name}" is no longer requested`)
  if ('error' in made) {
    draft.emit(uuid, { type: 'compose.failed', node: name, reason: made.error })
    draft.replyDone(reply, uuid, { affected: 0, note: made.error })
  } else {
    const problem = spawnNode(draft, { type: 'spawn', reply, by, now, uuid: made.uuid, spec: made.spec, parent: uuid })
    if (problem === null) draft.emit(uuid, { type: 'compose.started', node: name, child: made.uuid })
    else {
      draft.emit(uuid, { type: 'compose.failed', node: name, reason: problem })
      draft.addEffect({ type: 'refuse', to: reply, code: 'CONFLICT', message: problem })
    }
  }
  draft.followUps.push({ type: 'runChanged', uuid })
}

/** Spawns a node's process. Returns null, or why it was refused: all checks precede the first fact. */
function spawnNode(draft: DecisionDraft, input: InputOf<'spawn'>): string | null {
  try {
    spawnProcess(draft, input)
    return null
  } catch (error) {
    if (error instanceof KernelError && error.code !== 'INTERNAL') return error.message
    throw error
  }
}

/**
 * Makes a finished node run again, because the user resumed its process. Dependents that were blocked, or about to start
 * with its old result, wait for it again.
 */
export function markNodeResumed(draft: DecisionDraft, run: Process, { uuid }: Process): void {
  const node = composeRunOf(run).nodes.find((candidate) => candidate.uuid === uuid)
  if (!node || !isFinalState(node.state)) return
  draft.emit(run.uuid, { type: 'compose.resumed', node: node.name, child: uuid, by: 'user' })
  for (const name of dependentNodes(run, node.name)) {
    const { state } = requireNode(draft.mustGet(run.uuid), name)
    if (state === 'blocked' || state === 'starting') draft.emit(run.uuid, { type: 'compose.again', node: name, by: 'user' })
  }
}

/** The names of all direct and indirect dependents of a node. */
function dependentNodes(run: Process, name: string): readonly string[] {
  const { nodes } = composeSpecOf(run)
  const names = dependentsOf(
    nodes.map(({ name: id, needs }) => ({ id, needs })),
    [name],
  )
  return nodes.filter((node) => names.has(node.name)).map((node) => node.name)
}

type ResumeNodeInput = InputOf<'composeResume'>

/**
 * Resumes a node, or replaces its process by a fork. Its dependents run again afterwards. Errors: NOT_FOUND, INVALID,
 * and those of a resume.
 */
export function resumeNode(draft: DecisionDraft, input: ResumeNodeInput): void {
  const run = draft.get(input.uuid) ?? input.endedRow
  if (!run || !isComposeRun(run)) throw new KernelError('INVALID', `process ${run?.pid ?? input.uuid} is not a run of a compose file`)
  const node = requireNode(run, input.node)
  if (node.state === 'running') return wakeNode(draft, node, input)
  checkMayRun(draft, run, node.name)
  if (!isFinalState(node.state) && isLiving(run)) throw new KernelError('INVALID', `node "${node.name}" is about to start`)
  if (run.life.state === 'running' && run.life.stopping) throw new KernelError('INVALID', `run ${run.pid} is stopping`)
  if (!isLiving(run)) resumeRun(draft, run, input)
  // A resume by the user always wakes paused ancestors.
  else if (input.by === 'user') releaseHolds(draft, run.uuid, input.by, isPauseHold)
  for (const name of dependentNodes(run, node.name))
    if (requireNode(run, name).state !== 'waiting') resetNode(draft, run.uuid, name, input.by)
  const { uuid, note } = node.uuid === null ? resumeUnstartedNode(draft, run, node, input) : resumeEndedNode(draft, run, node.name, input)
  draft.replyDone(input.reply, uuid, { note })
  draft.followUps.push({ type: 'runChanged', uuid: run.uuid })
}

function requireNode(run: Process, name: string): ComposeNode {
  const { nodes } = composeRunOf(run)
  const node = nodes.find((candidate) => candidate.name === name)
  if (!node)
    throw new KernelError(
      'NOT_FOUND',
      `run ${run.spec.name ?? run.pid} has no node "${name}"; it has ${nodes.map((node) => node.name).join(', ')}`,
    )
  return node
}

/** Resumes the living process of a node like any other process. */
function wakeNode(
  draft: DecisionDraft,
  { name, uuid }: ComposeNode,
  { fork: forkRequest, message, by, reply, now, child }: ResumeNodeInput,
): void {
  if (uuid === null) throw new KernelError('INTERNAL', `node "${name}" runs without a process`)
  if (forkRequest) throw new KernelError('INVALID', `node "${name}" is running: a fork can replace it only after its end`)
  resumeProcess(draft, {
    type: 'resume',
    reply,
    by,
    now,
    uuid,
    endedRow: child,
    message,
    rerun: false,
    spec: null,
    subtree: false,
    only: false,
  })
}

/** Checks that a node may run again. Errors: INVALID if a needed node has not completed, or a dependent is running. */
function checkMayRun(draft: DecisionDraft, run: Process, name: string): void {
  const missing = nodeSpecOf(run, name)
    .needs.map((need) => requireNode(run, need))
    .find(({ state }) => state !== 'completed')
  if (missing)
    throw new KernelError(
      'INVALID',
      `node "${name}" needs "${missing.name}", which is ${missing.state}${isFinalState(missing.state) ? ': resume that' : ''}`,
    )
  const busy = dependentNodes(run, name)
    .map((other) => requireNode(run, other))
    .find((other) => isBusy(draft, run, other))
  if (busy) throw new KernelError('INVALID', `node "${busy.name}" depends on "${name}" and is running: wait for its end, or stop it first`)
}

/** True when the node is running or about to run. */
function isBusy(draft: DecisionDraft, run: Process, { state, uuid }: ComposeNode): boolean {
  if (state !== 'starting' && state !== 'running') return false
  const row = uuid === null ? undefined : draft.get(uuid)
  return isLiving(run) || (row !== undefined && isLiving(row))
}

/** Creates a new incarnation of an ended run. */
function resumeRun(draft: DecisionDraft, run: Process, { reply, by, now }: ResumeNodeInput): void {
  startNewIncarnation(draft, run, {
    type: 'resume',
    reply,
    by,
    now,
    uuid: run.uuid,
    endedRow: run,
    message: null,
    spec: null,
    rerun: false,
    subtree: false,
    only: true,
  })
  draft.addEffect({ type: 'start', uuid: run.uuid, pid: draft.mustGet(run.uuid).pid })
}

/** Makes the node wait again. It will get a new process; the old one no longer belongs to it. */
function resetNode(draft: DecisionDraft, uuid: Uuid, node: string, by: Sender): void {
  removeNodeChild(draft, uuid, node)
  draft.emit(uuid, { type: 'compose.again', node, by })
}

function removeNodeChild(draft: DecisionDraft, uuid: Uuid, id: string): void {
  const child = draft.mustGet(uuid).supervision?.children.find((candidate) => candidate.id === id)
  if (child) draft.emit(uuid, { type: 'supervisor.removed', id, child: child.uuid })
}

interface ResumedNode {
  /** the process that continues; the run, if the node gets a process later */
  readonly uuid: Uuid
  readonly note: string | null
}

/** Resumes a node that has had no process yet. */
function resumeUnstartedNode(
  draft: DecisionDraft,
  run: Process,
  { name, state }: ComposeNode,
  { by, fork: forkRequest, message }: ResumeNodeInput,
): ResumedNode {
  if (forkRequest || message) throw new KernelError('INVALID', `node "${name}" has had no process yet that could continue`)
  if (isFinalState(state)) resetNode(draft, run.uuid, name, by)
  return { uuid: run.uuid, note: null }
}

/** Resumes the ended process of a node, or forks it. */
function resumeEndedNode(draft: DecisionDraft, run: Process, name: string, input: ResumeNodeInput): ResumedNode {
  const { child: row, fork: forkRequest, by, reply, now, message, rerun } = input
  if (!row) throw new KernelError('NOT_FOUND', `the process of node "${name}" no longer exists`)
  const { uuid, note } = forkRequest
    ? forkNode(draft, run, row, input)
    : {
        uuid: row.uuid,
        note: startNewIncarnation(draft, row, {
          type: 'resume',
          reply,
          by,
          now,
          uuid: row.uuid,
          endedRow: row,
          message,
          rerun,
          spec: null,
          subtree: false,
          only: true,
        }),
      }
  draft.emit(run.uuid, { type: 'compose.resumed', node: name, child: uuid, by })
  draft.addEffect({ type: 'start', uuid, pid: draft.mustGet(uuid).pid })
  return { uuid, note }
}

/** Creates the fork, which takes the origin's place among the children of the run. */
function forkNode(
  draft: DecisionDraft,
  run: Process,
  origin: Process,
  { fork: forkRequest, by, reply, now, message, node: childId }: ResumeNodeInput,
): ResumedNode {
  if (!forkRequest) throw new KernelError('INTERNAL', 'forkNode needs a fork request')
  removeNodeChild(draft, run.uuid, childId)
  const name = origin.spec.name !== null && draft.findByName(origin.spec.name) === undefined ? origin.spec.name : null
  const note = makeFork(draft, {
    type: 'fork',
    reply,
    by,
    now,
    origin,
    message,
    ...forkRequest,
    spec: { ...forkRequest.spec, name },
    childId,
  })
  registerChild(draft, draft.mustGet(forkRequest.uuid))
  return { uuid: forkRequest.uuid, note }
}
