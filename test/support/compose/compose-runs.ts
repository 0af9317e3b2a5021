// Compose runs for tests: writes a reeve.yaml from an object, starts it, and waits for a state of the run.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testEnv } from '../env.ts'
import type { Client } from '../../../src/api/client/client.ts'
import type { OneRunView, ResumeNodeBody, RunView } from '../../../src/api/views/compose.ts'

const WAIT_MS = 100_000
const FINAL_STATUSES: ReadonlySet<string> = new Set(['completed', 'failed', 'stopped', 'interrupted'])

export type NodeDefinitions = Readonly<Record<string, object>>

/** A command that waits until a file exists. */
export const waitForFileCommand = (file: string): string => `until [ -e ${file} ]; do sleep 0.05; done`
export const shellNode = (line: string, more: object = {}): object => ({ command: ['sh', '-c', line], ...more })
/** A scripted answer that calls bash. */
export const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
/** `a completed, b blocked` */
export const stateList = ({ nodes }: RunView): string => nodes.map(({ name, state }) => `${name} ${state}`).join(', ')

export class ComposeRuns {
  readonly #daemon: { readonly work: string; readonly client: Client }
  readonly #waitMs: number

  constructor(daemon: { readonly work: string; readonly client: Client }, waitMs = WAIT_MS) {
    this.#daemon = daemon
    this.#waitMs = waitMs
  }

  write(nodes: NodeDefinitions): void {
    writeFileSync(join(this.#daemon.work, 'reeve.yaml'), JSON.stringify({ agents: nodes }))
  }

  async start(nodes: NodeDefinitions, body: object = {}): Promise<RunView> {
    this.write(nodes)
    const { work, client } = this.#daemon
    return (await client.post<OneRunView>('/v1/compose', { cwd: work, env: testEnv(work), ...body })).run
  }

  async read(ref: string): Promise<RunView> {
    return (await this.#daemon.client.get<OneRunView>(`/v1/compose/${ref}`)).run
  }

  /** Resolves with the run when the condition holds. Checks it now and at each later event. */
  async waitForRun(ref: string, isMatch: (view: RunView) => boolean): Promise<RunView> {
    let last = await this.read(ref)
    if (isMatch(last)) return last
    for await (const _ of this.#daemon.client.events('/v1/events', {
      query: { tail: 1, follow: true },
      signal: AbortSignal.timeout(this.#waitMs),
    })) {
      last = await this.read(ref)
      if (isMatch(last)) return last
    }
    throw new Error(`the run never matched: ${isMatch.toString()}; it is ${JSON.stringify(last)}`)
  }

  waitForEnd(ref: string): Promise<RunView> {
    return this.waitForRun(ref, ({ status }) => FINAL_STATUSES.has(status))
  }

  resume(ref: string, body: ResumeNodeBody): Promise<OneRunView> {
    return this.#daemon.client.post(`/v1/compose/${ref}/resume`, { env: testEnv(this.#daemon.work), ...body })
  }

  /** Returns the UUID of a node's current process. */
  async processOf(ref: string, node: string): Promise<string> {
    return (await this.read(ref)).nodes.find(({ name }) => name === node)?.process?.uuid ?? ''
  }
}
