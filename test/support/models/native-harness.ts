// Runs native agents for tests, with a folder, a real containment, a fake kernel, and model scripts or models by name.
// Disposing of the harness ends the agents and their programs.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULTS } from '../../../src/config/config.ts'
import { nativeDriver } from '../../../src/drivers/native/driver.ts'
import type { NativeOptions } from '../../../src/drivers/native/driver.ts'
import type { Agent } from '../../../src/drivers/port.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import { openContainmentHarness } from '../agents/containment-harness.ts'
import { testEnv } from '../env.ts'
import { FakeKernel } from '../kernel/fake-kernel.ts'
import type { NativeSpec } from '../../../src/kernel/model/process-spec.ts'
import { changedSpec, type SpecChanges } from '../spec-changes.ts'

export interface RunOptions {
  /** YAML of a script; or give `model` in the spec */
  readonly script?: string
  readonly spec?: SpecChanges
  readonly credentials?: Readonly<Record<string, string>>
  /** facts of an earlier incarnation */
  readonly earlierFacts?: readonly StoredFact[]
  /** options of the driver; default: quick retries */
  readonly native?: Partial<NativeOptions>
  /** the kernel acknowledges no report */
  readonly acknowledgesNothing?: boolean
}

export interface Run {
  readonly kernel: FakeKernel
  readonly agent: Agent
  /** begins a turn, as the kernel does */
  send(text: string): Promise<void>
  /** begins a turn and waits until it has ended */
  runTurn(text: string): Promise<void>
}

export interface NativeHarness extends AsyncDisposable {
  readonly dir: string
  readonly token: string
  run(options: RunOptions): Promise<Run>
}

/** Retries without a noticeable delay. */
const QUICK_RETRIES: Partial<NativeOptions> = { retry: { attempts: 4, baseMs: 1, capMs: 4 } }

export async function openNativeHarness(): Promise<NativeHarness> {
  const contained = await openContainmentHarness()
  const agents: Agent[] = []
  let scriptCount = 0
  return {
    dir: contained.dir,
    token: contained.token,
    async run(options) {
      const kernel = new FakeKernel()
      kernel.acknowledgesNothing = options.acknowledgesNothing ?? false
      if (options.earlierFacts !== undefined) kernel.inherit(options.earlierFacts)
      const spec = specOf(contained.dir, options.script === undefined ? '' : `script:${(scriptCount += 1)}.yaml`, options.spec)
      if (options.script !== undefined) await writeFile(join(contained.dir, `${scriptCount}.yaml`), options.script)
      const containment = await contained.open(contained.manager.kind)
      const agent = await nativeDriver({ providers: DEFAULTS.providers, ...(options.native ?? QUICK_RETRIES) }).start(
        {
          uuid: 'test',
          pid: 1,
          spec,
          containment,
          intent: containment.intent,
          tmpDir: contained.dir,
          credentials: options.credentials ?? {},
          step: 0,
          turn: 0,
          sessionId: null,
          resumed: false,
          resumeMessage: () => Promise.resolve(null),
          openCalls: kernel.openCalls,
          context: null,
          historyOf: () => Promise.resolve([]),
          history: kernel.history,
          filteredHistory: kernel.history,
        },
        kernel,
      )
      agents.push(agent)
      const send = (text: string): Promise<void> => {
        const id = `m${kernel.facts.length}`
        return agent.deliver({ id, from: 'user', text, turn: kernel.beginTurn(id, text) })
      }
      return { kernel, agent, send, runTurn: (text) => send(text).then(() => kernel.waitForTurnEnd()) }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
      await contained[Symbol.asyncDispose]()
    },
  }
}

function specOf(cwd: string, model: string, changes: SpecChanges = {}): NativeSpec {
  const spec: NativeSpec = {
    name: null,
    agent: 'test',
    driver: 'native',
    intent: '',
    cwd,
    interactive: true,
    model,
    system: null,
    tools: null,
    deny: [],
    argv: null,
    env: testEnv(cwd),
    credentials: [],
    containment: 'auto',
    limits: {},
  }
  return changedSpec(spec, { ...changes, driver: 'native' })
}
