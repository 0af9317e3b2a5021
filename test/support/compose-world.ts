// A run of a compose file on the real kernel, with a daemon that may die between any two inputs, also before it has done what was
// decided, and that puts nodes together late, twice or not at all. Every input goes in by the kernel's door. Holds what must always
// be so after each of them, by what it saw itself and not by what the kernel says of it.
import { Table } from '../../src/daemon/table.ts'
import { deadlineOf } from '../../src/kernel/deadline.ts'
import { fold } from '../../src/kernel/fold.ts'
import { nodesOf } from '../../src/kernel/runs.ts'
import { World, kernelSpec } from './kernel/world.ts'
import type { ComposeNode, NodeSpec, NodeState } from '../../src/crew/compose-types.ts'
import type { Effect } from '../../src/kernel/effects.ts'
import type { Fact } from '../../src/kernel/facts.ts'
import type { InputBody } from '../../src/kernel/inputs.ts'
import type { ExitStatus, Process } from '../../src/kernel/types.ts'

export const RUN = 'run'

export interface NodeAsked {
  readonly name: string
  readonly needs: readonly string[]
  readonly retries: number
  readonly driver: 'native' | 'command'
}

/** How a node's process can end by itself. */
export type End = 'well' | 'badly' | 'refused'

interface Ask {
  readonly node: string
  readonly ask: number
}

const LONG_MS = 100_000

export class RunWorld {
  readonly #world = new World()
  readonly #nodes: readonly NodeAsked[]
  readonly #parallel: number | undefined
  readonly #log: string[] = []
  #asks: Ask[] = []
  /** asks that were answered, which may be answered once more */
  #answered: Ask[] = []
  #replies = 0
  #born = 0
  #dies = false

  constructor(nodes: readonly NodeAsked[], parallel?: number) {
    this.#nodes = nodes
    this.#parallel = parallel
    this.#world.table = new Table(1_000)
    const template = (driver: 'native' | 'command') => kernelSpec({ driver, argv: driver === 'command' ? ['x'] : null })
    const specs: NodeSpec[] = nodes.map(({ name, needs, retries, driver }) => ({ name, needs, retries, template: template(driver) }))
    const compose = { file: '/reeve.yaml', nodes: specs, ...(parallel === undefined ? {} : { parallel }) }
    this.#put({ type: 'spawn', reply: this.#reply(), by: 'user', uuid: RUN, parent: null, spec: kernelSpec({ driver: 'compose', intent: '', name: 'r', compose }) })
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
    return nodesOf(this.run).nodes
  }

  get isOver(): boolean {
    return this.run.life.state === 'dead'
  }

  row(node: string): Process | undefined {
    const uuid = this.nodes.find(({ name }) => name === node)?.uuid
    return uuid ? this.#world.row(uuid) : undefined
  }

  /** What the run was told of its nodes, in order. */
  get told(): string[] {
    return this.#world.history(RUN).flatMap(({ body }) => (body.type.startsWith('compose.') ? [`${body.type.slice('compose.'.length)}${'node' in body ? ` ${body.node}` : ''}`] : []))
  }

  /** What was answered to the last input that was refused. */
  refused = ''

  get openAsks(): number {
    return this.#asks.length
  }

  // ——— what the daemon does

  /** The next input is decided and on disk, and then the daemon dies. */
  die(): void {
    this.#dies = true
  }

  crash(): void {
    this.#boot()
  }

  /** Puts a node together, in any order. */
  answer(at: number): void {
    const [ask] = this.#asks.splice(at % Math.max(1, this.#asks.length), 1)
    if (!ask) return
    this.#answered.push(ask)
    this.#made(ask)
  }

  /** Something was said before, and is said once more. */
  answerTwice(at: number): void {
    const ask = this.#answered[at % Math.max(1, this.#answered.length)]
    if (ask) this.#made(ask)
  }

  fail(at: number): void {
    const [ask] = this.#asks.splice(at % Math.max(1, this.#asks.length), 1)
    if (ask) this.#put({ type: 'composeNode', reply: this.#reply(), by: 'user', uuid: RUN, ...ask, made: { error: 'no such file' } })
  }

  /** Its row is gone, as after a collection. */
  remove(node: string): void {
    const row = this.row(node)
    if (row) this.#world.dead.delete(row.uuid)
  }

  /** Somebody else has a process of that name. */
  occupy(name: string): void {
    this.#put({ type: 'spawn', reply: this.#reply(), by: 'user', uuid: 'other', parent: null, spec: kernelSpec({ name }) })
  }

