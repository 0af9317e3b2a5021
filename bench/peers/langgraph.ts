// LangGraph in the benchmark of peers. The agent is the loop of its documentation: a node for the model, a node for its tools, the
// messages' own reducer. The agent runs with the SQLite checkpointer and `durability: 'sync'`, once with whole checkpoints, once with the
// delta channel. The checkpointer uses `node:sqlite` instead of better-sqlite3: `node:sqlite` needs no compiler, and reeve uses the same
// SQLite. SQLite runs with `synchronous=FULL`, which is not the default of better-sqlite3. Used by bench/peers.ts.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { installedPeer } from '../../scripts/install-peers.ts'
import { randomText, timed } from '../support/measure.ts'
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { Peer, Place } from './peer.ts'

interface Config {
  readonly configurable: { readonly thread_id: string; readonly checkpoint_id?: string }
  readonly recursionLimit?: number
  readonly durability?: 'sync'
}
interface State {
  readonly messages: readonly unknown[]
}
interface Compiled {
  invoke(input: State, config: Config): Promise<unknown>
  getState(config: Config): Promise<{ readonly values: State }>
  getStateHistory(config: Config): AsyncIterable<{ readonly values: State; readonly config: Config }>
  updateState(config: Config, values: State): Promise<unknown>
}
type Node = (state: State) => State | Promise<State>
interface Building {
  addNode(name: string, node: Node): Building
  addEdge(from: string, to: string): Building
  addConditionalEdges(from: string, way: (state: State) => string): Building
  compile(options: { checkpointer: object }): Compiled
}
interface Graphs {
  readonly StateGraph: new (state: object) => Building
  readonly StateSchema: new (fields: object) => object
  readonly MessagesValue: object
  readonly MessagesDeltaValue: object
  readonly START: string
  readonly END: string
}
type Messages = Readonly<Record<'AIMessage' | 'ToolMessage' | 'HumanMessage', new (fields: object) => unknown>>
interface Library extends Graphs, Messages {
  readonly SqliteSaver: new (db: object) => object
}

function library(): Library {
  const folder = installedPeer('langgraph')
  if (folder === null) throw new Error('LangGraph is not installed: node scripts/install-peers.ts')
  const load = createRequire(join(folder, 'package.json'))
  const graphs = load('@langchain/langgraph') as Graphs
  const messages = load('@langchain/core/messages') as Messages
  const saver = load('@langchain/langgraph-checkpoint-sqlite') as Pick<Library, 'SqliteSaver'>
  return { ...graphs, ...messages, ...saver }
}

/** The part of better-sqlite3 that the checkpointer uses. */
class Database extends DatabaseSync {
  pragma(text: string): void {
    this.exec(`PRAGMA ${text}`)
  }

  transaction<T>(work: (rows: T) => void): (rows: T) => void {
    return (rows) => {
      this.exec('BEGIN')
      work(rows)
      this.exec('COMMIT')
    }
  }

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql)
    const run = statement.run.bind(statement)
    // better-sqlite3 accepts undefined as null.
    return Object.assign(statement, {
      run: (...values: readonly (SQLInputValue | undefined)[]) => run(...values.map((value) => value ?? null)),
    })
  }
}

interface Connection extends Disposable {
  readonly lib: Library
  /** a graph whose agent calls `act` before each answer: `on` is an answer with a tool call, `end` the last answer */
  graph(act: () => 'on' | 'end', bytes?: number): Compiled
}

