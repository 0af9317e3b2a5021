// Prepares the process of a compose node when the kernel requests it. It fills in the results of other nodes, plans a worktree, and finds
// the keys. The kernel then starts the process, or gets the reason why it cannot start. The kernel drops an answer that comes too late.
// Test: test/e2e/compose/compose.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { fillReferences, type Reference } from '../../kernel/compose/template.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { composeSpecOf, composeRunOf } from '../../kernel/compose/run-row.ts'
import { readResult } from './node-result.ts'
import { withRealPaths } from '../operations/permission-paths.ts'
import type { Effect } from '../../kernel/model/effects.ts'
import type { InputOf } from '../../kernel/model/inputs.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { Table } from '../loop/table.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { RunnableSpec, NodeSpec } from '../../kernel/model/process-spec.ts'
import { errorText } from '../../kernel/util/error-text.ts'

type Secrets = Readonly<Record<string, string>>
type StartEffect = Extract<Effect, { type: 'compose.start' }>
type NodeAnswer = InputOf<'composeNode'>['made']

export interface ComposeNodeStarterDeps {
  readonly table: Table
  readonly store: Store
  readonly credentials: Pick<Credentials, 'resolveAndKeep' | 'forget'>
  readonly worktrees: Pick<Worktrees, 'plan'>
  readonly request: Pipeline['request']
  readonly log: (message: string, error: unknown) => void
}

export class ComposeNodeStarter {
  readonly #deps: ComposeNodeStarterDeps
  /** by run: secrets from the client that started it, for nodes that start later; kept in memory only */
  readonly #secretsByRun = new Map<Uuid, Secrets>()

  constructor(deps: ComposeNodeStarterDeps) {
    this.#deps = deps
  }

  /** Keeps secrets for the nodes of a run. Drops the secrets of ended runs. */
  keepRunSecrets(run: Uuid, secrets: Secrets): void {
    for (const uuid of this.#secretsByRun.keys()) if (!this.#deps.table.get(uuid)) this.#secretsByRun.delete(uuid)
    this.#secretsByRun.set(run, { ...this.#secretsByRun.get(run), ...secrets })
  }

  runSecretsOf(run: Uuid): Secrets {
    return this.#secretsByRun.get(run) ?? {}
  }

  start(effect: StartEffect): void {
    this.#start(effect).catch((error: unknown) => this.#deps.log(`node ${effect.node} of run ${effect.uuid} could not be started`, error))
  }

  async #start({ uuid, node, ask }: StartEffect): Promise<void> {
    const { request, credentials, log } = this.#deps
    const answer = await this.#prepare(uuid, node).catch((error: unknown): NodeAnswer => {
      if (!(error instanceof KernelError)) log(`node ${node} of run ${uuid} could not be prepared`, error)
      return { error: errorText(error) }
    })
    try {
      await request({ type: 'composeNode', by: 'user', uuid, node, ask, made: answer })
    } catch (error) {
      if ('uuid' in answer) credentials.forget(answer.uuid)
      // The answer came too late, or the run has recorded why the node cannot start. If the daemon is stopping, the next one asks again.
      if (!(error instanceof KernelError) || (error.code !== 'CONFLICT' && error.code !== 'UNAVAILABLE')) throw error
    }
  }

  async #prepare(run: Uuid, name: string): Promise<NodeAnswer> {
    const { table, credentials, worktrees } = this.#deps
    const process = table.get(run)
    const node = process && composeSpecOf(process).nodes.find((node) => node.name === name)
    if (!process || !node) throw new KernelError('NOT_FOUND', `there is no node "${name}"`)
    const uuid = uuidv7()
    const filledSpec = {
      ...fillTemplate(node.template, await this.#referenceValues(process, node)),
      env: process.spec.env,
      name: null,
      childId: name,
    }
    const worktreeName = process.spec.name === null ? null : `${process.spec.name}.${name}`
    const spec = await withRealPaths(
      node.worktree ? { ...(await worktrees.plan(uuid, { ...filledSpec, name: worktreeName })), name: null } : filledSpec,
    )
    await credentials.resolveAndKeep({ uuid, spec }, this.runSecretsOf(run))
    return { uuid, spec }
  }

  /** The values of all references in the node's texts, by the key of the reference. */
  async #referenceValues(run: Process, { template: { intent, argv } }: NodeSpec): Promise<ReadonlyMap<string, string>> {
    const references = new Map<string, Reference>()
    for (const text of [intent, ...(argv ?? [])])
      fillReferences(text, (reference) => {
        references.set(keyOf(reference), reference)
        return ''
      })
    const values = await Promise.all(
      [...references].map(async ([key, reference]) => [key, await this.#referenceValue(run, reference)] as const),
    )
    return new Map(values)
  }

  async #referenceValue(run: Process, { node, field }: Reference): Promise<string> {
    const { table, store } = this.#deps
    const uuid = composeRunOf(run).nodes.find(({ name }) => name === node)?.uuid
    const process = uuid ? (table.get(uuid) ?? (await store.process(uuid))) : undefined
    if (!process) throw new KernelError('NOT_FOUND', `the process of node "${node}" was removed, and its ${field} with it`)
    switch (field) {
      case 'result':
        return readResult(store, process)
      case 'uuid':
        return process.uuid
      case 'cwd':
        return process.spec.cwd
      case 'branch':
        return process.spec.worktree?.branch ?? ''
      default:
        throw new KernelError('INVALID', `a node has no ${field}`)
    }
  }
}

function keyOf({ node, field }: Reference): string {
  return `${node}.${field}`
}

function fillTemplate(template: RunnableSpec, values: ReadonlyMap<string, string>): RunnableSpec {
  // Arguments of the operating system cannot contain NUL.
  const fill = (text: string): string => fillReferences(text, (reference) => (values.get(keyOf(reference)) ?? '').replaceAll('\0', ''))
  const intent = fill(template.intent)
  if (template.argv === null) return { ...template, intent }
  return { ...template, intent, argv: template.argv.map((text) => protectLeadingDash(template, text, fill(text))) }
}

/** Puts a space before a leading dash, because an agent would take its task for a flag. A command defines its own arguments. */
function protectLeadingDash({ agent }: RunnableSpec, text: string, filled: string): string {
  return agent !== 'command' && filled !== text && filled.startsWith('-') ? ` ${filled}` : filled
}
