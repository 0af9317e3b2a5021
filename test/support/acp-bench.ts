// Runs agents that speak ACP for tests: a folder, a real containment, the scripted agent, the kernel in memory. Disposing it
// ends the agents and checks that no program is left.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { acpDriver } from '../../src/drivers/acp/driver.ts'
import type { AcpOptions } from '../../src/drivers/acp/driver.ts'
import type { Agent } from '../../src/drivers/port.ts'
import type { Report } from '../../src/kernel/reports.ts'
import type { StoredFact } from '../../src/kernel/facts.ts'
import type { Ask } from '../../src/kernel/asking.ts'
import type { ContainmentKind, ProcessSpec } from '../../src/kernel/types.ts'
import { newContained } from './contained.ts'
import { testEnv } from './env.ts'
import { eventually, livingWith } from './living.ts'
import { TestKernel } from './native-kernel.ts'

const PROGRAM = fileURLToPath(new URL('programs/acp-agent.ts', import.meta.url))

interface AcpRunOptions extends AcpOptions {
  /** options of the scripted agent; see programs/acp-agent.ts */
  readonly as?: readonly string[]
  readonly argv?: readonly string[]
  /** the strongest that works here, if not said */
  readonly kind?: ContainmentKind
  readonly spec?: Partial<ProcessSpec>
  readonly credentials?: Readonly<Record<string, string>>
  readonly sessionId?: string
  readonly forkOf?: string
  /** facts of an earlier incarnation */
  readonly after?: readonly StoredFact[]
}

export interface AcpRun {
  readonly kernel: TestKernel
  readonly agent: Agent
  readonly sessionId: () => string
  /** what the program has noted so far, line by line */
  noted(): readonly string[]
  /** begins a turn, as the kernel does */
  send(text: string): Promise<void>
  /** begins a turn and waits until it has ended */
  turn(text: string): Promise<Extract<Report, { type: 'turn.ended' }>>
  /** resolves with the next thing that it asks */
  asked(count?: number): Promise<Ask>
  /** resolves when it has said that it has ended */
  exited(): Promise<Extract<Report, { type: 'exited' }>>
  up(): Promise<void>
}

export interface AcpBench extends AsyncDisposable {
  readonly dir: string
  readonly token: string
  start(options?: AcpRunOptions): Promise<AcpRun>
}

export async function acpBench(): Promise<AcpBench> {
  const contained = await newContained()
  const agents: Agent[] = []
  let runs = 0
  return {
    dir: contained.dir,
    token: contained.token,
    async start({ as = [], argv, kind, spec, credentials = {}, sessionId, forkOf, after, ...options } = {}) {
      const kernel = new TestKernel()
      if (after !== undefined) kernel.inherit(after)
      const log = join(contained.dir, `${(runs += 1)}.log`)
      const containment = await contained.open(kind ?? contained.container.kind)
      const agent = await acpDriver({ handshakeMs: 60_000, ...options }).start({
        uuid: 'test', pid: runs, containment, intent: containment.intent, tmpDir: contained.dir, credentials,
        spec: { ...specOf(contained.dir), argv: argv ?? [process.execPath, PROGRAM, contained.token, `log=${log}`, `sessions=${contained.dir}`, ...as], ...spec },
        step: 0, turn: kernel.turn, openCalls: kernel.openCalls, context: null, sessionId: sessionId ?? null, resumed: sessionId !== undefined, ...(forkOf === undefined ? {} : { forkOf }),
        message: () => Promise.resolve(null), historyOf: () => Promise.resolve([]), history: kernel.history, skim: kernel.history,
      }, kernel)
      agents.push(agent)
      return runOf(kernel, agent, log)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
      const left = livingWith(contained.token)
      await contained[Symbol.asyncDispose]()
      if (left.length > 0) throw new Error(`left: ${JSON.stringify(left)}`)
    },
  }
}

function runOf(kernel: TestKernel, agent: Agent, log: string): AcpRun {
  const send = (text: string): Promise<void> => {
    const id = `m${kernel.facts.length}`
    return agent.deliver({ id, from: 'user', text, turn: kernel.beginTurn(id, text) })
  }
  const last = <T extends Report['type']>(type: T) => {
    const said = kernel.reports(type).at(-1)
    if (said === undefined) throw new Error(`no ${type}`)
    return said.report
  }
  return {
    kernel, agent, send,
    sessionId: () => last('up').sessionId ?? '',
    noted: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []),
    up: () => kernel.until(() => kernel.reports('up').length > 0, 'it is up'),
    async turn(text) {
      await kernel.until(() => kernel.reports('up').length > 0, 'it is up')
      await send(text)
      const turn = kernel.turn
      await kernel.until(() => kernel.reports('turn.ended').some(({ report }) => report.turn === turn), `turn ${turn} has ended`)
      return last('turn.ended')
    },
    async asked(count = 1) {
      await eventually(() => kernel.reports('waiting').length >= count, 'it asks')
      return last('waiting').ask
    },
    async exited() {
      await kernel.until(() => kernel.reports('exited').length > 0, 'it has ended')
      return last('exited')
    },
  }
}

function specOf(cwd: string): ProcessSpec {
  return {
    name: null, agent: 'fake', driver: 'acp', intent: '', cwd, interactive: true, model: null, system: null, tools: null, deny: [],
    argv: null, env: testEnv(cwd), credentials: [], containment: 'auto', limits: {},
  }
}
