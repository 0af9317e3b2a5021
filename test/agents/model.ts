// Plays the model of real coding agents. The server reads the task and its progress from the conversation, and answers with calls
// of the agent's tools. The server keeps no state between requests, so a request may be repeated, also by a resumed agent.
// Used by test/agents/*.test.ts.
import {
  bodyOf,
  startModelServer,
  type ModelServer,
  type ServedAnswer,
  type ServedRequest,
  type ServedTool,
} from '../support/models/model-server.ts'

/** Words of a prompt that select the model's task. */
export const TASKS = {
  /** writes a file, starts programs that do not end, and answers */
  work: 'REEVE-WORK',
  /** starts programs that do not end, and calls a shell tool that does not end */
  hang: 'REEVE-HANG',
  /** calls a tool, and then sends half of an answer */
  stall: 'REEVE-STALL',
  /** sends half of an answer, and the rest when the test allows it */
  pace: 'REEVE-PACE',
  /** calls a shell tool that ends when the file `go` exists, and then answers */
  gate: 'REEVE-GATE',
  /** calls a shell tool that writes its environment to a file */
  env: 'REEVE-ENV',
  /** starts a process with reeve's own tools, and waits for it */
  own: 'REEVE-OWN',
  /** answers with the number of prompts so far */
  again: 'REEVE-AGAIN',
  /** reeve's prompt to an ACP agent whose turn was interrupted */
  cut: 'turn was cut off',
} as const

export const WRITTEN = 'written by the agent\n'
export const RESULT = 'the work is done'
export const USAGE = { input: 100, output: 7 }

export interface AgentTools {
  /** one of reeve's own tools, as the agent calls it */
  reeveTool?(name: string, input: Readonly<Record<string, unknown>>): ServedTool
  write(file: string, content: string): ServedTool
  shell(command: string): ServedTool
}

/** `token` is in the arguments of all programs of the tools; `cwd` is the agent's directory. */
export interface ModelSettings {
  readonly token: string
  readonly cwd: string
  readonly tools: AgentTools
  /** when this is resolved, the server sends the rest of a paced answer */
  readonly restAfter: Promise<void>
  /** the usage of each answer; absent: `USAGE`, and nothing for requests outside the task */
  readonly usage?: ServedUsage
  /** the fault of the n-th request of the conversation, from 0; null: none */
  readonly fault?: (request: number) => Fault | null
}

export interface ServedUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
}

/** An HTTP error with this status, or a stream that is cut after its first half. */
export type Fault = { readonly status: number } | 'cut'

/** A sent answer; `half`: the server sent only its first half. */
export interface SentAnswer {
  readonly path: string
  readonly usage: ServedUsage
  readonly outcome: 'whole' | 'half' | 'refused'
}

export interface AgentModel extends ModelServer {
  /** the answers to all model requests, in order */
  readonly sent: readonly SentAnswer[]
}

/** A command that starts a daemonised program and one in the background. No other program has the token in its arguments. */
function commandWithLeftovers(token: string): string {
  return `setsid sleep ${token} > /dev/null 2>&1 & sleep ${token} > /dev/null 2>&1 & echo started`
}

export async function startAgentModel(settings: ModelSettings): Promise<AgentModel> {
  const sent: SentAnswer[] = []
  let [requestCount, conversationCount] = [0, 0]
  const server = await startModelServer((request) => {
    const fault = isConversation(request) ? (settings.fault?.(conversationCount++) ?? null) : null
    const answer = withId(answerTo(request, settings), request, ++requestCount)
    if (isModelCall(request))
      sent.push({
        path: request.path,
        usage: fault !== null && fault !== 'cut' ? NO_USAGE : usageOf(answer, settings, request),
        outcome: fault === null ? 'whole' : fault === 'cut' ? 'half' : 'refused',
      })
    return withFault(answer, fault, request)
  })
  // A spread would read the server's getters only once.
  return Object.assign(server, { sent })
}

const NO_USAGE: ServedUsage = { input: 0, output: 0, cacheRead: 0 }

function usageOf(answer: ServedAnswer, { usage }: ModelSettings, request: ServedRequest): ServedUsage {
  if (usage !== undefined) return usage
  return isConversation(request) && answer.usage ? { ...NO_USAGE, ...answer.usage } : NO_USAGE
}

function withFault(answer: ServedAnswer, fault: Fault | null, { path }: ServedRequest): ServedAnswer {
  if (fault === null) return answer
  if (fault === 'cut') return { ...answer, cutAfterBytes: halfLength(answer, path) }
  return { status: fault.status, error: { type: 'overloaded_error', message: 'not now' }, headers: { 'retry-after': '0' } }
}

/** Gives an answer ids of its own, by which agents tell it from other answers. */
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
export function conversationRequests(server: ModelServer): readonly ServedRequest[] {
  return server.requests.filter(isConversation)
}