  wind(): void {
    this.#world.wind(LONG_MS)
    for (const uuid of [...this.#world.overlay.all()]) {
      const row = this.#world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.#world.mono) this.#put({ type: 'tick', uuid })
    }
  }

  // ——— what nodes do

  end(node: string, how: End): void {
    const row = this.row(node)
    if (row?.life.state !== 'running' || !row.life.attached || row.life.holds.length > 0) return
    const said = how === 'well' ? { code: 0 } : how === 'badly' ? { code: 3 } : { code: 1, error: '401 Unauthorized' }
    this.#report(row, { type: 'exited', osSignal: null, ...said })
  }

  // ——— what people do

  signal(whom: string, signal: 'SIGTERM' | 'SIGKILL' | 'SIGPAUSE'): void {
    const row = whom === RUN ? this.run : this.row(whom)
    if (row) this.#put({ type: 'signal', reply: this.#reply(), by: 'user', uuid: row.uuid, signal, subtree: false, graceMs: null, freeze: false })
  }

  /** What goes on while there is no run is no business of it, and so no event here. */
  resume(whom: string): void {
    if (whom !== RUN && this.isOver) return
    const row = whom === RUN ? this.run : this.row(whom)
    if (row) this.#put({ type: 'resume', reply: this.#reply(), by: 'user', uuid: row.uuid, frozen: this.#world.dead.get(row.uuid) ?? null, subtree: false, only: false, rerun: row.spec.driver === 'command', message: null, spec: null })
  }

  resumeNode(node: string): void {
    const uuid = this.nodes.find(({ name }) => name === node)?.uuid
    const row = uuid ? this.#world.row(uuid) : undefined
    this.#put({
      type: 'composeResume', reply: this.#reply(), by: 'user', uuid: RUN, node, frozen: this.#world.dead.get(RUN) ?? null,
      child: (uuid && this.#world.dead.get(uuid)) || null, message: null, rerun: row?.spec.driver === 'command', fork: null,
    })
  }

  // ——— the kernel's door

  #made({ node, ask }: Ask): void {
    this.#born += 1
    const driver = this.#nodes.find(({ name }) => name === node)?.driver ?? 'native'
    const spec = kernelSpec({ driver, argv: driver === 'command' ? ['x'] : null, childId: node })
    const uuid = `${node}${this.#born}`
    const wanted = this.nodes.find(({ name }) => name === node)?.ask
    this.#put({ type: 'composeNode', reply: this.#reply(), by: 'user', uuid: RUN, node, ask, made: { uuid, spec } })
    // It was put together with what others had given before they gave something else.
    if (ask !== wanted && this.#world.row(uuid)) throw new Error(`${node} was started by a late answer\n${this.log}`)
  }

