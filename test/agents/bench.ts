// A real coding agent under a real daemon: its own home and HOME, the local model server, and its remains
// afterwards. The remains are found without reeve's code, by a token in the arguments and by reeve's marker in the environment.
// No login, key or setting of the user reaches the agent. Tests: test/agents/*.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENTS, installed, type AgentName } from '../../scripts/agents.ts'
import type { ProcessView, SpawnBody } from '../../src/api/views/process.ts'
import { runCli } from '../support/daemon/cli.ts'
import { DaemonHome } from '../support/daemon/daemon.ts'
import { testEnv } from '../support/env.ts'
import { eventually, killRemaining, findLivingWith, newToken } from '../support/agents/living.ts'
import { agentModel, type AgentModel, type Hands, type Setting } from './model.ts'

const PATIENCE_MS = 150_000
const LOOK_MS = 50

/** How an agent is started, and the names of its tools. */
export interface Kind {
  readonly name: string
  /** the required installation; its programs come first in PATH */
  readonly needs: AgentName
  /** the program of another version than the pinned one; absent: the pinned one */
  readonly program?: string
  readonly hands: Hands
  /** the variables that direct it to the model server; `home` is its HOME */
  env(url: string, home: string): Readonly<Record<string, string>>
  /** the user's config.yaml; absent: none */
  config?(url: string): string
  /** the spawn body for a prompt */
  body(prompt: string): Partial<SpawnBody>
}

export interface Bench extends AsyncDisposable {
  readonly daemon: DaemonHome
  readonly model: AgentModel
  readonly work: string
  readonly env: Record<string, string>
  readonly token: string
  start(prompt: string, more?: Partial<SpawnBody>): Promise<ProcessView>
  /** the view of `reeve inspect --json` */
  inspect(ref: string): Promise<ProcessView>
  cli(...args: string[]): Promise<string>
  /** waits until the process is frozen; returns the names of its facts */
  frozen(uuid: string): Promise<readonly string[]>
  ended(uuid: string): Promise<ProcessView>
  /** releases a paced answer, and a shell tool that waits for its file */
  letGo(): void
  /** waits until no program of the agent or its tools lives */
  nothingLeft(): Promise<void>
}

/** `served`: the model's usage and faults. */
export async function openBench(kind: Kind, served: Pick<Setting, 'usage' | 'fault'> = {}): Promise<Bench> {
  const daemon = await DaemonHome.make('bundle')
  const token = newToken()
  const gone = Promise.withResolvers<void>()
  const model = await agentModel({ token, cwd: daemon.work, hands: kind.hands, goOn: gone.promise, ...served })
  const home = join(daemon.work, '..', 'agent-home')
  mkdirSync(home)
  const env: Record<string, string> = { ...testEnv(home, kind.env(model.url, home)), PATH: pathOf(kind) }
  delete env['REEVE_HOME']
  delete env['TMPDIR']
  mkdirSync(daemon.path, { recursive: true, mode: 0o700 })
  if (kind.config) writeFileSync(daemon.where.configFile, kind.config(model.url))
  await daemon.start()
  const cli = async (...args: string[]): Promise<string> => {
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
    cli,
    start: (prompt, more = {}) => daemon.spawn({ env, ...kind.body(prompt), ...more }),
    inspect: async (ref) => JSON.parse(await cli('inspect', '--json', ref)) as ProcessView,
    frozen: (uuid) => frozen(daemon, uuid),
    ended: (uuid) => ended(daemon, uuid),
    letGo: () => {
      gone.resolve()
      writeFileSync(join(daemon.work, 'go'), '')
    },
    nothingLeft: async () => {
      await eventually(() => findLivingWith(token).length === 0, `nothing with ${token} is left`)
      await eventually(() => daemon.leftovers().length === 0, 'nothing with the marker is left')
    },
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
      killRemaining(token)
    },
  }
}

function pathOf({ needs, program: other }: Kind): string {
  const program = other ?? installed(needs)
  if (program === null)
    throw new Error(`${AGENTS[needs].package}@${AGENTS[needs].version} is not installed: run \`node scripts/agents.ts --only ${needs}\``)
  return [dirname(program), testEnv('/')['PATH']].join(delimiter)
}

/** Some starts take long: OpenCode needs 15 s in a new home. */
export async function poll<T>(look: () => Promise<T | null> | T | null, words: string, limitMs = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (performance.now() > deadline) throw new Error(`${words}: not within ${limitMs / 1_000} s`)
    await delay(LOOK_MS)
  }
}

function frozen(daemon: DaemonHome, uuid: string): Promise<readonly string[]> {
  return poll(async () => {
    const facts = (await daemon.events()).filter((event) => event.uuid === uuid).map(({ fact }) => String(fact))
    return facts.includes('process.frozen') ? facts : null
  }, 'it is frozen')
}

async function ended(daemon: DaemonHome, uuid: string): Promise<ProcessView> {
  return poll(async () => {
    const view = await daemon.view(uuid)
    return view.state === 'dead' ? view : null
  }, `it has ended; the daemon's log: ${daemon.log()}`)
}
