// Trees of real processes that wait at one gate: native agents with a tool in flight, agents that speak ACP with a turn, and
// plain commands. All do one thing before the gate and one after it, and write down that they did. Nothing of them turns
// round while it waits: a gate is a FIFO that nobody writes to. Test: test/e2e/trees.test.ts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessView } from '../../src/api/views.ts'
import { testEnv } from './env.ts'
import { newToken } from './living.ts'
import type { LocalDaemon } from './local-daemon.ts'

const PROGRAM = fileURLToPath(new URL('programs/acp-agent.ts', import.meta.url))
const SEEN_MS = 120_000

type Kind = 'native' | 'acp' | 'command'

export interface Member {
  readonly name: string
  readonly kind: Kind
  readonly uuid: string
  readonly pid: number
}

export class Tree {
  /** in the order of their birth; the first is the root */
  readonly members: Member[] = []
  /** in the arguments of the ACP agents */
  readonly token = newToken()
  readonly #daemon: LocalDaemon
  readonly #gate: string

  constructor(daemon: LocalDaemon) {
    this.#daemon = daemon
    this.#gate = join(daemon.work, 'gate')
    execFileSync('mkfifo', [this.#gate])
    const argv = [process.execPath, PROGRAM, this.token, `log=${join(daemon.work, 'acp.log')}`, `sessions=${daemon.work}`, 'resume']
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(join(daemon.paths.agentsDir, 'fake.md'), `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${JSON.stringify(argv)}\n---\n`)
  }

  get root(): string {
    return this.members[0]?.uuid ?? ''
  }

  of(...kinds: readonly Kind[]): Member[] {
    return this.members.filter(({ kind }) => kinds.includes(kind))
  }

  /** So many more, each below one of those that were there: three children each. */
  async grow(kind: Kind, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const number = this.members.length
      const parent = number === 0 ? {} : { parent: this.members[Math.floor((number - 1) / 3)]?.uuid ?? '' }
      const { uuid, pid } = await this.spawn(kind, `m${number}`, parent)
      this.members.push({ name: `m${number}`, kind, uuid, pid })
    }
  }

  async spawn(kind: Kind, name: string, body: { readonly parent?: string }): Promise<ProcessView> {
    const whole = { ...body, name, env: testEnv(this.#daemon.work) }
    if (kind === 'command') return this.#daemon.sh(`${this.#passing(name)}; echo after ${name}`, whole)
    if (kind === 'acp') return this.#daemon.spawn({ agent: 'fake', intent: `say before\nwait ${this.#gate}.open\nsay after ${name}`, ...whole })
    return this.#daemon.play([bash(`echo early ${name}`), bash(`${this.#passing(name)}; echo ${name}`), bash(`echo late ${name} >> ${this.#notes('late', name)}`), { text: `after ${name}` }], whole)
  }

  /** What it did, by kind of note: each line is one time. */
  times(what: 'begun' | 'passed' | 'late', { name }: Member): number {
    const file = this.#notes(what, name)
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
  }

  /** All that wait at the gate pass it, and those that come later. */
  async openGate(): Promise<void> {
    writeFileSync(`${this.#gate}.open`, '')
    // Who has opened the FIFO gets the end of its input; who comes later finds a file.
    renameSync(this.#gate, `${this.#gate}.old`)
    writeFileSync(this.#gate, '')
    await using _ = await open(`${this.#gate}.old`, 'r+')
  }

  /** Waits until each of these has had one of these facts. */
  async allHad(members: readonly { readonly uuid: string }[], ...facts: readonly string[]): Promise<void> {
    const left = new Set(members.map(({ uuid }) => uuid))
    const late = AbortSignal.timeout(SEEN_MS)
    try {
      for await (const { uuid, fact } of this.#daemon.client.events('/v1/events', { query: { after: 0, follow: true }, signal: late, isLast: () => left.size === 0 })) {
        if (facts.includes(String(fact))) left.delete(uuid)
        if (left.size === 0) return
      }
    } catch (error) {
      const names = this.members.filter(({ uuid }) => left.has(uuid)).map(({ name, kind }) => `${name} (${kind})`)
      throw new Error(`no ${facts.join(' or ')} of ${names.join(', ') || [...left].join(', ')}: ${this.#daemon.errors.join('\n')}`, { cause: error })
    }
  }

  async views(): Promise<Map<string, ProcessView>> {
    const { processes } = await this.#daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true, limit: 1_000 })
    return new Map(processes.map((view) => [view.uuid, view]))
  }

  #passing(name: string): string {
    return `echo >> ${this.#notes('begun', name)}; read -r _ < ${this.#gate}; echo >> ${this.#notes('passed', name)}`
  }

  #notes(what: string, name: string): string {
    return join(this.#daemon.work, `${what}-${name}`)
  }
}

function bash(command: string): object {
  return { tools: [{ name: 'bash', input: { command } }] }
}
