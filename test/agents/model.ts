// The model that real coding agents talk to: it reads from the conversation what was asked and how far it got, and answers
// with the agent's own tools. It keeps nothing itself, so that it can be asked twice, and by an agent that was resumed.
// Tests: test/agents/*.test.ts.
import { bodyOf, modelServer, type ModelServer, type ServedAnswer, type ServedRequest, type ServedTool } from '../support/model-server.ts'

/** Words of a prompt that say what the model is to do. */
export const TASKS = {
  /** writes a file, starts programs that stay, ends */
  work: 'REEVE-WORK',
  /** starts programs that stay, and a shell tool that does not end */
  hang: 'REEVE-HANG',
  /** a tool, and then an answer of which half comes */
  stall: 'REEVE-STALL',
  /** an answer of which half comes, and the rest when it is told to */
  pace: 'REEVE-PACE',
  /** a shell tool that ends when the file `go` is there, then the answer */
  gate: 'REEVE-GATE',
  /** a shell tool that writes down its environment */
  env: 'REEVE-ENV',
  /** starts a process by reeve's own tools, and waits for it */
  own: 'REEVE-OWN',
  /** says how often it was asked */
  again: 'REEVE-AGAIN',
  /** what reeve says to an agent by ACP whose turn was cut off */
  cut: 'turn was cut off',
} as const

export const WRITTEN = 'written by the agent\n'
export const RESULT = 'the work is done'
export const USAGE = { input: 100, output: 7 }

export interface Hands {
  /** one of reeve's own tools, as the agent calls it */
  own?(name: string, input: Readonly<Record<string, unknown>>): ServedTool
  write(file: string, content: string): ServedTool
  shell(command: string): ServedTool
}

/** `token` is in the arguments of all that the tools start; `cwd` is where the agent works. */
export interface Setting {
  readonly token: string
  readonly cwd: string
  readonly hands: Hands
  /** resolved when the rest of a paced answer is to come */
  readonly goOn: Promise<void>
  /** what each answer says that it used; absent: `USAGE`, and nothing for what is asked beside the work */
  readonly usage?: Served
  /** what becomes of the n-th question of the work, from 0; null: nothing happens to it */
  readonly fault?: (question: number) => Fault | null
}

export interface Served {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
}

/** A refusal, or a stream of which half comes. */
export type Fault = { readonly status: number } | 'cut'

/** One answer as it went out; `half`: the rest never came. */
export interface Sent {
  readonly path: string
  readonly used: Served
  readonly how: 'whole' | 'half' | 'refused'
}

export interface AgentModel extends ModelServer {
  /** of all that were asked for a model's answer, in order */
  readonly sent: readonly Sent[]
}

/** A daemonised child and one in the background; the second word is a number that no other program has. */
function leaving(token: string): string {
  return `setsid sleep ${token} > /dev/null 2>&1 & sleep ${token} > /dev/null 2>&1 & echo started`
}

export async function agentModel(setting: Setting): Promise<AgentModel> {
  const sent: Sent[] = []
  let [count, questions] = [0, 0]
  const server = await modelServer((request) => {
    const fault = isConversation(request) ? setting.fault?.(questions++) ?? null : null
    const answer = withId(answerTo(request, setting), request, ++count)
    if (isQuestion(request)) sent.push({ path: request.path, used: fault !== null && fault !== 'cut' ? NONE : usedBy(answer, setting, request), how: fault === null ? 'whole' : fault === 'cut' ? 'half' : 'refused' })
    return faulty(answer, fault, request)
  })
  // What the server has is read when it is asked for.
  return Object.defineProperty(server, 'sent', { value: sent }) as AgentModel
}

const NONE: Served = { input: 0, output: 0, cacheRead: 0 }

function usedBy(answer: ServedAnswer, { usage }: Setting, request: ServedRequest): Served {
  if (usage !== undefined) return usage
  return isConversation(request) && answer.usage ? { ...NONE, ...answer.usage } : NONE
}

function faulty(answer: ServedAnswer, fault: Fault | null, { path }: ServedRequest): ServedAnswer {
  if (fault === null) return answer
  if (fault === 'cut') return { ...answer, cutAfterBytes: half(answer, path) }
  return { status: fault.status, error: { type: 'overloaded_error', message: 'not now' }, headers: { 'retry-after': '0' } }
}

/** Agents tell answers apart by the ids that the provider gives them. */
export function withId(answer: ServedAnswer, { path, body: { stream: isStreamed } }: ServedRequest, id: number): ServedAnswer {
  if (answer.status !== undefined) return answer
  if (path.endsWith('/messages') && !isStreamed) return whole(answer, id)
  return { ...answer, body: bodyOf(answer, path).toString().replaceAll(/"(msg|resp|fc)_(\d)"/g, `"$1_${id}_$2"`) }
}

/** Anthropic's answer in one piece: Claude Code asks for it when a stream stood still for too long. */
function whole({ text, tools = [], usage }: ServedAnswer, id: number): ServedAnswer {
  const content = [...(text === undefined ? [] : [{ type: 'text', text }]), ...tools.map((tool) => ({ type: 'tool_use', ...tool }))]
  const told = { input_tokens: usage?.input ?? 0, output_tokens: usage?.output ?? 0, cache_read_input_tokens: usage?.cacheRead ?? 0, cache_creation_input_tokens: 0 }
  return { status: 200, body: JSON.stringify({ id: `msg_${id}`, type: 'message', role: 'assistant', model: 'served', content, stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null, usage: told }) }
}