function open({ dir }: Place, isDelta: boolean): Connection {
  const lib = library()
  const db = new Database(join(dir, 'langgraph.db'))
  db.pragma('synchronous = full')
  const checkpointer = new lib.SqliteSaver(db)
  const state = new lib.StateSchema({ messages: isDelta ? lib.MessagesDeltaValue : lib.MessagesValue })
  return {
    lib,
    graph: (act, bytes) => {
      let calls = 0
      let next: 'on' | 'end' = 'on'
      const agent: Node = () => {
        next = act()
        return {
          messages: [
            new lib.AIMessage({
              content: randomText(bytes),
              tool_calls: next === 'end' ? [] : [{ id: `call_${++calls}`, name: 'bash', args: {} }],
            }),
          ],
        }
      }
      const tools: Node = () => ({ messages: [new lib.ToolMessage({ content: randomText(bytes), tool_call_id: `call_${calls}` })] })
      return new lib.StateGraph(state)
        .addNode('agent', agent)
        .addNode('tools', tools)
        .addEdge(lib.START, 'agent')
        .addConditionalEdges('agent', () => (next === 'end' ? lib.END : 'tools'))
        .addEdge('tools', 'agent')
        .compile({ checkpointer })
    },
    [Symbol.dispose]: () => db.close(),
  }
}

const configOf = (thread: number): Config => ({ configurable: { thread_id: `t${thread}` }, recursionLimit: 1_000_000, durability: 'sync' })

/** Runs one thread for a number of steps; the model's next answer ends it, and is not counted. */
async function run(connection: Connection, thread: number, steps: number): Promise<number[]> {
  const starts: number[] = []
  const graph = connection.graph(() => (starts.push(performance.now()) > steps ? 'end' : 'on'))
  await graph.invoke({ messages: [new connection.lib.HumanMessage({ content: 'go' })] }, configOf(thread))
  return starts.slice(1).map((at, index) => at - (starts[index] ?? 0))
}

export function langgraph(isDelta: boolean): Peer {
  return {
    async runSteps(place, steps) {
      using connection = open(place, isDelta)
      return await run(connection, 1, steps)
    },
    async runInParallel(place, agents, steps) {
      using connection = open(place, isDelta)
      return await timed(() => Promise.all(Array.from({ length: agents }, (_, index) => run(connection, index + 1, steps))))
    },
    async resume(place, steps) {
      library()
      return timed(async () => {
        using connection = open(place, isDelta)
        const { values } = await connection.graph(() => 'end').getState(configOf(1))
        if (values.messages.length < 2 * steps) throw new Error(`LangGraph read ${values.messages.length} messages`)
      })
    },
    async fork(place, steps, forks) {
      using connection = open(place, isDelta)
      const graph = connection.graph(() => 'end')
      const middleConfig = await checkpointAt(connection, place, Math.floor(steps / 2))
      const times: number[] = []
      for (let fork = 0; fork < forks; fork++) {
        times.push(
          await timed(() => graph.updateState(middleConfig, { messages: [new connection.lib.HumanMessage({ content: 'go on' })] })),
        )
      }
      return times
    },
    async session(place, { turns, stepsPerTurn, messageBytes }) {
      using connection = open(place, isDelta)
      for (let turn = 0; turn < turns; turn++) {
        let step = 0
        const graph = connection.graph(() => (step++ < stepsPerTurn ? 'on' : 'end'), messageBytes)
        await graph.invoke({ messages: [new connection.lib.HumanMessage({ content: randomText(messageBytes) })] }, configOf(1))
      }
    },
  }
}

/**
 * The checkpoint after a step. It is read from the file, because LangGraph's history would read every whole state. The search is not
 * measured.
 */
async function checkpointAt(connection: Connection, { dir }: Place, step: number): Promise<Config> {
  using db = new DatabaseSync(join(dir, 'langgraph.db'), { readOnly: true })
  // The first checkpoint belongs to the input, the second to the start; then each step has two.
  const row = db
    .prepare("SELECT checkpoint_id FROM checkpoints WHERE thread_id = 't1' ORDER BY checkpoint_id LIMIT 1 OFFSET ?")
    .get(1 + 2 * step)
  const config = { configurable: { thread_id: 't1', checkpoint_ns: '', checkpoint_id: String(row?.['checkpoint_id']) } }
  const { values } = await connection.graph(() => 'end').getState(config)
  if (values.messages.length !== 1 + 2 * step) throw new Error(`the checkpoint has ${values.messages.length} messages`)
  return config
}
