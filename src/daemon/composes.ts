// Runs of compose files, from the API's words to the kernel's: what a file says becomes a whole spec for each node before anything
// starts, so that a node that begins tomorrow is what was checked today. Owns the order of the checks, and which runs there are.
// Decides nothing about nodes: that is the kernel's. Test: test/e2e/compose.test.ts.
import { basename, dirname } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { findCompose } from '../config/config.ts'
import { layers } from '../crew/graph.ts'
import { KernelError } from '../kernel/errors.ts'
import { isRun } from '../kernel/runs.ts'
import { resumeNode, type ComposeResumeParts } from './compose-resume.ts'
import { runView } from './compose-views.ts'
import { checkPlayed } from './played.ts'
import type { ComposeBody, OneRunView, PlanView, ResumeNodeBody, RunsView } from '../api/compose-views.ts'
import type { SpawnBody } from '../api/views.ts'
import type { ComposeFile, NodeFile } from '../config/compose.ts'
import type { NodeSpec } from '../crew/compose-types.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Operations } from './operations.ts'
import type { Table } from './table.ts'
import type { Worktrees } from './worktrees.ts'

export interface ComposesParts extends ComposeResumeParts {
  readonly table: Table
  readonly store: Store
  /** a spec of which nothing is planned yet, with its keys */
  readonly asked: Operations['asked']
  readonly worktrees: Pick<Worktrees, 'plan' | 'check'>
}

/** dead rows that are looked through for runs, and how many at a time */
const MAX_DEAD = 10_000
const PAGE = 500
const MAX_NAME = 40

interface Prepared {
  readonly spec: NodeSpec
  readonly env: ProcessSpec['env']
  readonly secrets: Readonly<Record<string, string>>
}

export class Composes {
  readonly #parts: ComposesParts

  constructor(parts: ComposesParts) {
    this.#parts = parts
  }

