// DBOS in the benchmark of peers. An agent is a workflow, and each answer of a model or tool is a step (`DBOS.runStep`), as in its
// documentation. The data is in PostgreSQL. DBOS resumes at its start: it runs an interrupted workflow again and takes the results
// of known steps from its table. Used by bench/peers.ts.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installedPeer } from '../../scripts/install-peers.ts'
import { randomText, timed } from '../support/measure.ts'
import type { Peer, Place } from './peer.ts'

interface Handle {
  getResult(): Promise<unknown>
}
interface Dbos {
  setConfig(config: object): void
  launch(): Promise<void>
  shutdown(): Promise<void>
  registerWorkflow<A extends readonly unknown[]>(
    work: (...args: A) => Promise<unknown>,
    options: { name: string },
  ): (...args: A) => Promise<unknown>
  startWorkflow<A extends readonly unknown[]>(
    workflow: (...args: A) => Promise<unknown>,
    options: { workflowID: string },
  ): (...args: A) => Promise<Handle>
  runStep<T>(work: () => Promise<T>, options: { name: string }): Promise<T>
  recv(topic: string, timeoutSeconds: number): Promise<unknown>
  send(workflowId: string, message: unknown, topic: string): Promise<void>
}
interface Client {
  forkWorkflow(workflowId: string, startStep: number): Promise<unknown>
  destroy(): Promise<void>
}
interface Library {
  readonly DBOS: Dbos
  readonly DBOSClient: { create(options: object): Promise<Client> | Client }
}

const QUIET = { debug: ignore, info: ignore, warn: ignore, error: console.error }

function ignore(): void {}

function library(): Library {
  const folder = installedPeer('dbos')
  if (folder === null) throw new Error('DBOS is not installed: node scripts/install-peers.ts')
  return createRequire(join(folder, 'package.json'))('@dbos-inc/dbos-sdk') as Library
}

function configure({ DBOS }: Library, { url }: Place): void {
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logger: QUIET, applicationVersion: 'bench' })
}

/** A step of the agent, which is two steps of DBOS. */
async function step(dbos: Dbos, bytes?: number): Promise<readonly unknown[]> {
  const answer = await dbos.runStep(
    async () => ({ role: 'assistant', content: randomText(bytes), calls: [{ id: 'call', name: 'bash', input: {} }] }),
    { name: 'model' },
  )
  const result = await dbos.runStep(async () => ({ role: 'tool', callId: 'call', content: randomText(bytes) }), { name: 'tool' })
  return [answer, result]
}

const neverSettles = new Promise<never>(ignore)

interface AgentTimes {
  readonly times: number[]
  readonly messages: unknown[]
}

/** The workflow of an agent: a number of steps, then `onAgent`. Then the agent waits forever in the middle of its work. */
function agentOf(dbos: Dbos, onAgent: (agent: AgentTimes) => void): (steps: number) => Promise<unknown> {
  return dbos.registerWorkflow(
    async (steps: number) => {
      const agent: AgentTimes = { times: [], messages: [] }
      for (let number = 0; number < steps; number++) {
        agent.times.push(
          await timed(async () => {
            agent.messages.push(...(await step(dbos)))
          }),
        )
      }
      onAgent(agent)
      await neverSettles
    },
    { name: 'agent' },
  )
}

/**
 * Runs several agents in parallel. Returns the times of the steps of the first agent to finish its steps, and the time of all. The
 * process ends while the agents wait in the middle of their work.
 */
async function run(place: Place, agents: number, steps: number): Promise<{ first: number[]; allMs: number }> {
  const lib = library()
  configure(lib, place)
  const ended: AgentTimes[] = []
  const allEnded = Promise.withResolvers<void>()
  const agent = agentOf(lib.DBOS, (one) => {
    if (ended.push(one) === agents) allEnded.resolve()
  })
  await lib.DBOS.launch()
  const allMs = await timed(async () => {
    await Promise.all(Array.from({ length: agents }, (_, index) => lib.DBOS.startWorkflow(agent, { workflowID: `w${index + 1}` })(steps)))
    await allEnded.promise
  })
  return { first: ended[0]?.times ?? [], allMs }
}

export const dbos: Peer = {
  runSteps: async (place, steps) => (await run(place, 1, steps)).first,
  runInParallel: async (place, agents, steps) => (await run(place, agents, steps)).allMs,
  async resume(place, steps) {
    const lib = library()
    return timed(async () => {
      configure(lib, place)
      const rerun = Promise.withResolvers<AgentTimes>()
      agentOf(lib.DBOS, rerun.resolve)
      await lib.DBOS.launch()
      const { messages } = await rerun.promise
      if (messages.length !== 2 * steps) throw new Error(`DBOS read ${messages.length} messages`)
    })
  },
  async fork({ url }, steps, forks) {
    // A client creates the fork without running it.
    const client = await library().DBOSClient.create({ systemDatabaseUrl: url, logger: QUIET })
    const times: number[] = []
    for (let fork = 0; fork < forks; fork++) times.push(await timed(() => client.forkWorkflow('w1', steps)))
    await client.destroy()
    return times
  },
  async session(place, { turns, stepsPerTurn, messageBytes }) {
    const lib = library()
    configure(lib, place)
    const session = lib.DBOS.registerWorkflow(
      async () => {
        for (let turn = 0; turn < turns; turn++) {
          await lib.DBOS.recv('message', 600)
          for (let number = 0; number < stepsPerTurn; number++) await step(lib.DBOS, messageBytes)
          await lib.DBOS.runStep(async () => ({ role: 'assistant', content: randomText(messageBytes) }), { name: 'model' })
        }
      },
      { name: 'session' },
    )
    await lib.DBOS.launch()
    const handle = await lib.DBOS.startWorkflow(session, { workflowID: 's1' })()
    for (let turn = 0; turn < turns; turn++) await lib.DBOS.send('s1', randomText(messageBytes), 'message')
    await handle.getResult()
    await lib.DBOS.shutdown()
  },
}
