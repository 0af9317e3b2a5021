// Extracts the messages of a conversation from facts, and makes the content of steps.jsonl and ctx-profile.json of an export.
// Facts must be passed in the order of their numbers. At most one step and the messages of the next are in memory.
// Tests: test/e2e/daemon/archive.test.ts.
import { BYTES_PER_TOKEN } from '../../drivers/native/context/context.ts'
import type { AssistantPart, Fact, FactBody, ImagePart } from '../../kernel/model/facts.ts'

/** A message of the conversation, with the number of its fact. */
export type ExportedMessage =
  | { readonly role: 'user'; readonly seq: number; readonly from: string; readonly text: string }
  | { readonly role: 'assistant'; readonly seq: number; readonly step: number; readonly parts: readonly AssistantPart[] }
  | {
      readonly role: 'tool'
      readonly seq: number
      readonly step: number
      readonly callId: string
      readonly name: string
      readonly outcome: string
      readonly content: string
      readonly images?: readonly ImagePart[]
    }
  | { readonly role: 'summary'; readonly seq: number; readonly step: number; readonly text: string }

/** Remembers the fact numbers of queued messages, because the text of a message is not in the fact of its delivery. */
export class QueuedMessages {
  readonly #seqs = new Map<string, number>()

  onFact({ body, seq }: Fact): void {
    if (body.type === 'process.queue') this.#seqs.set(body.id, seq)
  }

  /** Returns the fact number of a message, and forgets it; null if it is unknown. */
  take(id: string): number | null {
    const seq = this.#seqs.get(id) ?? null
    this.#seqs.delete(id)
    return seq
  }
}

/** Returns the message in a fact; null if the fact has none. `textAt` reads the text of a queued message by its fact number. */
export async function exportedMessageOf(
  fact: Fact,
  queuedMessages: QueuedMessages,
  textAt: (seq: number) => Promise<string>,
): Promise<ExportedMessage | null> {
  const { body, seq } = fact
  queuedMessages.onFact(fact)
  switch (body.type) {
    case 'process.incoming': {
      const queuedSeq = queuedMessages.take(body.id)
      return queuedSeq === null ? null : { role: 'user', seq, from: body.from, text: await textAt(queuedSeq) }
    }
    case 'model.finished':
      return { role: 'assistant', seq, step: body.step, parts: body.message }
    case 'tool.finished': {
      const { step, callId, name, outcome, content, images } = body
      return { role: 'tool', seq, step, callId, name, outcome, content, ...(images === undefined ? {} : { images }) }
    }
    case 'context.compacted':
      return { role: 'summary', seq, step: body.step, text: body.summary }
    default:
      return null
  }
}

/** An attempt at a model call. */
interface Attempt {
  readonly at: string
  readonly attempt: number
  readonly model: string
  error?: string
}

/** A line of steps.jsonl: the messages since the previous step, the attempts of the model call, its response, and the tool results. */
interface Step {
  readonly step: number
  readonly uuid: string
  readonly request: { readonly messages: ExportedMessage[]; readonly attempts: Attempt[] }
  response: object | null
  readonly tools: ExportedMessage[]
}

/** Builds the lines of steps.jsonl. Returns a step when the next step begins, or at the end. */
export class StepLines {
  #step: Step | null = null
  /** the messages for the next step */
  #pending: ExportedMessage[] = []

  /** Adds a fact. Returns the previous step if the fact begins a new one; else null. */
  onFact({ uuid, at, body }: Fact, message: ExportedMessage | null): object | null {
    let finished: object | null = null
    if (body.type === 'model.started' && body.step !== this.#step?.step) {
      finished = this.end()
      this.#step = { step: body.step, uuid, request: { messages: this.#pending, attempts: [] }, response: null, tools: [] }
      this.#pending = []
    }
    if (this.#step) this.#add(this.#step, body, at)
    if (message?.role === 'tool') (this.#step?.tools ?? this.#pending).push(message)
    else if (message?.role === 'user' || message?.role === 'summary') this.#pending.push(message)
    return finished
  }

  /** Returns the last step; null if there is none. */
  end(): object | null {
    const step = this.#step
    this.#step = null
    return step && { version: 1, ...step }
  }

  #add(step: Step, body: FactBody, wall: number): void {
    const at = new Date(wall).toISOString()
    if (body.type === 'model.started') step.request.attempts.push({ at, attempt: body.attempt, model: body.model })
    const last = step.request.attempts.at(-1)
    if (body.type === 'model.failed' && last) last.error = body.error
    if (body.type === 'model.finished')
      step.response = { at, message: body.message, usage: body.usage, finish: body.finish, durationMs: body.durationMs }
  }
}

const KINDS = ['user', 'text', 'reasoning', 'call', 'result', 'summary'] as const
type Kind = (typeof KINDS)[number]
type TokensByKind = Record<Kind, number>

/** Estimates the tokens of each kind of content, for each step and in total. Also has the provider's count for each step. */
export class ContextProfile {
  readonly total: TokensByKind = zeroTokens()
  #step: { step: number; tokens: TokensByKind; counted: number | null } | null = null
  /** the tokens of messages for the next step */
  #pending = zeroTokens()

  /** Adds a fact. Returns the previous step if the fact begins a new one; else null. */
  onFact({ body }: Fact, message: ExportedMessage | null): object | null {
    let finished: object | null = null
    if (body.type === 'model.started' && body.step !== this.#step?.step) {
      finished = this.end()
      this.#step = { step: body.step, tokens: this.#pending, counted: null }
      this.#pending = zeroTokens()
    }
    if (body.type === 'model.finished' && this.#step) {
      const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = body.usage
      this.#step.counted = inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens
    }
    if (message) this.#count(message)
    return finished
  }

  /** Returns the last step; null if there is none. */
  end(): object | null {
    const step = this.#step
    this.#step = null
    return step && { step: step.step, estimated: step.tokens, countedContextTokens: step.counted }
  }

  #count(message: ExportedMessage): void {
    const tokensByKind = message.role === 'assistant' || message.role === 'tool' ? (this.#step?.tokens ?? this.#pending) : this.#pending
    for (const [kind, bytes] of bytesOf(message)) {
      const tokens = Math.ceil(bytes / BYTES_PER_TOKEN)
      tokensByKind[kind] += tokens
      this.total[kind] += tokens
    }
  }
}

function zeroTokens(): TokensByKind {
  return { user: 0, text: 0, reasoning: 0, call: 0, result: 0, summary: 0 }
}

/** The sizes of the parts of a message, by kind. */
function bytesOf(message: ExportedMessage): (readonly [Kind, number])[] {
  switch (message.role) {
    case 'user':
      return [['user', Buffer.byteLength(message.text)]]
    case 'summary':
      return [['summary', Buffer.byteLength(message.text)]]
    case 'tool':
      return [['result', Buffer.byteLength(message.content)]]
    case 'assistant':
      return message.parts.map((part) => {
        if (part.type === 'tool-call') return ['call', Buffer.byteLength(part.name) + Buffer.byteLength(JSON.stringify(part.input) ?? '')]
        return [part.type, Buffer.byteLength(part.text)]
      })
  }
}
