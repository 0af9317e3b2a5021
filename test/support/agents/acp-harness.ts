// Runs agents that speak ACP for tests, with a folder, a real containment, a scripted agent program and a fake kernel.
// Disposing of the harness ends the agents and checks that no program is left.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { acpDriver } from '../../../src/drivers/acp/driver.ts'
import type { AcpOptions } from '../../../src/drivers/acp/driver.ts'
import type { Agent, OwnTools } from '../../../src/drivers/port.ts'
import type { Report } from '../../../src/kernel/model/reports.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import { openContainmentHarness } from './containment-harness.ts'
import { testEnv } from '../env.ts'
import { findProcessesWith } from '../living-processes.ts'
import { waitUntil } from '../wait-until.ts'
import { FakeKernel } from '../kernel/fake-kernel.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'
import type { Ask } from '../../../src/kernel/model/asks.ts'
import type { AcpSpec } from '../../../src/kernel/model/process-spec.ts'
import { changedSpec, type SpecChanges } from '../spec-changes.ts'

const PROGRAM = fileURLToPath(new URL('../programs/acp-agent.ts', import.meta.url))

interface AcpRunOptions extends AcpOptions {
  /** options of the scripted agent; see programs/acp-agent.ts */
  readonly agentOptions?: readonly string[]
  readonly argv?: readonly string[]
  /** default: the strongest containment that works on this machine */
  readonly kind?: ContainmentKind
  readonly spec?: SpecChanges
  readonly credentials?: Readonly<Record<string, string>>
  readonly sessionId?: string
  readonly forkOf?: string
  /** reeve's own tools for the agent */
  readonly ownTools?: OwnTools
  /** facts of an earlier incarnation */
  readonly earlierFacts?: readonly StoredFact[]
}

export interface AcpRun {
  readonly kernel: FakeKernel
  readonly agent: Agent
  /** the session in the latest report `up` */
  readonly readSessionId: () => string
  /** the lines that the program has logged so far */
  readLogLines(): readonly string[]
  /** begins a turn, as the kernel does */
  send(text: string): Promise<void>
  /** begins a turn and waits until it has ended */
  runTurn(text: string): Promise<Extract<Report, { type: 'turn.ended' }>>
  /** resolves with the latest question once the agent has asked `count` questions (default: 1) */
  waitForAsk(count?: number): Promise<Ask>
  /** resolves when the agent has reported its exit */
  waitForExit(): Promise<Extract<Report, { type: 'exited' }>>
  waitUntilUp(): Promise<void>
}

export interface AcpHarness extends AsyncDisposable {
  readonly dir: string
  readonly token: string
  start(options?: AcpRunOptions): Promise<AcpRun>
}

export async function openAcpHarness(): Promise<AcpHarness> {
  const contained = await openContainmentHarness()
  const agents: Agent[] = []
  let runCount = 0
  return {
    dir: contained.dir,
    token: contained.token,
    async start({ agentOptions = [], argv, kind, spec, credentials = {}, sessionId, forkOf, ownTools, earlierFacts, ...options } = {}) {
      const kernel = new FakeKernel()
      if (earlierFacts !== undefined) kernel.inherit(earlierFacts)
      const log = join(contained.dir, `${(runCount += 1)}.log`)
      const containment = await contained.open(kind ?? contained.manager.kind)
      const agent = await acpDriver({ handshakeMs: 60_000, ...options }).start(
        {
          uuid: 'test',
          pid: runCount,
          containment,
          intent: containment.intent,
          tmpDir: contained.dir,
          credentials,
          spec: changedSpec(
            specOf(
              contained.dir,
              argv ?? [process.execPath, PROGRAM, contained.token, `log=${log}`, `sessions=${contained.dir}`, ...agentOptions],
            ),
            { ...spec, driver: 'acp' },
          ),
          step: 0,
          turn: kernel.turn,
          openCalls: kernel.openCalls,
          context: null,
          sessionId: sessionId ?? null,
          resumed: sessionId !== undefined,
          ...(forkOf === undefined ? {} : { forkOf }),
          ...(ownTools === undefined ? {} : { ownTools }),
          resumeMessage: () => Promise.resolve(null),
          historyOf: () => Promise.resolve([]),
          history: kernel.history,
          filteredHistory: kernel.history,
        },
        kernel,
      )
      agents.push(agent)
      return runOf(kernel, agent, log)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
      const remaining = findProcessesWith(contained.token)
      await contained[Symbol.asyncDispose]()
      if (remaining.length > 0) throw new Error(`programs are left: ${JSON.stringify(remaining)}`)
    },
  }
}

function runOf(kernel: FakeKernel, agent: Agent, log: string): AcpRun {
  const send = (text: string): Promise<void> => {
    const id = `m${kernel.facts.length}`
    return agent.deliver({ id, from: 'user', text, turn: kernel.beginTurn(id, text) })
  }
  const lastReport = <T extends Report['type']>(type: T) => {
    const latest = kernel.reportsOf(type).at(-1)
    if (latest === undefined) throw new Error(`no ${type}`)
    return latest.report
  }
  return {
    kernel,
    agent,
    send,
    readSessionId: () => lastReport('up').sessionId ?? '',
    readLogLines: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []),
    waitUntilUp: () => kernel.waitFor(() => kernel.reportsOf('up').length > 0, 'it is up'),
    async runTurn(text) {
      await kernel.waitFor(() => kernel.reportsOf('up').length > 0, 'it is up')
      await send(text)
      const turn = kernel.turn
      await kernel.waitFor(() => kernel.reportsOf('turn.ended').some(({ report }) => report.turn === turn), `turn ${turn} has ended`)
      return lastReport('turn.ended')
    },
    async waitForAsk(count = 1) {
      await waitUntil(() => kernel.reportsOf('waiting').length >= count, 'it asks')
      return lastReport('waiting').ask
    },
    async waitForExit() {
      await kernel.waitFor(() => kernel.reportsOf('exited').length > 0, 'it has ended')
      return lastReport('exited')
    },
  }
}

function specOf(cwd: string, argv: readonly string[]): AcpSpec {
  return {
    name: null,
    agent: 'fake',
    driver: 'acp',
    intent: '',
    cwd,
    interactive: true,
    model: null,
    system: null,
    tools: null,
    deny: [],
    asks: true,
    argv,
    env: testEnv(cwd),
    credentials: [],
    containment: 'auto',
    limits: {},
  }
}
