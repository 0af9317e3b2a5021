// A home with much work: each act is a random request that starts, pauses, resumes, ends, answers, renames or removes a process.
// The same choices lead to the same requests; what the daemon makes of them depends on its speed. Used by tests that compare faces.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError } from '../../../src/api/client/api-error.ts'
import type { Client } from '../../../src/api/client/client.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { CrewHome, makeTask } from '../crew/crew-home.ts'
import { Repository } from '../git/repository.ts'
import { testEnv } from '../env.ts'

/** No process is started while this many have not ended. */
const MAX_LIVING = 24
/** The most ended processes that stay. */
const MAX_ENDED = 30
/** The usage of one step of an agent, in tokens. */
const USAGE = { input: 1_000, output: 200 }

/** Prints what Codex prints: two turns with their usage, the second after a while. */
const COSTLY = `#!/bin/sh
echo '{"type":"thread.started","thread_id":"t1"}'
echo '{"type":"turn.completed","usage":{"input_tokens":900000,"cached_input_tokens":0,"output_tokens":1000}}'
sleep 0.3
exec echo '{"type":"turn.completed","usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":1000}}'
`

/** How the work reaches its daemon. */
export interface WorkDaemon {
  readonly client: Client
  readonly work: string
  spawn(body: Partial<SpawnBody>): Promise<ProcessView>
  writeScript(items: readonly object[]): string | Promise<string>
}

/** Returns a number from 0 to `n` - 1. */
type PickIndex = (n: number) => number

export class BusyHome {
  readonly #home: WorkDaemon
  readonly #pick: PickIndex
  readonly #acts: readonly (() => Promise<unknown>)[]
  #spawns = 0
  #repository: Repository | null = null
  /** a program that reports tokens with a price */
  readonly #costly: string

  constructor(home: WorkDaemon, pick: PickIndex) {
    this.#home = home
    this.#pick = pick
    this.#costly = join(home.work, 'codex')
    writeFileSync(this.#costly, COSTLY, { mode: 0o755 })
    const post = (path: string, body: object) => async (): Promise<unknown> => this.#post(await this.#randomUuid(), path, body)
    this.#acts = [
      ...[...this.#spawners(), ...this.#spawners()].map((spawn) => () => this.#spawn(spawn)),
      post('pause', {}),
      post('pause', { subtree: true }),
      post('resume', {}),
      post('resume', { subtree: true }),
      post('resume', { raise: { budgetTokens: 3_000 } }),
      post('resume', { fork: true }),
      post('signal', { signal: 'SIGTERM', graceMs: 50 }),
      post('signal', { signal: 'SIGKILL' }),
      post('signal', { signal: 'SIGKILL', subtree: true }),
      post('send', { text: 'go on' }),
      post('seen', {}),
      post('snooze', { until: '2100-01-01T00:00:00Z' }),
      post('snooze', { until: null }),
      post('pin', { pinned: true }),
      post('labels', { labels: { area: 'docs' } }),
      async () => this.#post(await this.#randomUuid(), 'rename', { name: `renamed-${(this.#spawns += 1)}` }),
      () => this.#answer(),
      () => this.#answer(),
      () => this.#removeOldest(),
    ]
  }

  /** Does one random act. The daemon may refuse it. */
  async act(): Promise<void> {
    try {
      await this.#acts[this.#pick(this.#acts.length)]?.()
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 'INTERNAL') throw error
    }
  }

  /** Returns all stored processes. */
  async list(): Promise<ProcessView[]> {
    return (await this.#home.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true, limit: 10_000 })).processes
  }

  #spawners(): readonly (() => Promise<Partial<SpawnBody>>)[] {
    const look = { text: 'I look around.', tools: [{ name: 'ls', input: {} }], usage: USAGE }
    const run = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }], usage: USAGE })
    const wait = { ...look, delay_ms: 400 }
    const script = async (items: readonly object[], body: Partial<SpawnBody> = {}): Promise<Partial<SpawnBody>> => ({
      model: await this.#home.writeScript(items),
      ...body,
    })
    const done = { text: 'done', usage: USAGE }
    return [
      async () => ({ argv: ['sleep', '600'] }),
      async () => ({ argv: ['sh', '-c', `exit ${this.#pick(3)}`] }),
      async () => ({ argv: [this.#costly, 'exec', '--json', '-m', 'gpt-5', 'work'], gateway: 'off' }),
      () => script([look, wait, look, wait, done]),
      () => script([look, run('sleep 0.3'), done]),
      () => script([run('sleep 600'), done]),
      () => script([run('touch one'), run('touch two'), done], { permissions: 'ask' }),
      () => script([look, look, look, look, done], { limits: { budgetTokens: 2_500 } }),
      () => script([{ error: { message: 'overloaded', status: 529, retryable: true }, text: 'done' }]),
      () => script([{ text: 'hello' }, look, done, done, done], { interactive: true }),
      () => script([{ delay_ms: 60_000, text: 'late' }]),
      async () => ({ supervisor: { children: [{ childId: 'one', argv: ['sh', '-c', 'sleep 0.2; exit 1'], restart: 'always' }] } }),
    ]
  }

  async #spawn(make: () => Promise<Partial<SpawnBody>>): Promise<void> {
    const living = (await this.list()).filter(({ state }) => state !== 'dead')
    if (living.length >= MAX_LIVING) return
    const parent = living[this.#pick(3 * living.length + 1)]
    await this.#home.spawn({ ...(await make()), name: `work-${(this.#spawns += 1)}`, ...(parent ? { parent: parent.uuid } : {}) })
  }

  /** Starts a crew of two with a gate. */
  async startCrew(): Promise<void> {
    const userHome = join(this.#home.work, 'user')
    if (this.#repository === null) {
      mkdirSync(userHome)
      this.#repository = Repository.make(join(this.#home.work, 'project'), userHome)
      this.#repository.git('config', 'user.name', 'P')
      this.#repository.git('config', 'user.email', 'p@example.org')
      this.#repository.commit({ 'README.md': '# a project\n' }, 'begin')
    }
    const number = (this.#spawns += 1)
    await this.#home.client.post('/v1/crews', {
      name: `team-${number}`,
      cwd: this.#repository.dir,
      env: testEnv(userHome),
      workers: 2,
      gate: 'human',
      model: CrewHome.model('worker'),
      tasks: [makeTask(`a${number}`), makeTask(`b${number}`, [`a${number}`])],
    })
  }

  async #randomUuid(): Promise<string> {
    const all = await this.list()
    return all[this.#pick(Math.max(1, all.length))]?.uuid ?? 'nobody'
  }

  #post(ref: string, path: string, body: object): Promise<unknown> {
    return this.#home.client.post(`/v1/processes/${ref}/${path}`, body)
  }

  /** Answers an open question of any process. */
  async #answer(): Promise<void> {
    const asking = (await this.list()).filter(({ asks }) => asks.length > 0)
    const process = asking[this.#pick(Math.max(1, asking.length))]
    const ask = process?.asks[0]
    if (!process || !ask) return
    const option = ask.options[this.#pick(Math.max(1, ask.options.length))]
    await this.#post(process.uuid, 'answer', { id: ask.id, ...(option ? { option: option.id } : { text: 'yes' }) })
  }

  /** Removes the first ended process if there are many. */
  async #removeOldest(): Promise<void> {
    const ended = (await this.list()).filter(({ state }) => state === 'dead')
    const [oldest] = ended
    if (oldest && ended.length > MAX_ENDED) await this.#home.client.delete(`/v1/processes/${oldest.uuid}`)
  }
}
