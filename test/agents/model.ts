// The model of real coding agents. The server reads the task and the progress from the conversation, and answers
// with the agent's own tools. The server has no state, so that requests may be repeated, also by a resumed agent.
// Tests: test/agents/*.test.ts.
import {
  bodyOf,
  modelServer,
  type ModelServer,
  type ServedAnswer,
  type ServedRequest,
  type ServedTool,
} from '../support/models/model-server.ts'

/** Words of a prompt that select the model's task. */
export const TASKS = {
  /** writes a file, starts programs that stay, ends */
  work: 'REEVE-WORK',
  /** starts programs that stay, and a shell tool that does not end */
  hang: 'REEVE-HANG',
  /** a tool, and then half of an answer */
  stall: 'REEVE-STALL',
  /** half of an answer, and the rest on request */
  pace: 'REEVE-PACE',
  /** a shell tool that ends when the file `go` exists, then the answer */
  gate: 'REEVE-GATE',
  /** a shell tool that writes its environment to a file */
  env: 'REEVE-ENV',
  /** starts a process by reeve's own tools, and waits for it */
  own: 'REEVE-OWN',
  /** answers with the number of prompts so far */
  again: 'REEVE-AGAIN',
  /** reeve's prompt to an ACP agent whose turn was interrupted */
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

/** `token` is in the arguments of all programs of the tools; `cwd` is the agent's directory. */
export interface Setting {
  readonly token: string
  readonly cwd: string
  readonly hands: Hands
  /** resolved when the rest of a paced answer may come */
  readonly goOn: Promise<void>
  /** the usage of each answer; absent: `USAGE`, and nothing for requests beside the work */
  readonly usage?: Served
  /** the fault of the n-th request of the work, from 0; null: none */
  readonly fault?: (question: number) => Fault | null
}

export interface Served {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
}

/** A refusal, or a stream that ends after its half. */
export type Fault = { readonly status: number } | 'cut'

/** A sent answer; `half`: the rest never came. */
export interface Sent {
  readonly path: string
  readonly used: Served
  readonly how: 'whole' | 'half' | 'refused'
}

export interface AgentModel extends ModelServer {
  /** the answers to all model requests, in order */
  readonly sent: readonly Sent[]
}

/** Starts a daemonised child and one in the background; the second word is a token that no other program has. */
function commandThatLeaves(token: string): string {
  return `setsid sleep ${token} > /dev/null 2>&1 & sleep ${token} > /dev/null 2>&1 & echo started`
}

export async function agentModel(setting: Setting): Promise<AgentModel> {
  const sent: Sent[] = []
  let [count, questions] = [0, 0]
  const server = await modelServer((request) => {
    const fault = isConversation(request) ? (setting.fault?.(questions++) ?? null) : null
    const answer = withId(answerTo(request, setting), request, ++count)
    if (isQuestion(request))
      sent.push({
        path: request.path,
        used: fault !== null && fault !== 'cut' ? NONE : usedBy(answer, setting, request),
        how: fault === null ? 'whole' : fault === 'cut' ? 'half' : 'refused',
      })
    return withFault(answer, fault, request)
  })
  // `sent` is read when the test asks for it.
  return Object.defineProperty(server, 'sent', { value: sent }) as AgentModel
}

const NONE: Served = { input: 0, output: 0, cacheRead: 0 }

function usedBy(answer: ServedAnswer, { usage }: Setting, request: ServedRequest): Served {
  if (usage !== undefined) return usage
  return isConversation(request) && answer.usage ? { ...NONE, ...answer.usage } : NONE
}

function withFault(answer: ServedAnswer, fault: Fault | null, { path }: ServedRequest): ServedAnswer {
  if (fault === null) return answer
  if (fault === 'cut') return { ...answer, cutAfterBytes: halfLength(answer, path) }
  return { status: fault.status, error: { type: 'overloaded_error', message: 'not now' }, headers: { 'retry-after': '0' } }
}

/** Agents distinguish answers by the provider's ids. */
export function withId(answer: ServedAnswer, { path, body: { stream: isStreamed } }: ServedRequest, id: number): ServedAnswer {
  if (answer.status !== undefined) return answer
  if (path.endsWith('/messages') && !isStreamed) return wholeAnswer(answer, id)
  return {
    ...answer,
    body: bodyOf(answer, path)
      .toString()
      .replaceAll(/"(msg|resp|fc)_(\d)"/g, `"$1_${id}_$2"`),
  }
}

/** Anthropic's answer in one piece: Claude Code requests it when a stream was silent for too long. */
function wholeAnswer({ text, tools = [], usage }: ServedAnswer, id: number): ServedAnswer {
  const content = [...(text === undefined ? [] : [{ type: 'text', text }]), ...tools.map((tool) => ({ type: 'tool_use', ...tool }))]
  const reported = {
    input_tokens: usage?.input ?? 0,
    output_tokens: usage?.output ?? 0,
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    cache_creation_input_tokens: 0,
  }
  return {
    status: 200,
    body: JSON.stringify({
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model: 'served',
      content,
      stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: reported,
    }),
  }
}

/** The requests that carried a conversation with tools: not titles, lists of models or counts. */
export function conversations(server: ModelServer): readonly ServedRequest[] {
  return server.requests.filter(isConversation)
}

function isConversation({ body }: ServedRequest): boolean {
  const tools = (body['tools'] ?? []) as readonly { readonly functionDeclarations?: readonly unknown[] }[]
  const count = tools.reduce((sum, one) => sum + (one.functionDeclarations?.length ?? 1), 0)
  return count > 1 && turnOf(body).task !== null && !isSuggestion(body)
}

/** After a turn, Claude Code by ACP asks what the user might type next. */
export function isSuggestion({ messages }: ServedRequest['body']): boolean {
  return Array.isArray(messages) && JSON.stringify(messages.at(-1)).includes('[SUGGESTION MODE')
}

function answerTo(request: ServedRequest, { token, cwd, hands, goOn, usage: given }: Setting): ServedAnswer {
  const usage = given ?? USAGE
  if (!isConversation(request)) return aside(request, given ?? NONE)
  const { task, results, asked } = turnOf(request.body)
  const tool = (...tools: ServedTool[]): ServedAnswer => ({
    text: 'Next.',
    tools: tools.map((one, index) => ({ ...one, id: `call_${asked}_${results}_${index}` })),
    usage,
  })
  const end = (text: string): ServedAnswer => ({ text, usage })
  if (task === 'cut') return end('I look what is there.')
  if (task === 'env') return results === 0 ? tool(hands.shell('env > env.txt; echo started')) : end(RESULT)
  if (task === 'own')
    return results > 1 || !hands.own
      ? end(RESULT)
      : tool(
          results === 0
            ? hands.own('spawn', { command: ['sh', '-c', 'echo made > child.txt'], name: 'child' })
            : hands.own('wait', { processes: ['child'] }),
        )
  if (task === 'again') return end(`asked ${asked} times`)
  if (task === 'hang') return tool(hands.shell(`${commandThatLeaves(token)}; tail -f /dev/null ${token}`))
  if (task === 'pace') return { ...end(RESULT), hangAfterBytes: halfLength(end(RESULT), request.path), goOn }
  if (task === 'gate')
    return results === 0 ? tool(hands.shell(`echo ${token} > waits; until [ -e go ]; do sleep 0.1; done; echo went`)) : end(RESULT)
  if (task === 'stall')
    return results === 0
      ? tool(hands.shell(commandThatLeaves(token)))
      : { ...end(RESULT), hangAfterBytes: halfLength(end(RESULT), request.path) }
  if (results === 0) return tool(hands.write(`${cwd}/made.txt`, WRITTEN))
  return results === 1 ? tool(hands.shell(commandThatLeaves(token))) : end(RESULT)
}

function halfLength(answer: ServedAnswer, path: string): number {
  return Math.floor(bodyOf(answer, path).length / 2)
}

/** Answers requests beside the work. */
export function aside(request: ServedRequest, usage: NonNullable<ServedAnswer['usage']>): ServedAnswer {
  const { path } = request
  if (path.includes('count_tokens')) return { status: 200, body: '{"input_tokens":10}' }
  if (path.includes(':generateContent')) {
    const { input, output, cacheRead = 0 } = usage
    const usageMetadata = { promptTokenCount: input + cacheRead, cachedContentTokenCount: cacheRead, candidatesTokenCount: output }
    return {
      status: 200,
      body: JSON.stringify({ candidates: [{ content: { parts: [{ text: '{}' }], role: 'model' }, finishReason: 'STOP' }], usageMetadata }),
    }
  }
  return isQuestion(request) ? { text: 'A title', usage } : { status: 404 }
}

/** Whether the request is for a model's answer. */
export function isQuestion({ path, body }: ServedRequest): boolean {
  return !/count_?tokens/i.test(path) && ('messages' in body || 'input' in body || 'contents' in body)
}

type Json = Readonly<Record<string, unknown>>
type Task = keyof typeof TASKS

interface Turn {
  readonly task: Task | null
  /** the number of tool results since the last prompt that names a task */
  readonly results: number
  /** the number of prompts so far that name a task */
  readonly asked: number
}

/** The task of the last prompt of the user; the messages after it are answers of the model and results. */
function turnOf(body: Json): Turn {
  const items = ['messages', 'input', 'contents'].map((key) => body[key]).find(Array.isArray) as readonly Json[] | undefined
  let turn: Turn = { task: null, results: 0, asked: 0 }
  for (const item of items ?? []) {
    const words = JSON.stringify(item)
    const results =
      words.match(/"type":"(tool_result|function_call_output|custom_tool_call_output)"|"role":"tool"|"functionResponse":/g)?.length ?? 0
    const task = item['role'] === 'user' ? lastTask(words) : null
    turn =
      task === null || results > 0
        ? { ...turn, results: turn.results + results }
        : { task, results: 0, asked: turn.asked + (task === 'cut' ? 0 : 1) }
  }
  return turn
}

function lastTask(words: string): Task | null {
  const found = words.match(/REEVE-[A-Z]+|turn was cut off/g)?.at(-1)
  return (Object.keys(TASKS) as Task[]).find((one) => TASKS[one] === found) ?? null
}