  #report({ uuid, pid }: Process, report: Extract<InputBody, { type: 'report' }>['report']): void {
    this.#put({ type: 'report', reply: this.#reply(), uuid, pid, report })
  }

  #put(body: InputBody): void {
    this.#log.push(`${body.type} ${'uuid' in body ? body.uuid : ''} ${'signal' in body ? body.signal : ''}${'node' in body ? body.node : ''}${body.type === 'report' ? body.report.type : ''}`)
    const before = this.#world.row(RUN)
    const { changes, effects } = this.#world.step(body)
    this.#world.commit()
    this.#check(before, changes.facts)
    if (this.#dies) return this.#boot()
    for (const effect of effects) this.#perform(effect)
  }

  #boot(): void {
    this.#dies = false
    this.#log.push('— the daemon dies')
    this.#asks = []
    this.#answered = []
    this.#world.restart(1_000)
    const effects = [...this.#world.table.rows()].map(({ uuid }) => uuid).flatMap((uuid) => {
      const before = this.#world.row(RUN)
      const { changes, effects: told } = this.#world.step({ type: 'boot', uuid, survivors: [] })
      this.#world.commit()
      this.#check(before, changes.facts)
      return told
    })
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'start': return this.#start(effect.uuid, effect.pid)
      case 'driver.start': return this.#put({ type: 'report', reply: this.#reply(), uuid: effect.uuid, pid: effect.pid, report: { type: 'up' } })
      case 'driver.stop': return this.#put({ type: 'report', reply: this.#reply(), uuid: effect.uuid, pid: effect.pid, report: { type: 'exited', code: null, osSignal: 'SIGTERM' } })
      case 'refuse':
        this.refused = effect.message
        return
      case 'compose.start':
        this.#asks.push({ node: effect.node, ask: effect.ask })
        return
      case 'release':
        if (effect.action === 'await') this.#put({ type: 'released', uuid: effect.uuid, pid: effect.pid, survivors: [] })
        return
      default:
    }
  }

  #start(uuid: string, pid: number): void {
    const kin = (this.#world.row(uuid)?.supervision?.children ?? []).flatMap((child) => this.#world.dead.get(child.uuid) ?? [])
    this.#put({ type: 'start', uuid, pid, missingKeys: [], containment: { kind: 'group', path: null, marker: uuid }, kin })
  }

  #reply(): number {
    this.#replies += 1
    return this.#replies
  }

  // ——— what must always be so

  #check(before: Process | undefined, facts: readonly Fact[]): void {
    const fail = (words: string): never => {
      throw new Error(`${words}\n${this.log}`)
    }
    const known = new Map((before ? nodesOf(before).nodes : this.nodes).map((node) => [node.name, node.state]))
    for (const { body, uuid } of facts) {
      if (uuid !== RUN || !body.type.startsWith('compose.') || !('node' in body)) continue
      const { needs = [] } = this.#nodes.find(({ name }) => name === body.node) ?? {}
      if (body.type === 'compose.starting' && !needs.every((need) => known.get(need) === 'completed')) fail(`${body.node} starts, and not all that it needs has completed`)
      // What a person resumes is nobody's to put off, and what is asked once more is not one more.
      const busy = [...known.values()].filter((state) => state === 'starting' || state === 'running').length
      if (body.type === 'compose.starting' && known.get(body.node) === 'waiting' && busy >= (this.#parallel ?? Infinity)) fail(`${body.node} starts, and ${busy} nodes are at work`)
      if (body.type === 'compose.started') {
        const rows = [...this.#world.table.rows()].filter(({ spec, uuid: child }) => spec.childId === body.node && child !== body.child)
        if (rows.length > 0 && this.nodes.some(({ uuid: own }) => rows.some((row) => row.uuid === own))) fail(`${body.node} has two processes`)
      }
      known.set(body.node, stateAfter(known.get(body.node) ?? 'waiting', body.type))
    }
    const folded = this.#world.history(RUN).reduce<Process | undefined>((row, fact) => fold(row, fact), undefined)
    if (JSON.stringify(folded?.compose) !== JSON.stringify(this.run.compose)) fail('the row is not the fold of its facts')
    for (const { name, state, uuid } of this.nodes) {
      const row = uuid ? this.#world.row(uuid) : undefined
      if (state === 'running' && !row) fail(`${name} runs without a process`)
      if (state !== 'running' && row && uuid && this.#world.table.get(uuid) && row.life.state !== 'zombie' && this.run.life.state === 'running' && !this.run.life.stopping) fail(`${name} is ${state}, and its process lives`)
    }
  }

  /** What each node should be called at the end, by how its last process ended; null: nobody kept it then, so that the run knows nothing of it. */
  shouldBe({ name, uuid, state }: ComposeNode): string | null {
    const { needs = [], driver = 'native' } = this.#nodes.find((node) => node.name === name) ?? {}
    const lost = needs.filter((need) => this.nodes.find((other) => other.name === need)?.state !== 'completed')
    const life = uuid ? this.#world.row(uuid)?.life : undefined
    // It never had one: what it needs is lost, or it could not be put together, which may have been before.
    if (life?.state !== 'dead') return state === 'blocked' && lost.length > 0 ? 'blocked' : 'failed'
    return wordFor(life.exit, driver)
  }
}

/** The table is not asked: it is what is tested. */
function stateAfter(before: NodeState, type: string): NodeState {
  const word = type.slice('compose.'.length)
  const words: Readonly<Record<string, NodeState>> = { started: 'running', retrying: 'running', resumed: 'running', again: 'waiting' }
  return words[word] ?? (word === 'starting' || word === 'completed' || word === 'failed' || word === 'blocked' || word === 'cancelled' ? word : before)
}

function wordFor({ cause, code }: ExitStatus, driver: string): string | null {
  if (cause === 'person' || cause === 'parent') return 'cancelled'
  if (cause === 'agent' && code === 0) return 'completed'
  return cause === 'daemon' && driver === 'native' ? null : 'failed'
}
