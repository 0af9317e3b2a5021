// Runs of compose files: what a run does when it begins, when a node ends, when the daemon has put one together, and when a
// person resumes one. Owns how `next` and `afterEnd` of src/crew/compose.ts become facts and new incarnations of children. Must
// never start a node twice: each request has a number, and an answer to another one changes nothing.
// Tests: test/tables/composing.test.ts, test/simulation/compose.test.ts.
import { afterEnd, isOver, next, nextAsk, outcomeWords } from '../crew/compose.ts'
import { below } from '../crew/graph.ts'
import { goesOnFrom } from './capabilities.ts'
import { mayGoOn, noteChild } from './children.ts'
import { KernelError } from './errors.ts'
import { makeFork } from './forking.ts'
import { isPersonHold } from './holds.ts'
import { release } from './pausing.ts'
import { again, chanceOf } from './restarting.ts'
import { beginAnew, resume } from './resuming.ts'
import { composeOf, isRun, nodesOf } from './runs.ts'
import { placeTaken, spawn } from './spawning.ts'
import { isLiving } from './status.ts'
import type { ComposeNode, NodeSpec } from '../crew/compose-types.ts'
import type { InputOf } from './inputs.ts'
import type { ExitStatus, Process, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** What it has to clean up when all is done: nothing. */
const END_GRACE_MS = 10_000

function byOf({ uuid }: Pick<Process, 'uuid'>): Sender {
  return `agent:${uuid}`
}

/** Does all that is next. True: nothing is left that could run, and it is to end. */
export function runOn(work: Work, uuid: Uuid): boolean {
  for (let run = work.need(uuid); mayGoOn(run); run = work.need(uuid)) {
    const fact = next(composeOf(run), nodesOf(run))
    if (!fact) return false
    work.emit(uuid, fact)
    if (fact.type === 'compose.starting') work.effect({ type: 'compose.start', uuid, pid: run.pid, node: fact.node, ask: fact.ask })
    if (fact.type !== 'compose.finished') continue
    const words = outcomeWords(fact.outcome)
    const exit: ExitStatus = { code: words === 'completed' ? 0 : 1, reason: words, cause: 'agent' }
    work.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: byOf(run), at: work.now.wall, graceMs: END_GRACE_MS, exit } })
    return true
  }
  return false
}

/** A node's process has ended. */
export function nodeEnded(work: Work, run: Process, process: Process, exit: ExitStatus): void {
  const node = nodesOf(run).nodes.find((one) => one.uuid === process.uuid && one.state === 'running')
  if (!node) return
  const goesOn = goesOnFrom(process) !== 'rerun' || process.clock.startedAt === null
  const said = afterEnd(specOf(run, node.name), node, { exit, goesOn, chance: chanceOf(process) })
  if (said.do === 'complete') work.emit(run.uuid, { type: 'compose.completed', node: node.name, child: process.uuid })
  else if (said.do === 'cancel') work.emit(run.uuid, { type: 'compose.cancelled', node: node.name, reason: exit.cause === 'parent' && isStopping(run) ? 'stopped with its run' : said.reason })
  else if (said.do === 'fail' || isStopping(run)) work.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: 'reason' in said ? said.reason : exit.reason })
  else {
    const { attempt, delayMs } = said.do === 'retry' ? said : { attempt: 0, delayMs: 0 }
    if (said.do === 'retry') work.emit(run.uuid, { type: 'compose.retrying', node: node.name, child: process.uuid, attempt, cause: exit.reason, delayMs })
    comeBack(work, run, process, { exit, attempt, delayMs, node })
  }
}

interface Back {
  readonly node: ComposeNode
  readonly exit: ExitStatus
  readonly attempt: number
  readonly delayMs: number
}

/** Another incarnation; while its run does not go on it waits for that. */
function comeBack(work: Work, run: Process, process: Process, { node, exit, attempt, delayMs }: Back): void {
  const obstacle = placeTaken(work, process.spec)
  if (obstacle !== null) {
    work.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: `it cannot come back: ${obstacle}` })
    return
  }
  again(work, process, { by: byOf(run), exit, attempt, delayMs: mayGoOn(run) ? delayMs : null })
}

function isStopping({ life }: Process): boolean {
  return life.state === 'running' && life.stopping !== null
}

function specOf(run: Process, name: string): NodeSpec {
  const found = composeOf(run).nodes.find((node) => node.name === name)
  if (!found) throw new KernelError('INTERNAL', `run ${run.uuid} has no node "${name}"`)
  return found
}

/** It begins, or goes on after its daemon's end: what was running comes back, and what was being put together is asked for once more. */
export function tendRun(work: Work, uuid: Uuid, kin: readonly Process[]): void {
  for (const node of nodesOf(work.need(uuid)).nodes) {
    if (node.uuid !== null) tendNode(work, work.need(uuid), node, work.get(node.uuid) ?? kin.find((dead) => dead.uuid === node.uuid))
  }
  askOnce(work, uuid)
}

