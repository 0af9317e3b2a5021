// Simulates a compose run on the real kernel, through its public entry. The simulated daemon may crash between any two inputs, even
// before it has performed a decision. It may assemble a node late, twice or never. After each input the invariants are checked
// against the records of this file, not against the kernel's state.
import { Table } from '../../../src/daemon/loop/table.ts'
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import { fold } from '../../../src/kernel/state/fold.ts'
import { composeRunOf } from '../../../src/kernel/compose/run-row.ts'
import { isSuspended } from '../../../src/kernel/model/status.ts'
import { World, kernelSpec } from '../kernel/world.ts'
import type { ComposeNode, NodeState } from '../../../src/kernel/model/compose.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { ExitStatus, Process } from '../../../src/kernel/model/process.ts'
import type { NodeSpec } from '../../../src/kernel/model/process-spec.ts'

export const RUN = 'run'

export interface NodePlan {
  readonly name: string
  readonly needs: readonly string[]
  readonly retries: number
  readonly driver: 'native' | 'command'
}

/** How a node's process ends by itself; `refused`: its provider refuses the key. */
export type Outcome = 'success' | 'failure' | 'refused'

interface NodeRequest {
  readonly node: string
  readonly ask: number
}

const LONG_MS = 100_000

export class ComposeRunWorld {
  readonly #world = new World()
  readonly #nodes: readonly NodePlan[]
  readonly #parallel: number | undefined
  readonly #log: string[] = []
  #openRequests: NodeRequest[] = []
  /** answered requests, which the daemon may repeat */
  #answeredRequests: NodeRequest[] = []
  #replies = 0
  #processCount = 0
  #diesAtNextDecision = false

