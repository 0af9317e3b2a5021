// Starts, plans and lists runs of compose files, and resumes their nodes. Each node gets a complete, checked spec before anything starts. A
// node that starts much later still uses this spec. Must never decide about nodes: the kernel does. Test: test/e2e/compose/compose.test.ts.
import { basename, dirname } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { findCompose } from '../../config/config.ts'
import { layersOf } from '../../kernel/util/graph.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { isComposeRun } from '../../kernel/compose/run-row.ts'
import { resumeNode, type ComposeResumeDeps } from './resume-node.ts'
import { runView } from './views.ts'
import { withHomeLimits } from '../operations/home-limits.ts'
import { checkScript } from '../operations/check-script.ts'
import type { ComposeBody, OneRunView, PlanView, ResumeNodeBody, RunsView } from '../../api/views/compose.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { ComposeFile, FileNode } from '../../config/compose.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { AgentBody, BuiltSpec } from '../operations/spec-builder.ts'
import { viaOf, type Requester } from '../loop/requester.ts'
import type { Table } from '../loop/table.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Limits } from '../../kernel/model/words.ts'
import type { ComposeProcessSpec, NodeSpec, RunnableSpec } from '../../kernel/model/process-spec.ts'

export interface ComposeRunsDeps extends ComposeResumeDeps {
  readonly homeLimits: () => Limits
  readonly table: Table
  readonly store: Store
  /** time slices of the event loop for reading ended runs */
  readonly slices: SliceQueue
  /** builds a spec with its keys, and plans no worktree */
  readonly buildSpec: (body: AgentBody) => Promise<BuiltSpec<RunnableSpec>>
  readonly worktrees: Pick<Worktrees, 'plan' | 'checkForResume'>
}

/** maximum number of rows of ended processes that are searched for runs */
const MAX_SEARCHED_ROWS = 10_000
const ROWS_PER_PAGE = 100
const MAX_NAME_CHARS = 40

interface PreparedNode {
  readonly spec: NodeSpec
  readonly env: RunnableSpec['env']
  readonly secrets: Readonly<Record<string, string>>
  /** a remark for the user, or null */
  readonly note: string | null
}

export class ComposeRuns {
  readonly #deps: ComposeRunsDeps

  constructor(deps: ComposeRunsDeps) {
    this.#deps = deps
  }

