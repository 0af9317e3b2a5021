// Reads an external agent's journal for a resume: the last step, the cost of the session, and the cut-off turn. The journal is read once,
// in pages. Tests: test/processes/acp/session.test.ts, test/processes/command/conversation.test.ts.
import type { FactBody } from '../../kernel/model/facts.ts'
import type { Launch } from '../port.ts'

const PAGE_FACTS = 1_000
/** The prompt for an agent that continues a partly executed turn. */
export const CUT_OFF_PROMPT =
  'Your last turn was cut off. Calls that were running then may or may not have taken effect: check before you repeat them. Continue the task.'

export interface SessionHistory {
  /** the number of the last complete step */
  readonly step: number
  /** the recorded cost of the current session, as the agent reported it or the gateway counted it */
  readonly chargedUsd: number
  /** whether the gateway counted a part of that cost; the gateway may count more than the agent reports */
  readonly wasMetered: boolean
  /** when the current session began, as wall time in ms; null without a session */
  readonly sessionAt: number | null
  /** the prompt that continues the last turn: its own messages again if no step of that turn had begun */
  readonly resumePrompt: string
}

export async function readSessionHistory({ history }: Pick<Launch, 'history'>): Promise<SessionHistory> {
  const reader = new HistoryReader()
  for (let page = await history(0, PAGE_FACTS); page.length > 0; page = await history(page.at(-1)?.seq ?? 0, PAGE_FACTS)) {
    for (const { body, at } of page) reader.addFact(body, at)
  }
  return reader.result()
}

class HistoryReader {
  readonly #queued = new Map<string, string>()
  #messages: string[] = []
  #turn = 0
  #hasStepBegun = false
  #step = 0
  #isStepComplete = true
  #chargedUsd = 0
  #wasMetered = false
  #sessionId: string | null = null
  #sessionAt: number | null = null

  addFact(body: FactBody, at: number): void {
    switch (body.type) {
      case 'process.handle':
        return this.#setSession(body.sessionId, at)
      case 'process.queue':
        this.#queued.set(body.id, body.text)
        return
      case 'process.incoming':
        return this.#addMessage(body.id, body.turn)
      case 'model.started':
        this.#step = body.step
        this.#isStepComplete = false
        this.#hasStepBegun = true
        return
      case 'model.finished':
        this.#isStepComplete = true
        return
      case 'usage.reported':
        return this.#addCharge(body.usage.costUsd)
      case 'call.finished':
        this.#wasMetered = true
        return this.#addCharge(body.usage.costUsd)
      // A forked session reports only its own costs.
      case 'process.forked':
        return this.#resetCharges()
      // A rerun begins a new session.
      case 'process.resumed':
        return body.rerun ? this.#resetCharges() : undefined
      default:
        return
    }
  }

  result(): SessionHistory {
    return {
      step: this.#isStepComplete ? this.#step : this.#step - 1,
      chargedUsd: this.#chargedUsd,
      wasMetered: this.#wasMetered,
      sessionAt: this.#sessionAt,
      resumePrompt: this.#hasStepBegun || this.#messages.length === 0 ? CUT_OFF_PROMPT : this.#messages.join('\n\n'),
    }
  }

  #addCharge(costUsd: number | null): void {
    this.#chargedUsd += costUsd ?? 0
  }

  #resetCharges(): void {
    this.#chargedUsd = 0
    this.#wasMetered = false
  }

  #setSession(id: string | undefined, at: number): void {
    if (id === undefined || id === this.#sessionId) return
    this.#sessionId = id
    this.#sessionAt = at
  }

  #addMessage(id: string, turn: number): void {
    if (turn !== this.#turn) this.#messages = []
    this.#turn = turn
    this.#hasStepBegun = false
    this.#messages.push(this.#queued.get(id) ?? '')
    this.#queued.delete(id)
  }
}
