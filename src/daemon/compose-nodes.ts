// Puts the process of a run's node together when the kernel asks for it: what others gave is filled in, a worktree is planned, its
// keys are found; then the kernel starts it, or hears why it cannot be. Owns nothing of a run's state: an answer that comes too
// late is dropped. Test: test/e2e/compose.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { fillIn, type Reference } from '../crew/compose-template.ts'
import { KernelError } from '../kernel/errors.ts'
import { composeOf, nodesOf } from '../kernel/runs.ts'
import { resultOf } from './node-result.ts'
import { withRealPlaces } from './places.ts'
import type { NodeSpec } from '../crew/compose-types.ts'
import type { Effect } from '../kernel/effects.ts'
import type { InputOf } from '../kernel/inputs.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Keys } from './keys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'
import type { Worktrees } from './worktrees.ts'

type Secrets = Readonly<Record<string, string>>
type Asked = Extract<Effect, { type: 'compose.start' }>
type Made = InputOf<'composeNode'>['made']

export interface ComposeNodesParts {
  readonly table: Table
  readonly store: Store
  readonly keys: Pick<Keys, 'of' | 'forget'>
  readonly worktrees: Pick<Worktrees, 'plan'>
  readonly request: Pipeline['request']
  readonly log: (message: string, error: unknown) => void
}

export class ComposeNodes {
  readonly #parts: ComposeNodesParts
  /** what a client gave to a run, for nodes that start later; in memory alone */
  readonly #lent = new Map<Uuid, Secrets>()

  constructor(parts: ComposeNodesParts) {
    this.#parts = parts
  }

  /** What the nodes of a run may use; of runs that have ended nothing is kept. */
  lend(run: Uuid, secrets: Secrets): void {
    for (const uuid of this.#lent.keys()) if (!this.#parts.table.get(uuid)) this.#lent.delete(uuid)
    this.#lent.set(run, { ...this.#lent.get(run), ...secrets })
  }

  lentTo(run: Uuid): Secrets {
    return this.#lent.get(run) ?? {}
  }

  start(asked: Asked): void {
    this.#start(asked).catch((error: unknown) => this.#parts.log(`node ${asked.node} of run ${asked.pid}`, error))
  }

  async #start({ uuid, node, ask }: Asked): Promise<void> {
    const { request, keys, log } = this.#parts
    const made = await this.#make(uuid, node).catch((error: unknown): Made => {
      if (!(error instanceof KernelError)) log(`node ${node} of run ${uuid}`, error)
      return { error: error instanceof Error ? error.message : String(error) }
    })
    try {
      await request({ type: 'composeNode', by: 'user', uuid, node, ask, made })
    } catch (error) {
      if ('uuid' in made) keys.forget(made.uuid)
      // It is too late, or it could not be started, which the run knows.
      if (!(error instanceof KernelError) || (error.code !== 'CONFLICT' && error.code !== 'UNAVAILABLE')) throw error
    }
  }

  async #make(run: Uuid, name: string): Promise<Made> {
    const { table, keys, worktrees } = this.#parts
    const process = table.get(run)
    const node = process && composeOf(process).nodes.find((one) => one.name === name)
    if (!process || !node) throw new KernelError('NOT_FOUND', `there is no node "${name}"`)
    const uuid = uuidv7()
    const filled = { ...filledIn(node.template, await this.#values(process, node)), env: process.spec.env, name: null, childId: name }
    const place = process.spec.name === null ? null : `${process.spec.name}.${name}`
    const spec = await withRealPlaces(node.worktree ? { ...await worktrees.plan(uuid, { ...filled, name: place }), name: null } : filled)
    await keys.of({ uuid, spec }, this.lentTo(run))
    return { uuid, spec }
  }

  /** All that the node refers to, as text. */
  async #values(run: Process, { template: { intent, argv } }: NodeSpec): Promise<ReadonlyMap<string, string>> {
    const wanted = new Map<string, Reference>()
    for (const text of [intent, ...(argv ?? [])]) fillIn(text, (reference) => {
      wanted.set(keyOf(reference), reference)
      return ''
    })
    const values = await Promise.all([...wanted].map(async ([key, reference]) => [key, await this.#value(run, reference)] as const))
    return new Map(values)
  }

  async #value(run: Process, { node, field }: Reference): Promise<string> {
    const { table, store } = this.#parts
    const uuid = nodesOf(run).nodes.find(({ name }) => name === node)?.uuid
    const process = uuid ? (table.get(uuid) ?? await store.process(uuid)) : undefined
    if (!process) throw new KernelError('NOT_FOUND', `the process of node "${node}" was removed, and its ${field} with it`)
    switch (field) {
      case 'result': return resultOf(store, process)
      case 'uuid': return process.uuid
      case 'cwd': return process.spec.cwd
      case 'branch': return process.spec.worktree?.branch ?? ''
      default: throw new KernelError('INVALID', `a node has no ${field}`)
    }
  }
}

function keyOf({ node, field }: Reference): string {
  return `${node}.${field}`
}

function filledIn(template: ProcessSpec, values: ReadonlyMap<string, string>): ProcessSpec {
  // What is given to the operating system cannot hold a NUL.
  const fill = (text: string): string => fillIn(text, (reference) => (values.get(keyOf(reference)) ?? '').replaceAll('\0', ''))
  const argv = template.argv && template.argv.map((text) => asArgument(template, text, fill(text)))
  return { ...template, intent: fill(template.intent), argv }
}

/** An agent that is told by an argument would take what begins with a dash for one of its flags. A command says itself what its arguments are. */
function asArgument({ agent }: ProcessSpec, text: string, filled: string): string {
  return agent !== 'command' && filled !== text && filled.startsWith('-') ? ` ${filled}` : filled
}
