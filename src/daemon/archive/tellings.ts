// What a fact says to the model or for it, told for people: the messages of a step, and how many tokens each kind of them has.
// Owns steps.jsonl and ctx-profile.json as far as they come from facts read once, in order, with one step in memory.
// Tests: test/e2e/archive.test.ts.
import { BYTES_PER_TOKEN } from '../../drivers/native/context.ts'
import type { AssistantPart, Fact, FactBody, ImagePart } from '../../kernel/facts.ts'

/** A message, with the fact that holds it. */
export type Telling =
  | { readonly role: 'user'; readonly seq: number; readonly from: string; readonly text: string }
  | { readonly role: 'assistant'; readonly seq: number; readonly step: number; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly seq: number; readonly step: number; readonly callId: string; readonly name: string; readonly outcome: string; readonly content: string; readonly images?: readonly ImagePart[] }
  | { readonly role: 'summary'; readonly seq: number; readonly step: number; readonly text: string }

/** Where the text of a message that waits stands; it is read when the message comes in. */
export class Waiting {
  readonly #seqs = new Map<string, number>()

  see({ body, seq }: Fact): void {
    if (body.type === 'process.queue') this.#seqs.set(body.id, seq)
  }

  /** Once: a message comes in once. */
  take(id: string): number | null {
    const seq = this.#seqs.get(id) ?? null
    this.#seqs.delete(id)
    return seq
  }
}

/** The message of a fact; null for one that has none. `textAt` reads the text of a queued message. */
export async function tellingOf(fact: Fact, waiting: Waiting, textAt: (seq: number) => Promise<string>): Promise<Telling | null> {
  const { body, seq } = fact
  waiting.see(fact)
  switch (body.type) {
    case 'process.incoming': {
      const queued = waiting.take(body.id)
      return queued === null ? null : { role: 'user', seq, from: body.from, text: await textAt(queued) }
    }
    case 'model.finished': return { role: 'assistant', seq, step: body.step, parts: body.message }
    case 'tool.finished': {
      const { step, callId, name, outcome, content, images } = body
      return { role: 'tool', seq, step, callId, name, outcome, content, ...(images === undefined ? {} : { images }) }
    }
    case 'context.compacted': return { role: 'summary', seq, step: body.step, text: body.summary }
    default: return null
  }
}

interface Attempt { readonly at: string; readonly attempt: number; readonly model: string; error?: string }

/** One model call: what came in since the one before it, what it was, what it gave. */
interface Step {
  readonly step: number
  readonly uuid: string
  readonly request: { readonly messages: Telling[]; readonly attempts: Attempt[] }
  response: object | null
  readonly tools: Telling[]
}

/** Makes the lines of steps.jsonl: a step is given when the next one begins, or at the end. */
export class StepLines {
  #open: Step | null = null
  #before: Telling[] = []

  /** The step that is over now, if one is. */
  see({ uuid, at, body }: Fact, telling: Telling | null): object | null {
    let done: object | null = null
    if (body.type === 'model.started' && body.step !== this.#open?.step) {
      done = this.end()
      this.#open = { step: body.step, uuid, request: { messages: this.#before, attempts: [] }, response: null, tools: [] }
      this.#before = []
    }
    if (this.#open) this.#add(this.#open, body, at)
    if (telling?.role === 'tool') (this.#open?.tools ?? this.#before).push(telling)
    else if (telling?.role === 'user' || telling?.role === 'summary') this.#before.push(telling)
    return done
  }

  end(): object | null {
    const open = this.#open
    this.#open = null
    return open && { version: 1, ...open }
  }

  #add(open: Step, body: FactBody, wall: number): void {
    const at = new Date(wall).toISOString()
    if (body.type === 'model.started') open.request.attempts.push({ at, attempt: body.attempt, model: body.model })
    const last = open.request.attempts.at(-1)
    if (body.type === 'model.failed' && last) last.error = body.error
    if (body.type === 'model.finished') open.response = { at, message: body.message, usage: body.usage, finish: body.finish, durationMs: body.durationMs }
  }
}

const KINDS = ['user', 'text', 'reasoning', 'call', 'result', 'summary'] as const
type Kind = (typeof KINDS)[number]
type Heat = Record<Kind, number>

/** Estimated tokens by kind of message, of each step and of all; beside them what the provider counted. */
export class Profile {
  readonly total: Heat = cold()
  #step: { step: number; heat: Heat; counted: number | null } | null = null
  #before = cold()

  /** The step that is over now, if one is. */
  see({ body }: Fact, telling: Telling | null): object | null {
    let done: object | null = null
    if (body.type === 'model.started' && body.step !== this.#step?.step) {
      done = this.end()
      this.#step = { step: body.step, heat: this.#before, counted: null }
      this.#before = cold()
    }
    if (body.type === 'model.finished' && this.#step) {
      const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = body.usage
      this.#step.counted = inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens
    }
    if (telling) this.#count(telling)
    return done
  }

  end(): object | null {
    const step = this.#step
    this.#step = null
    return step && { step: step.step, estimated: step.heat, countedContextTokens: step.counted }
  }

  #count(telling: Telling): void {
    const heat = telling.role === 'assistant' || telling.role === 'tool' ? (this.#step?.heat ?? this.#before) : this.#before
    for (const [kind, bytes] of bytesOf(telling)) {
      const tokens = Math.ceil(bytes / BYTES_PER_TOKEN)
      heat[kind] += tokens
      this.total[kind] += tokens
    }
  }
}

function cold(): Heat {
  return { user: 0, text: 0, reasoning: 0, call: 0, result: 0, summary: 0 }
}

function bytesOf(telling: Telling): (readonly [Kind, number])[] {
  switch (telling.role) {
    case 'user': return [['user', Buffer.byteLength(telling.text)]]
    case 'summary': return [['summary', Buffer.byteLength(telling.text)]]
    case 'tool': return [['result', Buffer.byteLength(telling.content)]]
    case 'assistant': return telling.parts.map((part) => {
      if (part.type === 'tool-call') return ['call', Buffer.byteLength(part.name) + Buffer.byteLength(JSON.stringify(part.input) ?? '')]
      return [part.type, Buffer.byteLength(part.text)]
    })
  }
}