/** How many requests carried a conversation with tools: not titles, lists of models or counts. */
export function conversations(server: ModelServer): readonly ServedRequest[] {
  return server.requests.filter(isConversation)
}

function isConversation({ body }: ServedRequest): boolean {
  const tools = (body['tools'] ?? []) as readonly { readonly functionDeclarations?: readonly unknown[] }[]
  const count = tools.reduce((sum, one) => sum + (one.functionDeclarations?.length ?? 1), 0)
  return count > 1 && turnOf(body).task !== null && !isSuggestion(body)
}

/** Claude Code by ACP asks after a turn what the person might type next. */
export function isSuggestion({ messages }: ServedRequest['body']): boolean {
  return Array.isArray(messages) && JSON.stringify(messages.at(-1)).includes('[SUGGESTION MODE')
}

function answerTo(request: ServedRequest, { token, cwd, hands, goOn, usage: said }: Setting): ServedAnswer {
  const usage = said ?? USAGE
  if (!isConversation(request)) return aside(request, said ?? NONE)
  const { task, results, asked } = turnOf(request.body)
  const tool = (...tools: ServedTool[]): ServedAnswer => ({ text: 'Next.', tools: tools.map((one, index) => ({ ...one, id: `call_${asked}_${results}_${index}` })), usage })
  const end = (text: string): ServedAnswer => ({ text, usage })
  if (task === 'cut') return end('I look what is there.')
  if (task === 'env') return results === 0 ? tool(hands.shell('env > env.txt; echo started')) : end(RESULT)
  if (task === 'own') return results > 1 || !hands.own ? end(RESULT) : tool(results === 0 ? hands.own('spawn', { command: ['sh', '-c', 'echo made > child.txt'], name: 'child' }) : hands.own('wait', { processes: ['child'] }))
  if (task === 'again') return end(`asked ${asked} times`)
  if (task === 'hang') return tool(hands.shell(`${leaving(token)}; tail -f /dev/null ${token}`))
  if (task === 'pace') return { ...end(RESULT), hangAfterBytes: half(end(RESULT), request.path), goOn }
  if (task === 'gate') return results === 0 ? tool(hands.shell(`echo ${token} > waits; until [ -e go ]; do sleep 0.1; done; echo went`)) : end(RESULT)
  if (task === 'stall') return results === 0 ? tool(hands.shell(leaving(token))) : { ...end(RESULT), hangAfterBytes: half(end(RESULT), request.path) }
  if (results === 0) return tool(hands.write(`${cwd}/made.txt`, WRITTEN))
  return results === 1 ? tool(hands.shell(leaving(token))) : end(RESULT)
}

function half(answer: ServedAnswer, path: string): number {
  return Math.floor(bodyOf(answer, path).length / 2)
}

/** What agents ask beside the work. */
export function aside(request: ServedRequest, usage: NonNullable<ServedAnswer['usage']>): ServedAnswer {
  const { path } = request
  if (path.includes('count_tokens')) return { status: 200, body: '{"input_tokens":10}' }
  if (path.includes(':generateContent')) {
    const { input, output, cacheRead = 0 } = usage
    const usageMetadata = { promptTokenCount: input + cacheRead, cachedContentTokenCount: cacheRead, candidatesTokenCount: output }
    return { status: 200, body: JSON.stringify({ candidates: [{ content: { parts: [{ text: '{}' }], role: 'model' }, finishReason: 'STOP' }], usageMetadata }) }
  }
  return isQuestion(request) ? { text: 'A title', usage } : { status: 404 }
}

/** It wants a model's answer. */
function isQuestion({ path, body }: ServedRequest): boolean {
  return !/count_?tokens/i.test(path) && ('messages' in body || 'input' in body || 'contents' in body)
}

type Json = Readonly<Record<string, unknown>>
type Task = keyof typeof TASKS

interface Turn {
  readonly task: Task | null
  /** answers of tools since the last prompt that names a task */
  readonly results: number
  /** prompts so far that name a task */
  readonly asked: number
}

/** What the last prompt asks; it stands in what the user said, and what follows it are answers of the model and results. */
function turnOf(body: Json): Turn {
  const items = ['messages', 'input', 'contents'].map((key) => body[key]).find(Array.isArray) as readonly Json[] | undefined
  let turn: Turn = { task: null, results: 0, asked: 0 }
  for (const item of items ?? []) {
    const words = JSON.stringify(item)
    const results = words.match(/"type":"(tool_result|function_call_output|custom_tool_call_output)"|"role":"tool"|"functionResponse":/g)?.length ?? 0
    const task = item['role'] === 'user' ? lastTask(words) : null
    turn = task === null || results > 0 ? { ...turn, results: turn.results + results } : { task, results: 0, asked: turn.asked + (task === 'cut' ? 0 : 1) }
  }
  return turn
}

function lastTask(words: string): Task | null {
  const found = words.match(/REEVE-[A-Z]+|turn was cut off/g)?.at(-1)
  return (Object.keys(TASKS) as Task[]).find((one) => TASKS[one] === found) ?? null
}
