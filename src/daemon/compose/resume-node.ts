// Resumes or forks a node of a run. Reads the rows of the run and of the node, finds the keys, and requests the resume from the kernel.
// First waits until the last incarnations of both are released. Test: test/e2e/compose/resume.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { resumeSource } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { isComposeRun, composeRunOf } from '../../kernel/compose/run-row.ts'
import { runView } from './views.ts'
import { checkResumeOptions, type ForkOperations } from '../operations/fork.ts'
import { isHeldFor } from '../../kernel/model/holds.ts'
import type { OneRunView, ResumeNodeBody } from '../../api/views/compose.ts'
import type { ComposeNode } from '../../kernel/model/compose.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ComposeNodeStarter } from './node-starter.ts'
import type { GatewaySessions } from '../incarnation/gateway-sessions.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Pipeline, RequestBody } from '../loop/pipeline.ts'
import { viaOf } from '../loop/requester.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Waiter } from '../loop/waiter.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export interface ComposeResumeDeps {
  readonly pipeline: Pipeline
  readonly reads: ProcessQueries
  readonly waiter: Waiter
  readonly forks: ForkOperations
  readonly credentials: Credentials
  readonly gateways: Pick<GatewaySessions, 'secretsOf'>
  readonly worktrees: Pick<Worktrees, 'checkForResume'>
  readonly nodes: Pick<ComposeNodeStarter, 'keepRunSecrets' | 'runSecretsOf'>
  /** throws while nothing new may start */
  readonly checkMayStart: () => void
  /** the session of the page that requests it */
  readonly via?: string
}

type Request = Extract<RequestBody, { type: 'composeResume' }>

/** maximum wait for the release of the last incarnation, in ms */
const RELEASE_WAIT_MS = 10_000

/** Resumes or forks a node. Errors: NOT_FOUND for an unknown run or node, COLLECTED, INVALID, and those of a resume and a fork. */
export async function resumeNode(ref: string, body: ResumeNodeBody, deps: ComposeResumeDeps): Promise<OneRunView> {
  const { reads } = deps
  checkResumeOptions({ ...(body.fork ? { fork: true } : {}), ...(body.fromStep === undefined ? {} : { fromStep: body.fromStep }) })
  deps.checkMayStart()
  const run = await waitForRelease(await reads.resolve(ref), deps)
  if (!isComposeRun(run)) throw new KernelError('INVALID', `process ${run.pid} is not a run of a compose file`)
  const node = composeRunOf(run).nodes.find(({ name }) => name === body.node)
  if (body.fork && node && node.uuid === null) throw new KernelError('INVALID', `node "${node.name}" has no process that could be forked`)
  const child = node?.uuid ? await waitForRelease(await findNodeProcess(node, node.uuid, reads), deps) : null
  const request: Request = {
    type: 'composeResume',
    by: 'user',
    uuid: run.uuid,
    node: body.node,
    endedRow: rowIfEnded(run),
    child: child && rowIfEnded(child),
    message: body.message === undefined ? null : { id: uuidv7(), text: body.message },
    rerun: child !== null && resumeSource(child) === 'rerun',
    fork: null,
    ...viaOf(deps.via),
  }
  deps.nodes.keepRunSecrets(run.uuid, secretsFor(run, body, deps))
  const note = body.fork && child ? await forkNode(child, body, { request, deps }) : await continueNode(run, child, body, { request, deps })
  return { version: 1, run: await runView(await reads.get(run.uuid), reads), ...(note === null ? {} : { note }) }
}

/** The row of the node's process. Errors: COLLECTED, with the name of the node. */
async function findNodeProcess({ name }: ComposeNode, uuid: Uuid, reads: ProcessQueries): Promise<Process> {
  try {
    return await reads.get(uuid)
  } catch (error) {
    if (error instanceof KernelError)
      throw new KernelError(error.code, `the process of node "${name}" no longer exists: ${error.message}`, error.details)
    throw error
  }
}

/** The row of an ended process, which is no longer in the table. Null for any other process. */
function rowIfEnded(process: Process): Process | null {
  return process.life.state === 'dead' ? process : null
}

/** Waits until a zombie is released. If that takes too long, the kernel refuses the resume. */
async function waitForRelease(process: Process, { waiter }: ComposeResumeDeps): Promise<Process> {
  if (process.life.state !== 'zombie') return process
  return (await waiter.wait(process.uuid, ['exited'], RELEASE_WAIT_MS, new AbortController().signal)).process
}

/** The secrets for this node and for the nodes that start after it. */
function secretsFor(run: Process, { env = {} }: ResumeNodeBody, { gateways, nodes }: ComposeResumeDeps): Readonly<Record<string, string>> {
  return { ...nodes.runSecretsOf(run.uuid), ...gateways.secretsOf(env, run.spec) }
}

interface ResumeContext {
  readonly request: Request
  readonly deps: ComposeResumeDeps
}

async function forkNode(child: Process, { node: _, ...body }: ResumeNodeBody, { request, deps }: ResumeContext): Promise<string | null> {
  const { note = null } = await deps.forks.fork(child, body, ({ uuid, at, spec, message }) => ({
    ...request,
    child,
    message,
    fork: { uuid, at, spec: spec ?? child.spec },
  }))
  return note
}

async function continueNode(
  run: Process,
  child: Process | null,
  body: ResumeNodeBody,
  { request, deps }: ResumeContext,
): Promise<string | null> {
  const { pipeline, credentials, worktrees, nodes } = deps
  if (child) await worktrees.checkForResume(child)
  const missingKeys = child ? (await credentials.resolveAndKeep(child, nodes.runSecretsOf(run.uuid))).missing : []
  try {
    const resumed = pipeline.request(request)
    // The keys are available again, so the hold ends in the same decision as the resume.
    if (child && missingKeys.length === 0 && isHeldFor(child, 'credentials'))
      pipeline.submit({ type: 'release', uuid: child.uuid, reason: 'credentials' })
    const result = await resumed
    return result.type === 'done'
      ? (result.note ?? (request.rerun ? `node ${body.node} runs again from its start: it has no session to continue` : null))
      : null
  } catch (error) {
    if (child?.life.state === 'dead') credentials.forget(child.uuid)
    throw error
  }
}