function tendNode(work: Work, run: Process, node: ComposeNode, row: Process | undefined): void {
  if (row && isLiving(row)) {
    if (row.parent !== run.uuid) work.emit(row.uuid, { type: 'process.reparented', parent: run.uuid })
    // A person resumed it while there was no run.
    return nodeRevived(work, run, row)
  }
  if (!row && node.state === 'running') work.emit(run.uuid, { type: 'compose.failed', node: node.name, reason: 'its process was removed' })
  if (row?.life.state !== 'dead') return
  const { exit } = row.life
  work.bring(row)
  if (node.state === 'running' && exit.cause !== 'parent') return nodeEnded(work, run, row, exit)
  // It was stopped with its run, which goes on.
  if (exit.cause !== 'parent' || (node.state !== 'running' && node.state !== 'cancelled')) return
  if (node.state === 'cancelled') work.emit(run.uuid, { type: 'compose.resumed', node: node.name, child: row.uuid, by: byOf(run) })
  comeBack(work, work.need(run.uuid), row, { node, exit, attempt: 0, delayMs: 0 })
}

/** An answer that came while it was paused was dropped, and one to a daemon that died will not come. */
export function askOnce(work: Work, uuid: Uuid): void {
  if (!mayGoOn(work.need(uuid))) return
  for (const { name } of nodesOf(work.need(uuid)).nodes.filter(({ state }) => state === 'starting')) {
    const run = work.need(uuid)
    const ask = nextAsk(nodesOf(run))
    work.emit(uuid, { type: 'compose.starting', node: name, ask })
    work.effect({ type: 'compose.start', uuid, pid: run.pid, node: name, ask })
  }
}

/** The daemon has put a node's process together, or could not. Errors: CONFLICT for a late answer, which changes nothing. */
export function nodeMade(work: Work, input: InputOf<'composeNode'>): void {
  const { uuid, node: name, ask, made, reply, by, now } = input
  const run = work.get(uuid)
  const node = run && isRun(run) ? nodesOf(run).nodes.find((one) => one.name === name) : undefined
  if (!run || !mayGoOn(run) || node?.state !== 'starting' || node.ask !== ask) throw new KernelError('CONFLICT', `nobody waits for node "${name}" any more`)
  if ('error' in made) {
    work.emit(uuid, { type: 'compose.failed', node: name, reason: made.error })
    work.effect({ type: 'reply', to: reply, value: { type: 'done', uuid, affected: 0, childrenGoOn: 0, note: made.error } })
  } else {
    const problem = spawnNode(work, { type: 'spawn', reply, by, now, uuid: made.uuid, spec: made.spec, parent: uuid })
    if (problem === null) work.emit(uuid, { type: 'compose.started', node: name, child: made.uuid })
    else {
      work.emit(uuid, { type: 'compose.failed', node: name, reason: problem })
      work.effect({ type: 'refuse', to: reply, code: 'CONFLICT', message: problem })
    }
  }
  work.news.push({ type: 'changed', uuid })
}

/** Null, or why it cannot be: all checks come before the first fact. */
function spawnNode(work: Work, input: InputOf<'spawn'>): string | null {
  try {
    spawn(work, input)
    return null
  } catch (error) {
    if (error instanceof KernelError && error.code !== 'INTERNAL') return error.message
    throw error
  }
}

/** A person resumed the process of a node that was over: what it blocked, and what was about to start with its result, waits for it again. */
export function nodeRevived(work: Work, run: Process, { uuid }: Process): void {
  const node = nodesOf(run).nodes.find((one) => one.uuid === uuid)
  if (!node || !isOver(node.state)) return
  work.emit(run.uuid, { type: 'compose.resumed', node: node.name, child: uuid, by: 'user' })
  for (const name of dependents(run, node.name)) {
    const { state } = nodeOf(work.need(run.uuid), name)
    if (state === 'blocked' || state === 'starting') work.emit(run.uuid, { type: 'compose.again', node: name, by: 'user' })
  }
}

function dependents(run: Process, name: string): readonly string[] {
  const { nodes } = composeOf(run)
  const names = below(nodes.map(({ name: id, needs }) => ({ id, needs })), [name])
  return nodes.filter((node) => names.has(node.name)).map((node) => node.name)
}

type Asked = InputOf<'composeResume'>

/** A node goes on, or a fork of it in its place, and then what depends on it runs again. Errors: NOT_FOUND, INVALID, and those of a resume. */
export function resumeNode(work: Work, input: Asked): void {
  const run = work.get(input.uuid) ?? input.frozen
  if (!run || !isRun(run)) throw new KernelError('INVALID', `process ${run?.pid ?? input.uuid} is no run of a compose file`)
  const node = nodeOf(run, input.node)
  if (node.state === 'running') return wakeNode(work, node, input)
  checkMayRun(work, run, node.name)
  if (!isOver(node.state) && isLiving(run)) throw new KernelError('INVALID', `node "${node.name}" is about to start`)
  if (run.life.state === 'running' && run.life.stopping) throw new KernelError('INVALID', `run ${run.pid} is stopping`)
  if (!isLiving(run)) revive(work, run, input)
  // As with every resume by a person, who is above wakes.
  else if (input.by === 'user') release(work, run.uuid, input.by, isPersonHold)
  for (const name of dependents(run, node.name)) if (nodeOf(run, name).state !== 'waiting') runAgain(work, run.uuid, name, input.by)
  const { uuid, note } = node.uuid === null ? startOver(work, run, node, input) : goOnWith(work, run, node.name, input)
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note } })
  work.news.push({ type: 'changed', uuid: run.uuid })
}

