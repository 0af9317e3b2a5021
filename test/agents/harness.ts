// Runs a real coding agent under a real daemon, with its own HOME and the model server of the tests. No login, key or setting
// of the user reaches the agent. The harness finds remaining programs without reeve's code: by a token in their arguments, and by
// reeve's marker in their environment. Used by test/agents/*.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENTS, installedProgram, type AgentName } from '../../scripts/install-agents.ts'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { runCli } from '../support/daemon/cli.ts'
import { DaemonHome } from '../support/daemon/daemon-home.ts'
import { testEnv } from '../support/env.ts'
import { killRemaining, findProcessesWith, newToken } from '../support/living-processes.ts'
import { waitUntil } from '../support/wait-until.ts'
import { startAgentModel, type AgentModel, type AgentTools, type ModelSettings } from './model.ts'

const WAIT_LIMIT_MS = 150_000
const CHECK_MS = 50

/** How an agent is started, and the names of its tools. */
export interface AgentKind {
  readonly name: string
  /** the required installation; its programs come first in PATH */
  readonly installation: AgentName
  /** the program of another version than the pinned one; absent: the pinned one */
  readonly program?: string
  readonly tools: AgentTools
  /** the variables that direct it to the model server; `home` is its HOME */
  env(url: string, home: string): Readonly<Record<string, string>>
  /** the user's config.yaml; absent: none */
  config?(url: string): string
  /** the spawn body for a prompt */
  body(prompt: string): Partial<SpawnBody>
}

export interface AgentHarness extends AsyncDisposable {
  readonly daemon: DaemonHome
  readonly model: AgentModel
  readonly work: string
  readonly env: Record<string, string>
  readonly token: string
  start(prompt: string, more?: Partial<SpawnBody>): Promise<ProcessView>
  /** the view of `reeve inspect --json` */
  inspect(ref: string): Promise<ProcessView>
  reeve(...args: string[]): Promise<string>
  /** waits until the process is frozen; returns the names of its facts */
  waitUntilFrozen(uuid: string): Promise<readonly string[]>
  waitForEnd(uuid: string): Promise<ProcessView>
  /** releases a paced answer, and a shell tool that waits for its file */
  releaseAnswerAndTool(): void
  /** waits until no program of the agent or its tools lives */
  waitUntilNothingIsLeft(): Promise<void>
}

/** `modelSettings`: the usage and the faults of the model's answers. */
export async function openAgentHarness(kind: AgentKind, modelSettings: Pick<ModelSettings, 'usage' | 'fault'> = {}): Promise<AgentHarness> {
  const daemon = await DaemonHome.create('bundle')
  const token = newToken()
  const released = Promise.withResolvers<void>()
  const model = await startAgentModel({ token, cwd: daemon.work, tools: kind.tools, restAfter: released.promise, ...modelSettings })
  const home = join(daemon.work, '..', 'agent-home')
  mkdirSync(home)
  const env: Record<string, string> = { ...testEnv(home, kind.env(model.url, home)), PATH: pathOf(kind) }
  delete env['REEVE_HOME']
  delete env['TMPDIR']
  mkdirSync(daemon.path, { recursive: true, mode: 0o700 })
  if (kind.config) writeFileSync(daemon.paths.configFile, kind.config(model.url))
  await daemon.start()
  const reeve = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli(daemon.path, args, { cwd: daemon.work })
    if (code !== 0) throw new Error(`reeve ${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }
  return {
    daemon,
    model,
    token,
    env,
    work: daemon.work,
    reeve,
    start: (prompt, more = {}) => daemon.spawn({ env, ...kind.body(prompt), ...more }),
    inspect: async (ref) => JSON.parse(await reeve('inspect', '--json', ref)) as ProcessView,
    waitUntilFrozen: (uuid) => waitUntilFrozen(daemon, uuid),
    waitForEnd: (uuid) => waitForEnd(daemon, uuid),
    releaseAnswerAndTool: () => {
      released.resolve()
      writeFileSync(join(daemon.work, 'go'), '')
    },
    waitUntilNothingIsLeft: async () => {
      await waitUntil(() => findProcessesWith(token).length === 0, `nothing with ${token} is left`)
      await waitUntil(() => daemon.findLeftovers().length === 0, 'nothing with the marker is left')
    },
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
      killRemaining(token)
    },
  }
}

function pathOf({ installation, program: other }: AgentKind): string {
  const program = other ?? installedProgram(installation)
  if (program === null)
    throw new Error(
      `${AGENTS[installation].package}@${AGENTS[installation].version} is not installed: run \`node scripts/install-agents.ts --only ${installation}\``,
    )
  return [dirname(program), testEnv('/')['PATH']].join(delimiter)
}

/** Checks again and again until there is a result. The default limit is long: OpenCode needs 15 s to start in a new home. */
export async function pollUntil<T>(check: () => Promise<T | null> | T | null, description: string, limitMs = WAIT_LIMIT_MS): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const found = await check()
    if (found !== null) return found
    if (performance.now() > deadline) throw new Error(`${description}: not within ${limitMs / 1_000} s`)
    await delay(CHECK_MS)
  }
}

function waitUntilFrozen(daemon: DaemonHome, uuid: string): Promise<readonly string[]> {
  return pollUntil(async () => {
    const factTypes = (await daemon.readEvents()).filter((event) => event.uuid === uuid).map(({ fact }) => String(fact))
    return factTypes.includes('process.frozen') ? factTypes : null
  }, 'it is frozen')
}

async function waitForEnd(daemon: DaemonHome, uuid: string): Promise<ProcessView> {
  return pollUntil(async () => {
    const view = await daemon.view(uuid)
    return view.state === 'dead' ? view : null
  }, `it has ended; the daemon's log: ${daemon.readLog()}`)
}