  /**
   * Starts a run. Errors: AGENT_INVALID with its line, those of a spawn for any node, CREDENTIALS_MISSING. After an error, nothing runs.
   */
  async up(body: ComposeBody, { parentUuid: under, via }: Requester): Promise<OneRunView> {
    const { pipeline, reads, nodes, homeLimits, checkMayStart } = this.#deps
    checkMayStart()
    const file = await findCompose(body.cwd, body.file, body.nodes)
    const preparedNodes = await this.#prepare(file, body)
    await this.#checkKeys(preparedNodes)
    const uuid = uuidv7()
    nodes.keepRunSecrets(uuid, Object.assign({}, ...preparedNodes.map(({ secrets }) => secrets)))
    const compose = {
      file: file.file,
      ...(body.parallel === undefined ? {} : { parallel: body.parallel }),
      nodes: preparedNodes.map(({ spec }) => spec),
    }
    // All nodes share one environment, which is stored once.
    const env = preparedNodes[0]?.env ?? {}
    const spec = { ...runSpec(file, body), env, name: body.name ?? this.#unusedName(file.file), compose }
    await pipeline.request({
      type: 'spawn',
      by: 'user',
      uuid,
      spec: withHomeLimits(spec, homeLimits(), under),
      parent: under,
      ...viaOf(via),
    })
    const notes = [...new Set(preparedNodes.flatMap(({ note }) => note ?? []))]
    return { version: 1, run: await runView(await reads.get(uuid), reads), ...(notes.length === 0 ? {} : { note: notes.join('\n') }) }
  }

  /** The nodes that `up` would run, in order. Errors: those of `up`, except for keys. */
  async plan(body: ComposeBody): Promise<PlanView> {
    const file = await findCompose(body.cwd, body.file, body.nodes)
    const preparedNodes = await this.#prepare(file, body)
    const rows = layersOf(file.nodes.map(({ name, needs }) => ({ id: name, needs })))
    const nodes = rows.flatMap((names, row) =>
      names.flatMap((name) =>
        preparedNodes
          .filter(({ spec }) => spec.name === name)
          .map(({ spec: { needs, retries, worktree = false, template } }) => ({
            name,
            row,
            needs: [...needs],
            agent: template.agent,
            model: template.model,
            retries,
            worktree,
          })),
      ),
    )
    return { version: 1, file: file.file, name: body.name ?? this.#unusedName(file.file), nodes }
  }

  /** All living runs and the newest ended runs, at most `limit` of these. Newest first. */
  async list(limit: number): Promise<RunsView> {
    const { table, reads } = this.#deps
    const runs = [...table.rows()].filter(isComposeRun)
    const endedRuns = await this.#endedRuns(limit)
    const all = [...runs, ...endedRuns].sort((a, b) => b.clock.createdAt - a.clock.createdAt || b.pid - a.pid)
    return { version: 1, runs: await Promise.all(all.map((run) => runView(run, reads))) }
  }

  async #endedRuns(limit: number): Promise<Process[]> {
    const { table, store, slices } = this.#deps
    const endedRuns: Process[] = []
    let position: { readonly exitedAt: number; readonly uuid: Uuid } | undefined
    for (let searchedRows = 0; searchedRows < MAX_SEARCHED_ROWS && endedRuns.length < limit;) {
      await slices.next()
      const page = await store.dead({ limit: ROWS_PER_PAGE, ...(position ? { before: position } : {}) })
      endedRuns.push(...page.filter((row) => isComposeRun(row) && !table.get(row.uuid)))
      const last = page.at(-1)
      if (!last || page.length < ROWS_PER_PAGE) break
      position = { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid }
      searchedRows += page.length
    }
    return endedRuns.slice(0, limit)
  }

  /** One run. Errors: those of `resolve`; INVALID for a process that is not a run. */
  async get(ref: string): Promise<OneRunView> {
    const { reads } = this.#deps
    const run = await reads.resolve(ref)
    if (!isComposeRun(run)) throw new KernelError('INVALID', `process ${run.pid} is not a run of a compose file`)
    return { version: 1, run: await runView(run, reads) }
  }

  /** Resumes a node. `via`: the session of the page that requests it. */
  resume(ref: string, body: ResumeNodeBody, via?: string): Promise<OneRunView> {
    return resumeNode(ref, body, { ...this.#deps, ...viaOf(via) })
  }

  #prepare(file: ComposeFile, body: ComposeBody): Promise<PreparedNode[]> {
    return Promise.all(file.nodes.map((node) => this.#prepareNode(node, body)))
  }

  async #prepareNode({ name, needs, retries, worktree, ...agent }: FileNode, { env = {} }: ComposeBody): Promise<PreparedNode> {
    const { buildSpec, worktrees } = this.#deps
    const body: AgentBody = { ...agent, env }
    try {
      const {
        spec: { restart: _, ...template },
        secrets,
        note,
      } = await buildSpec(body)
      const { env: nodeEnv } = template
      await checkScript(template)
      // The plan only checks that there is a repository. The commit is chosen when the node starts.
      if (worktree) await worktrees.plan(uuidv7(), template)
      return {
        spec: { name, needs, retries, ...(worktree ? { worktree: true } : {}), template: { ...template, env: {} } },
        env: nodeEnv,
        secrets,
        note,
      }
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      throw new KernelError(error.code, `node ${name}: ${error.message}`, error.details)
    }
  }

  async #checkKeys(preparedNodes: readonly PreparedNode[]): Promise<void> {
    const { credentials } = this.#deps
    for (const {
      spec: { name, template },
      env,
      secrets,
    } of preparedNodes) {
      const uuid = uuidv7()
      const { missing } = await credentials.resolveAndKeep({ uuid, spec: { ...template, env } }, secrets)
      credentials.forget(uuid)
      if (missing.length > 0)
        throw new KernelError('CREDENTIALS_MISSING', `node ${name}: ${template.model ?? template.agent} needs ${missing.join(', ')}`, {
          missing,
        })
    }
  }

  /** An unused name for a run: that of the file's directory, with a number if it is in use. */
  #unusedName(file: string): string {
    const folderName = basename(dirname(file))
      .replaceAll(/[^\w.-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, MAX_NAME_CHARS)
    const name = folderName === '' || /^\d+$/.test(folderName) ? `run-${folderName}`.replace(/-$/, '') : folderName
    for (let count = 1; ; count += 1) {
      const candidate = count === 1 ? name : `${name}-${count}`
      if (this.#deps.table.findByName(candidate) === undefined) return candidate
    }
  }
}

/** The spec of a run, which has no program of its own. Its limits are for all its nodes together. */
function runSpec({ file, nodes }: ComposeFile, { limits = {} }: ComposeBody): Omit<ComposeProcessSpec, 'name' | 'compose'> {
  const intent = `${basename(file)}: ${nodes.map(({ name }) => name).join(', ')}`
  return {
    agent: 'compose',
    driver: 'compose',
    intent: intent.length > 200 ? `${intent.slice(0, 199)}…` : intent,
    cwd: dirname(file),
    interactive: false,
    model: null,
    system: null,
    tools: null,
    deny: [],
    argv: null,
    env: {},
    credentials: [],
    containment: 'group',
    limits,
  }
}