function isConversation({ body }: ServedRequest): boolean {
  const tools = (body['tools'] ?? []) as readonly { readonly functionDeclarations?: readonly unknown[] }[]
  const count = tools.reduce((sum, one) => sum + (one.functionDeclarations?.length ?? 1), 0)
  return count > 1 && turnOf(body).task !== null && !isSuggestion(body)
}

/** Whether Claude Code by ACP asks what the user might type next. It does so after a turn. */
export function isSuggestion({ messages }: ServedRequest['body']): boolean {
  return Array.isArray(messages) && JSON.stringify(messages.at(-1)).includes('[SUGGESTION MODE')
}

function answerTo(request: ServedRequest, { token, cwd, tools, restAfter, usage: configuredUsage }: ModelSettings): ServedAnswer {
  const usage = configuredUsage ?? USAGE
  if (!isConversation(request)) return answerSideRequest(request, configuredUsage ?? NO_USAGE)
  const { task, resultCount, promptCount } = turnOf(request.body)
  const callTools = (...tools: ServedTool[]): ServedAnswer => ({
    text: 'Next.',
    tools: tools.map((one, index) => ({ ...one, id: `call_${promptCount}_${resultCount}_${index}` })),
    usage,
  })
  const end = (text: string): ServedAnswer => ({ text, usage })
  if (task === 'cut') return end('I look at what is there.')
  if (task === 'env') return resultCount === 0 ? callTools(tools.shell('env > env.txt; echo started')) : end(RESULT)
  if (task === 'own')
    return resultCount > 1 || !tools.reeveTool
      ? end(RESULT)
      : callTools(
          resultCount === 0
            ? tools.reeveTool('spawn', { command: ['sh', '-c', 'echo made > child.txt'], name: 'child' })
            : tools.reeveTool('wait', { processes: ['child'] }),
        )
  if (task === 'again') return end(`asked ${promptCount} times`)
  if (task === 'hang') return callTools(tools.shell(`${commandWithLeftovers(token)}; tail -f /dev/null ${token}`))
  if (task === 'pace') return { ...end(RESULT), hangAfterBytes: halfLength(end(RESULT), request.path), restAfter }
  if (task === 'gate')
    return resultCount === 0 ? callTools(tools.shell(`echo ${token} > waits; until [ -e go ]; do sleep 0.1; done; echo went`)) : end(RESULT)
  if (task === 'stall')
    return resultCount === 0
      ? callTools(tools.shell(commandWithLeftovers(token)))
      : { ...end(RESULT), hangAfterBytes: halfLength(end(RESULT), request.path) }
  if (resultCount === 0) return callTools(tools.write(`${cwd}/made.txt`, WRITTEN))
  return resultCount === 1 ? callTools(tools.shell(commandWithLeftovers(token))) : end(RESULT)
}

function halfLength(answer: ServedAnswer, path: string): number {
  return Math.floor(bodyOf(answer, path).length / 2)
}

/** Answers a request outside the task, such as for a title or for a count of tokens. */
export function answerSideRequest(request: ServedRequest, usage: NonNullable<ServedAnswer['usage']>): ServedAnswer {
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
  return isModelCall(request) ? { text: 'A title', usage } : { status: 404 }
}

/** Whether the request is for a model's answer. */
export function isModelCall({ path, body }: ServedRequest): boolean {
  return !/count_?tokens/i.test(path) && ('messages' in body || 'input' in body || 'contents' in body)
}

type Json = Readonly<Record<string, unknown>>
type Task = keyof typeof TASKS

interface Turn {
  readonly task: Task | null
  /** the number of tool results since the last prompt that names a task */
  readonly resultCount: number
  /** the number of prompts so far that name a task */
  readonly promptCount: number
}

/** The task of the last prompt of the user; the messages after it are answers of the model and results. */
function turnOf(body: Json): Turn {
  const items = ['messages', 'input', 'contents'].map((key) => body[key]).find(Array.isArray) as readonly Json[] | undefined
  let turn: Turn = { task: null, resultCount: 0, promptCount: 0 }
  for (const item of items ?? []) {
    const text = JSON.stringify(item)
    const results =
      text.match(/"type":"(tool_result|function_call_output|custom_tool_call_output)"|"role":"tool"|"functionResponse":/g)?.length ?? 0
    const task = item['role'] === 'user' ? findLastTask(text) : null
    turn =
      task === null || results > 0
        ? { ...turn, resultCount: turn.resultCount + results }
        : { task, resultCount: 0, promptCount: turn.promptCount + (task === 'cut' ? 0 : 1) }
  }
  return turn
}

function findLastTask(text: string): Task | null {
  const found = text.match(/REEVE-[A-Z]+|turn was cut off/g)?.at(-1)
  return (Object.keys(TASKS) as Task[]).find((one) => TASKS[one] === found) ?? null
}
