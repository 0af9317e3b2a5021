// Resuming a node of a run, from the API's words to the kernel's: which rows are meant, how its process goes on, and with which keys.
// Owns that nothing is asked of the kernel before the last incarnations are released. Test: test/e2e/compose-resume.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { goesOnFrom } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { isRun, nodesOf } from '../kernel/runs.ts'
import { runView } from './compose-views.ts'
import { checkWords, type Forks } from './forks.ts'
import { isHeldFor } from './operations.ts'
import type { OneRunView, ResumeNodeBody } from '../api/compose-views.ts'
import type { ComposeNode } from '../crew/compose-types.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { ComposeNodes } from './compose-nodes.ts'
import type { Gateways } from './gateways.ts'
import type { Keys } from './keys.ts'
import type { Pipeline, RequestBody } from './pipeline.ts'
import type { Reads } from './reads.ts'
import type { Waiter } from './waiter.ts'
import type { Worktrees } from './worktrees.ts'

export interface ComposeResumeParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly waiter: Waiter
  readonly forks: Forks
  readonly keys: Keys
  readonly gateways: Pick<Gateways, 'secretsOf'>
  readonly worktrees: Pick<Worktrees, 'check'>
  readonly nodes: Pick<ComposeNodes, 'lend' | 'lentTo'>
  /** throws while nothing new may start */
  readonly mayStart: () => void
}

type Request = Extract<RequestBody, { type: 'composeResume' }>

/** How long a resume waits for the last incarnation's release. */
const RELEASE_MS = 10_000

/** Errors: NOT_FOUND for no such run or node, COLLECTED, INVALID, and those of a resume and of a fork. */
export async function resumeNode(ref: string, body: ResumeNodeBody, parts: ComposeResumeParts): Promise<OneRunView> {
  const { reads } = parts
  checkWords({ ...(body.fork ? { fork: true } : {}), ...(body.fromStep === undefined ? {} : { fromStep: body.fromStep }) })
  parts.mayStart()
  const run = await released(await reads.resolve(ref), parts)
  if (!isRun(run)) throw new KernelError('INVALID', `process ${run.pid} is no run of a compose file`)
  const node = nodesOf(run).nodes.find(({ name }) => name === body.node)
  if (body.fork && node && node.uuid === null) throw new KernelError('INVALID', `node "${node.name}" has no process that could be forked`)
  const child = node?.uuid ? await released(await processOf(node, node.uuid, reads), parts) : null
  const request: Request = {
    type: 'composeResume', by: 'user', uuid: run.uuid, node: body.node, frozen: frozen(run), child: child && frozen(child),
    message: body.message === undefined ? null : { id: uuidv7(), text: body.message }, rerun: child !== null && goesOnFrom(child) === 'rerun', fork: null,
  }
  parts.nodes.lend(run.uuid, secretsFor(run, body, parts))
  const note = body.fork && child ? await fork(child, body, { request, parts }) : await goOn(run, child, body, { request, parts })
  return { version: 1, run: await runView(await reads.get(run.uuid), reads), ...(note === null ? {} : { note }) }
}

/** Errors: COLLECTED, with the node. */
async function processOf({ name }: ComposeNode, uuid: Uuid, reads: Reads): Promise<Process> {
  try {
    return await reads.get(uuid)
  } catch (error) {
    if (error instanceof KernelError) throw new KernelError(error.code, `the process of node "${name}" is not there any more: ${error.message}`, error.details)
    throw error
  }
}

function frozen(process: Process): Process | null {
  return process.life.state === 'dead' ? process : null
}

/** One that cannot be released stays what it is, and the kernel says so. */
async function released(process: Process, { waiter }: ComposeResumeParts): Promise<Process> {
  if (process.life.state !== 'zombie') return process
  return (await waiter.wait(process.uuid, 'exited', RELEASE_MS, new AbortController().signal)).process
}

/** For the node, and for those that start after it. */
function secretsFor(run: Process, { env = {} }: ResumeNodeBody, { gateways, nodes }: ComposeResumeParts): Readonly<Record<string, string>> {
  return { ...nodes.lentTo(run.uuid), ...gateways.secretsOf(env, run.spec) }
}

interface Doing {
  readonly request: Request
  readonly parts: ComposeResumeParts
}

async function fork(child: Process, { node: _, ...body }: ResumeNodeBody, { request, parts }: Doing): Promise<string | null> {
  const { note = null } = await parts.forks.fork(child, body, ({ uuid, at, spec, message }) => ({ ...request, child, message, fork: { uuid, at, spec: spec ?? child.spec } }))
  return note
}

async function goOn(run: Process, child: Process | null, body: ResumeNodeBody, { request, parts }: Doing): Promise<string | null> {
  const { pipeline, keys, worktrees, nodes } = parts
  if (child) await worktrees.check(child)
  const keysMissing = child ? (await keys.of(child, nodes.lentTo(run.uuid))).missing : []
  try {
    const resumed = pipeline.request(request)
    // Its keys are there now: both are decided together.
    if (child && keysMissing.length === 0 && isHeldFor(child, 'credentials')) pipeline.submit({ type: 'release', uuid: child.uuid, reason: 'credentials' })
    const done = await resumed
    return done.type === 'done' ? (done.note ?? (request.rerun ? `node ${body.node} runs again from its beginning: it has no session to go on with` : null)) : null
  } catch (error) {
    if (child?.life.state === 'dead') keys.forget(child.uuid)
    throw error
  }
}