  /** Errors: AGENT_INVALID with its line, those of a spawn for whichever node it is, CREDENTIALS_MISSING. Then nothing runs. */
  async up(body: ComposeBody): Promise<OneRunView> {
    const { pipeline, reads, nodes, mayStart } = this.#parts
    mayStart()
    const file = await findCompose(body.cwd, body.file, body.nodes)
    const prepared = await this.#prepare(file, body)
    await this.#checkKeys(prepared)
    const uuid = uuidv7()
    nodes.lend(uuid, Object.assign({}, ...prepared.map(({ secrets }) => secrets)))
    const compose = { file: file.file, ...(body.parallel === undefined ? {} : { parallel: body.parallel }), nodes: prepared.map(({ spec }) => spec) }
    // It is the same for all, and stands once.
    const env = prepared[0]?.env ?? {}
    const spec = { ...runSpec(file, body), env, name: body.name ?? this.#freeName(file.file), compose }
    await pipeline.request({ type: 'spawn', by: 'user', uuid, spec, parent: null })
    return { version: 1, run: await runView(await reads.get(uuid), reads) }
  }

  /** What `up` would run, and in which order. Errors: those of `up`, but for keys. */
  async plan(body: ComposeBody): Promise<PlanView> {
    const file = await findCompose(body.cwd, body.file, body.nodes)
    const prepared = await this.#prepare(file, body)
    const rows = layers(file.nodes.map(({ name, needs }) => ({ id: name, needs })))
    const nodes = rows.flatMap((names, row) => names.flatMap((name) => prepared.filter(({ spec }) => spec.name === name).map(({ spec: { needs, retries, worktree = false, template } }) => ({
      name, row, needs: [...needs], agent: template.agent, model: template.model, retries, worktree,
    }))))
    return { version: 1, file: file.file, name: body.name ?? this.#freeName(file.file), nodes }
  }

  /** The living and the `limit` newest of those that have ended, newest first. */
  async list(limit: number): Promise<RunsView> {
    const { table, reads } = this.#parts
    const runs = [...table.rows()].filter(isRun)
    const dead = await this.#dead(limit)
    const all = [...runs, ...dead].sort((a, b) => b.clock.createdAt - a.clock.createdAt || b.pid - a.pid)
    return { version: 1, runs: await Promise.all(all.map((run) => runView(run, reads))) }
  }

  async #dead(limit: number): Promise<Process[]> {
    const { table, store } = this.#parts
    const found: Process[] = []
    let before: { readonly exitedAt: number; readonly uuid: Uuid } | undefined
    for (let seen = 0; seen < MAX_DEAD && found.length < limit;) {
      const page = await store.dead({ limit: PAGE, ...(before ? { before } : {}) })
      found.push(...page.filter((row) => isRun(row) && !table.get(row.uuid)))
      const last = page.at(-1)
      if (!last || page.length < PAGE) break
      before = { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid }
      seen += page.length
    }
    return found.slice(0, limit)
  }

  /** Errors: those of `resolve`, INVALID for what is no run. */
  async get(ref: string): Promise<OneRunView> {
    const { reads } = this.#parts
    const run = await reads.resolve(ref)
    if (!isRun(run)) throw new KernelError('INVALID', `process ${run.pid} is no run of a compose file`)
    return { version: 1, run: await runView(run, reads) }
  }

  resume(ref: string, body: ResumeNodeBody): Promise<OneRunView> {
    return resumeNode(ref, body, this.#parts)
  }

  #prepare(file: ComposeFile, body: ComposeBody): Promise<Prepared[]> {
    return Promise.all(file.nodes.map((node) => this.#node(node, body)))
  }

  async #node({ name, needs, retries, worktree, ...file }: NodeFile, { env = {} }: ComposeBody): Promise<Prepared> {
    const { asked, worktrees } = this.#parts
    const body: SpawnBody = { ...file, env }
    try {
      const { spec: { restart: _, ...template }, secrets } = await asked(body)
      const { env: recorded } = template
      await checkPlayed(template)
      // That there is a repository is known now; which commit it begins at, when it starts.
      if (worktree) await worktrees.plan(uuidv7(), template)
      return { spec: { name, needs, retries, ...(worktree ? { worktree: true } : {}), template: { ...template, env: {} } }, env: recorded, secrets }
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      throw new KernelError(error.code, `node ${name}: ${error.message}`, error.details)
    }
  }

  async #checkKeys(prepared: readonly Prepared[]): Promise<void> {
    const { keys } = this.#parts
    for (const { spec: { name, template }, env, secrets } of prepared) {
      const uuid = uuidv7()
      const { missing } = await keys.of({ uuid, spec: { ...template, env } }, secrets)
      keys.forget(uuid)
      if (missing.length > 0) throw new KernelError('CREDENTIALS_MISSING', `node ${name}: ${template.model ?? template.agent} needs ${missing.join(', ')}`, { missing })
    }
  }

  /** After the directory of the file; one that is taken gets a number. */
  #freeName(file: string): string {
    const plain = basename(dirname(file)).replaceAll(/[^\w.-]/g, '-').replace(/^[^A-Za-z0-9]+/, '').slice(0, MAX_NAME)
    const name = plain === '' || /^\d+$/.test(plain) ? `run-${plain}`.replace(/-$/, '') : plain
    for (let count = 1; ; count += 1) {
      const tried = count === 1 ? name : `${name}-${count}`
      if (this.#parts.table.named(tried) === undefined) return tried
    }
  }
}

/** There is no program: it is there for its nodes, and its limits are those of all of them together. */
function runSpec({ file, nodes }: ComposeFile, { limits = {} }: ComposeBody): Omit<ProcessSpec, 'name'> {
  const intent = `${basename(file)}: ${nodes.map(({ name }) => name).join(', ')}`
  return {
    agent: 'compose', driver: 'compose', intent: intent.length > 200 ? `${intent.slice(0, 199)}…` : intent, cwd: dirname(file), interactive: false, model: null, system: null,
    tools: null, deny: [], argv: null, env: {}, credentials: [], containment: 'group', limits,
  }
}