function nodeOf(run: Process, name: string): ComposeNode {
  const { nodes } = nodesOf(run)
  const node = nodes.find((one) => one.name === name)
  if (!node) throw new KernelError('NOT_FOUND', `run ${run.spec.name ?? run.pid} has no node "${name}"; it has ${nodes.map((one) => one.name).join(', ')}`)
  return node
}

/** It lives: it may be woken, as any process. */
function wakeNode(work: Work, { name, uuid }: ComposeNode, { fork: forked, message, by, reply, now, child, rerun }: Asked): void {
  if (uuid === null) throw new KernelError('INTERNAL', `node "${name}" runs without a process`)
  if (forked) throw new KernelError('INVALID', `node "${name}" runs: a fork cannot take its place before it has ended`)
  resume(work, { type: 'resume', reply, by, now, uuid, frozen: child, message, rerun, spec: null, subtree: false, only: false })
}

/** Errors: INVALID where what it needs has not completed, or what needs it runs. */
function checkMayRun(work: Work, run: Process, name: string): void {
  const missing = specOf(run, name).needs.map((need) => nodeOf(run, need)).find(({ state }) => state !== 'completed')
  if (missing) throw new KernelError('INVALID', `node "${name}" needs "${missing.name}", which is ${missing.state}${isOver(missing.state) ? ': resume that' : ''}`)
  const busy = dependents(run, name).map((other) => nodeOf(run, other)).find((other) => isBusy(work, run, other))
  if (busy) throw new KernelError('INVALID', `node "${busy.name}" depends on "${name}" and runs: wait for its end, or stop it first`)
}

/** It is at work, or will be at once. */
function isBusy(work: Work, run: Process, { state, uuid }: ComposeNode): boolean {
  if (state !== 'starting' && state !== 'running') return false
  const row = uuid === null ? undefined : work.get(uuid)
  return isLiving(run) || (row !== undefined && isLiving(row))
}

/** The run has ended: it gets a new incarnation. */
function revive(work: Work, run: Process, { reply, by, now }: Asked): void {
  beginAnew(work, run, { type: 'resume', reply, by, now, uuid: run.uuid, frozen: run, message: null, spec: null, rerun: false, subtree: false, only: true })
  work.effect({ type: 'start', uuid: run.uuid, pid: work.need(run.uuid).pid })
}

/** It is to have another process: the one that it had is its no longer. */
function runAgain(work: Work, uuid: Uuid, node: string, by: Sender): void {
  leave(work, uuid, node)
  work.emit(uuid, { type: 'compose.again', node, by })
}

function leave(work: Work, uuid: Uuid, id: string): void {
  const child = work.need(uuid).supervision?.children.find((one) => one.id === id)
  if (child) work.emit(uuid, { type: 'supervisor.removed', id, child: child.uuid })
}

interface Resumed {
  readonly uuid: Uuid
  readonly note: string | null
}

/** It had no process yet. */
function startOver(work: Work, run: Process, { name, state }: ComposeNode, { by, fork: forked, message }: Asked): Resumed {
  if (forked || message) throw new KernelError('INVALID', `node "${name}" had no process yet, which could go on`)
  if (isOver(state)) runAgain(work, run.uuid, name, by)
  return { uuid: run.uuid, note: null }
}

function goOnWith(work: Work, run: Process, name: string, input: Asked): Resumed {
  const { child: row, fork: forked, by, reply, now, message, rerun } = input
  if (!row) throw new KernelError('NOT_FOUND', `the process of node "${name}" is not there any more`)
  const { uuid, note } = forked ? forkNode(work, run, row, input) : { uuid: row.uuid, note: beginAnew(work, row, { type: 'resume', reply, by, now, uuid: row.uuid, frozen: row, message, rerun, spec: null, subtree: false, only: true }) }
  work.emit(run.uuid, { type: 'compose.resumed', node: name, child: uuid, by })
  work.effect({ type: 'start', uuid, pid: work.need(uuid).pid })
  return { uuid, note }
}

/** The fork takes the place of its origin among the children of the run. */
function forkNode(work: Work, run: Process, origin: Process, { fork: forked, by, reply, now, message, node: childId }: Asked): Resumed {
  if (!forked) throw new KernelError('INTERNAL', 'a fork was asked for')
  leave(work, run.uuid, childId)
  const name = origin.spec.name !== null && work.named(origin.spec.name) === undefined ? origin.spec.name : null
  const note = makeFork(work, { type: 'fork', reply, by, now, origin, message, ...forked, spec: { ...forked.spec, name }, childId })
  noteChild(work, work.need(forked.uuid))
  return { uuid: forked.uuid, note }
}
