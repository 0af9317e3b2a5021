// Spawns trees of real processes that all wait at one gate: native agents in a tool call, ACP agents in a turn, and commands. Each
// member writes one note before the gate and one after it. The gate is a FIFO without a writer, so that waiting uses no CPU.
// Test: test/e2e/lifecycle/trees.test.ts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { testEnv } from '../env.ts'
import { newToken } from '../living-processes.ts'
import type { LocalDaemon } from './local-daemon.ts'

const PROGRAM = fileURLToPath(new URL('../programs/acp-agent.ts', import.meta.url))
const FACTS_LIMIT_MS = 120_000

type MemberKind = 'native' | 'acp' | 'command'

export interface TreeMember {
  readonly name: string
  readonly kind: MemberKind
  readonly uuid: string
  readonly pid: number
}

export class GatedTree {
  /** in the order of their spawns; the first is the root */
  readonly members: TreeMember[] = []
  /** a token that the ACP agents have in their arguments */
  readonly token = newToken()
  readonly #daemon: LocalDaemon
  readonly #gate: string

  constructor(daemon: LocalDaemon) {
    this.#daemon = daemon
    this.#gate = join(daemon.work, 'gate')
    execFileSync('mkfifo', [this.#gate])
    const argv = [process.execPath, PROGRAM, this.token, `log=${join(daemon.work, 'acp.log')}`, `sessions=${daemon.work}`, 'resume']
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(
      join(daemon.paths.agentsDir, 'fake.md'),
      `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${JSON.stringify(argv)}\n---\n`,
    )
  }

  get root(): string {
    return this.members[0]?.uuid ?? ''
  }

  membersOf(...kinds: readonly MemberKind[]): TreeMember[] {
    return this.members.filter(({ kind }) => kinds.includes(kind))
  }

  /** Adds `count` members below the existing ones: at most three children each. */
  async grow(kind: MemberKind, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const number = this.members.length
      const parent = number === 0 ? {} : { parent: this.members[Math.floor((number - 1) / 3)]?.uuid ?? '' }
      const { uuid, pid } = await this.spawn(kind, `m${number}`, parent)
      this.members.push({ name: `m${number}`, kind, uuid, pid })
    }
  }

  async spawn(kind: MemberKind, name: string, body: { readonly parent?: string }): Promise<ProcessView> {
    const request = { ...body, name, env: testEnv(this.#daemon.work) }
    if (kind === 'command') return this.#daemon.spawnShell(`${this.#gateCommand(name)}; echo after ${name}`, request)
    if (kind === 'acp')
      return this.#daemon.spawn({ agent: 'fake', intent: `say before\nwait ${this.#gate}.open\nsay after ${name}`, ...request })
    return this.#daemon.spawnScripted(
      [
        bashCall(`echo early ${name}`),
        bashCall(`${this.#gateCommand(name)}; echo ${name}`),
        bashCall(`echo late ${name} >> ${this.#noteFile('late', name)}`),
        { text: `after ${name}` },
      ],
      request,
    )
  }

  /** Returns how often a member has written a note of this kind. */
  countNotes(kind: 'begun' | 'passed' | 'late', { name }: TreeMember): number {
    const file = this.#noteFile(kind, name)
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
  }

  /** Opens the gate for all waiting members and for later ones. */
  async openGate(): Promise<void> {
    writeFileSync(`${this.#gate}.open`, '')
    // A program that waits at the FIFO reads its end; a later program finds an ordinary file.
    renameSync(this.#gate, `${this.#gate}.old`)
    writeFileSync(this.#gate, '')
    await using _ = await open(`${this.#gate}.old`, 'r+')
  }

  /** Resolves when each member has one of these facts. */
  async waitForFacts(members: readonly { readonly uuid: string }[], ...facts: readonly string[]): Promise<void> {
    const missing = new Set(members.map(({ uuid }) => uuid))
    const late = AbortSignal.timeout(FACTS_LIMIT_MS)
    try {
      for await (const { uuid, fact } of this.#daemon.client.events('/v1/events', {
        query: { after: 0, follow: true },
        signal: late,
        isLast: () => missing.size === 0,
      })) {
        if (facts.includes(String(fact))) missing.delete(uuid)
        if (missing.size === 0) return
      }
      throw new Error('the events ended')
    } catch (error) {
      const names = this.members.filter(({ uuid }) => missing.has(uuid)).map(({ name, kind }) => `${name} (${kind})`)
      throw new Error(`no ${facts.join(' or ')} of ${names.join(', ') || [...missing].join(', ')}: ${this.#daemon.errors.join('\n')}`, {
        cause: error,
      })
    }
  }

  async views(): Promise<Map<string, ProcessView>> {
    const { processes } = await this.#daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true, limit: 1_000 })
    return new Map(processes.map((view) => [view.uuid, view]))
  }

  #gateCommand(name: string): string {
    return `echo >> ${this.#noteFile('begun', name)}; read -r _ < ${this.#gate}; echo >> ${this.#noteFile('passed', name)}`
  }

  #noteFile(kind: string, name: string): string {
    return join(this.#daemon.work, `${kind}-${name}`)
  }
}

function bashCall(command: string): object {
  return { tools: [{ name: 'bash', input: { command } }] }
}