  constructor(nodes: readonly NodePlan[], parallel?: number) {
    this.#nodes = nodes
    this.#parallel = parallel
    this.#world.table = new Table(1_000)
    const makeTemplate = (driver: 'native' | 'command') => kernelSpec({ driver, argv: driver === 'command' ? ['x'] : null })
    const specs: NodeSpec[] = nodes.map(({ name, needs, retries, driver }) => ({ name, needs, retries, template: makeTemplate(driver) }))
    const compose = { file: '/reeve.yaml', nodes: specs, ...(parallel === undefined ? {} : { parallel }) }
    this.#put({
      type: 'spawn',
      reply: this.#reply(),
      by: 'user',
      uuid: RUN,
      parent: null,
      spec: kernelSpec({ driver: 'compose', intent: '', name: 'r', compose }),
    })
  }

  get log(): string {
    return this.#log.join('\n')
  }

  get run(): Process {
    const run = this.#world.row(RUN)
    if (!run) throw new Error('the run is gone')
    return run
  }

  get nodes(): readonly ComposeNode[] {
    return composeRunOf(this.run).nodes
  }

  get isOver(): boolean {
    return this.run.life.state === 'dead'
  }

  row(node: string): Process | undefined {
    const uuid = this.nodes.find(({ name }) => name === node)?.uuid
    return uuid ? this.#world.row(uuid) : undefined
  }

  /** Returns the events that the run received from its nodes, in order. */
  get received(): string[] {
    return this.#world
      .history(RUN)
      .flatMap(({ body }) =>
        body.type.startsWith('compose.') ? [`${body.type.slice('compose.'.length)}${'node' in body ? ` ${body.node}` : ''}`] : [],
      )
  }

  /** the error of the last refused input */
  refused = ''

  get openRequestCount(): number {
    return this.#openRequests.length
  }

  // ——— acts of the daemon

  /** Lets the daemon die when the next decision has been written to disk but not performed. */
  dieAtNextDecision(): void {
    this.#diesAtNextDecision = true
  }

  crash(): void {
    this.#boot()
  }

  /** Assembles one of the requested nodes. */
  answer(index: number): void {
    const [ask] = this.#openRequests.splice(index % Math.max(1, this.#openRequests.length), 1)
    if (!ask) return
    this.#answeredRequests.push(ask)
    this.#assembled(ask)
  }

  /** Repeats an earlier answer. */
  answerTwice(index: number): void {
    const ask = this.#answeredRequests[index % Math.max(1, this.#answeredRequests.length)]
    if (ask) this.#assembled(ask)
  }

  failAssembly(index: number): void {
    const [ask] = this.#openRequests.splice(index % Math.max(1, this.#openRequests.length), 1)
    if (ask) this.#put({ type: 'composeNode', reply: this.#reply(), by: 'user', uuid: RUN, ...ask, made: { error: 'no such file' } })
  }

  /** Removes the row of a process, as a garbage collection does. */
  remove(node: string): void {
    const row = this.row(node)
    if (row) this.#world.dead.delete(row.uuid)
  }

  /** Spawns another process with this name. */
  occupy(name: string): void {
    this.#put({ type: 'spawn', reply: this.#reply(), by: 'user', uuid: 'other', parent: null, spec: kernelSpec({ name }) })
  }

  advanceClock(): void {
    this.#world.wind(LONG_MS)
    for (const uuid of [...this.#world.overlay.all()]) {
      const row = this.#world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.#world.mono) this.#put({ type: 'tick', uuid })
    }
  }

  // ——— acts of nodes

  end(node: string, outcome: Outcome): void {
    const row = this.row(node)
    if (row?.life.state !== 'running' || !row.life.attached || row.life.holds.length > 0) return
    const exit = outcome === 'success' ? { code: 0 } : outcome === 'failure' ? { code: 3 } : { code: 1, error: '401 Unauthorized' }
    this.#report(row, { type: 'exited', osSignal: null, ...exit })
  }

  // ——— acts of the user

  signal(target: string, signal: 'SIGTERM' | 'SIGKILL' | 'SIGPAUSE'): void {
    const row = target === RUN ? this.run : this.row(target)
    if (row)
      this.#put({ type: 'signal', reply: this.#reply(), by: 'user', uuid: row.uuid, signal, subtree: false, graceMs: null, freeze: false })
  }

  /** Resumes the run, or the process of a node while the run lives. After its end, a run records no changes of its nodes. */
  resume(target: string): void {
    if (target !== RUN && this.isOver) return
    const row = target === RUN ? this.run : this.row(target)
    if (row)
      this.#put({
        type: 'resume',
        reply: this.#reply(),
        by: 'user',
        uuid: row.uuid,
        endedRow: this.#world.dead.get(row.uuid) ?? null,
        subtree: false,
        only: false,
        rerun: row.spec.driver === 'command' && !isSuspended(row),
        message: null,
        spec: null,
      })
  }

  resumeNode(node: string): void {
    const uuid = this.nodes.find(({ name }) => name === node)?.uuid
    const row = uuid ? this.#world.row(uuid) : undefined
    this.#put({
      type: 'composeResume',
      reply: this.#reply(),
      by: 'user',
      uuid: RUN,
      node,
      endedRow: this.#world.dead.get(RUN) ?? null,
      child: (uuid && this.#world.dead.get(uuid)) || null,
      message: null,
      rerun: row?.spec.driver === 'command',
      fork: null,
    })
  }

  // ——— the kernel's entry

  #assembled({ node, ask }: NodeRequest): void {
    this.#processCount += 1
    const driver = this.#nodes.find(({ name }) => name === node)?.driver ?? 'native'
    const spec = kernelSpec({ driver, argv: driver === 'command' ? ['x'] : null, childId: node })
    const uuid = `${node}${this.#processCount}`
    const wanted = this.nodes.find(({ name }) => name === node)?.ask
    this.#put({ type: 'composeNode', reply: this.#reply(), by: 'user', uuid: RUN, node, ask, made: { uuid, spec } })
    // A late answer was assembled from outputs that have changed since.
    if (ask !== wanted && this.#world.row(uuid)) throw new Error(`${node} was started by a late answer\n${this.log}`)
  }

  #report({ uuid, pid }: Process, report: Extract<InputBody, { type: 'report' }>['report']): void {
    this.#put({ type: 'report', reply: this.#reply(), uuid, pid, report })
  }

  #put(body: InputBody): void {
    this.#log.push(
      `${body.type} ${'uuid' in body ? body.uuid : ''} ${'signal' in body ? body.signal : ''}${'node' in body ? body.node : ''}${body.type === 'report' ? body.report.type : ''}`,
    )
    const before = this.#world.row(RUN)
    const { changes, effects } = this.#world.step(body)
    this.#world.commit()
    this.#check(before, changes.facts)
    if (this.#diesAtNextDecision) return this.#boot()
    for (const effect of effects) this.#perform(effect)
  }

  #boot(): void {
    this.#diesAtNextDecision = false
    this.#log.push('— the daemon dies')
    this.#openRequests = []
    this.#answeredRequests = []
    this.#world.restart(1_000)
    const effects = [...this.#world.table.rows()]
      .map(({ uuid }) => uuid)
      .flatMap((uuid) => {
        const before = this.#world.row(RUN)
        const { changes, effects: bootEffects } = this.#world.step({ type: 'boot', uuid, survivors: [] })
        this.#world.commit()
        this.#check(before, changes.facts)
        return bootEffects
      })
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'start':
        return this.#start(effect.uuid, effect.pid)
      case 'driver.start':
        return this.#put({ type: 'report', reply: this.#reply(), uuid: effect.uuid, pid: effect.pid, report: { type: 'up' } })
      case 'driver.stop':
        return this.#put({
          type: 'report',
          reply: this.#reply(),
          uuid: effect.uuid,
          pid: effect.pid,
          report: { type: 'exited', code: null, osSignal: 'SIGTERM' },
        })
      case 'refuse':
        this.refused = effect.message
        return
      case 'compose.start':
        this.#openRequests.push({ node: effect.node, ask: effect.ask })
        return
      case 'release':
        if (effect.action === 'await') this.#put({ type: 'released', uuid: effect.uuid, pid: effect.pid, survivors: [] })
        return
      default:
    }
  }

  #start(uuid: string, pid: number): void {
    const endedChildren = (this.#world.row(uuid)?.supervision?.children ?? []).flatMap((child) => this.#world.dead.get(child.uuid) ?? [])
    this.#put({ type: 'start', uuid, pid, missingKeys: [], containment: { kind: 'group', path: null, marker: uuid }, endedChildren })
  }

  #reply(): number {
    this.#replies += 1
    return this.#replies
  }

  // ——— invariants

  #check(before: Process | undefined, facts: readonly Fact[]): void {
    const throwViolation = (message: string): never => {
      throw new Error(`${message}\n${this.log}`)
    }
    const stateOf = new Map((before ? composeRunOf(before).nodes : this.nodes).map((node) => [node.name, node.state]))
    for (const { body, uuid } of facts) {
      if (uuid !== RUN || !body.type.startsWith('compose.') || !('node' in body)) continue
      const { needs = [] } = this.#nodes.find(({ name }) => name === body.node) ?? {}
      if (body.type === 'compose.starting' && !needs.every((need) => stateOf.get(need) === 'completed'))
        throwViolation(`${body.node} starts before all that it needs has completed`)
      // A process that the user resumes cannot wait for its turn, and a repeated request starts no other process.
      const busyCount = [...stateOf.values()].filter((state) => state === 'starting' || state === 'running').length
      if (body.type === 'compose.starting' && stateOf.get(body.node) === 'waiting' && busyCount >= (this.#parallel ?? Infinity))
        throwViolation(`${body.node} starts while ${busyCount} nodes run, which is the limit`)
      if (body.type === 'compose.started') {
        const rows = [...this.#world.table.rows()].filter(({ spec, uuid: child }) => spec.childId === body.node && child !== body.child)
        if (rows.length > 0 && this.nodes.some(({ uuid: own }) => rows.some((row) => row.uuid === own)))
          throwViolation(`${body.node} has two processes`)
      }
      stateOf.set(body.node, stateAfter(stateOf.get(body.node) ?? 'waiting', body.type))
    }
    const folded = this.#world.history(RUN).reduce<Process | undefined>((row, fact) => fold(row, fact), undefined)
    if (JSON.stringify(folded?.compose) !== JSON.stringify(this.run.compose)) throwViolation('the row is not the fold of its facts')
    for (const { name, state, uuid } of this.nodes) {
      const row = uuid ? this.#world.row(uuid) : undefined
      if (state === 'running' && !row) throwViolation(`${name} runs without a process`)
      if (
        state !== 'running' &&
        row &&
        uuid &&
        this.#world.table.get(uuid) &&
        row.life.state !== 'zombie' &&
        this.run.life.state === 'running' &&
        !this.run.life.stopping
      )
        throwViolation(`${name} is ${state}, but its process lives`)
    }
  }

  /** Returns the expected final state of a node, from the exit of its last process. Null if the run no longer watched that process. */
  expectedState({ name, uuid, state }: ComposeNode): string | null {
    const { needs = [], driver = 'native' } = this.#nodes.find((node) => node.name === name) ?? {}
    const unfinishedNeeds = needs.filter((need) => this.nodes.find((other) => other.name === need)?.state !== 'completed')
    const life = uuid ? this.#world.row(uuid)?.life : undefined
    // The node never had a process: one of its inputs is lost, or it could not be assembled, perhaps in an earlier incarnation.
    if (life?.state !== 'dead') return state === 'blocked' && unfinishedNeeds.length > 0 ? 'blocked' : 'failed'
    return stateAfterExit(life.exit, driver)
  }
}

/** Returns the node's state after an event, without the kernel's table, which is under test. */
function stateAfter(before: NodeState, type: string): NodeState {
  const event = type.slice('compose.'.length)
  const stateByEvent: Readonly<Record<string, NodeState>> = {
    started: 'running',
    retrying: 'running',
    resumed: 'running',
    again: 'waiting',
  }
  return (
    stateByEvent[event] ??
    (event === 'starting' || event === 'completed' || event === 'failed' || event === 'blocked' || event === 'cancelled' ? event : before)
  )
}

function stateAfterExit({ cause, code }: ExitStatus, driver: string): string | null {
  if (cause === 'person' || cause === 'parent') return 'cancelled'
  if (cause === 'agent' && code === 0) return 'completed'
  return cause === 'daemon' && driver === 'native' ? null : 'failed'
}
