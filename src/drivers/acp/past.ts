// What of a process's journal counts when its agent goes on: the step it stands at, what its session has cost, and the
// turn that was cut off. Read once, in pages. Test: test/processes/acp-session.test.ts.
import type { FactBody } from '../../kernel/facts.ts'
import type { Launch } from '../port.ts'

const PAGE_FACTS = 1_000
/** What an agent is told that goes on with a turn of which something happened. */
export const CUT_OFF = 'Your last turn was cut off. What was running then may or may not have happened: look before you do it again. Go on with the task.'

export interface Past {
  /** the last step that is whole */
  readonly step: number
  /** what its session was charged for before: by what it told, and by the gateway */
  readonly chargedUsd: number
  /** a part of that was counted by the gateway, which may have seen more than the agent tells */
  readonly wasMetered: boolean
  /** when its session was begun, wall time in ms; null: it has none */
  readonly sessionAt: number | null
  /** what the agent is told to go on with the last turn: its messages again if it had not begun on them */
  readonly goOn: string
}

export async function readPast({ history }: Pick<Launch, 'history'>): Promise<Past> {
  const reading = new Reading()
  for (let page = await history(0, PAGE_FACTS); page.length > 0; page = await history(page.at(-1)?.seq ?? 0, PAGE_FACTS)) {
    for (const { body, at } of page) reading.see(body, at)
  }
  return reading.past()
}

class Reading {
  readonly #queued = new Map<string, string>()
  #messages: string[] = []
  #turn = 0
  #began = false
  #step = 0
  #isWhole = true
  #chargedUsd = 0
  #wasMetered = false
  #sessionId: string | null = null
  #sessionAt: number | null = null

  see(body: FactBody, at: number): void {
    switch (body.type) {
      case 'process.handle': return this.#inSession(body.sessionId, at)
      case 'process.queue': this.#queued.set(body.id, body.text); return
      case 'process.incoming': return this.#incoming(body.id, body.turn)
      case 'model.started':
        this.#step = body.step
        this.#isWhole = false
        this.#began = true
        return
      case 'model.finished': this.#isWhole = true; return
      case 'usage.reported': return this.#charged(body.usage.costUsd)
      case 'call.finished':
        this.#wasMetered = true
        return this.#charged(body.usage.costUsd)
      // Its session is a copy, which tells its own costs alone.
      case 'process.forked': return this.#anew()
      // It is run again, with a session that begins.
      case 'process.resumed': return body.rerun ? this.#anew() : undefined
      default: return
    }
  }

  past(): Past {
    return {
      step: this.#isWhole ? this.#step : this.#step - 1,
      chargedUsd: this.#chargedUsd,
      wasMetered: this.#wasMetered,
      sessionAt: this.#sessionAt,
      goOn: this.#began || this.#messages.length === 0 ? CUT_OFF : this.#messages.join('\n\n'),
    }
  }

  #charged(costUsd: number | null): void {
    this.#chargedUsd += costUsd ?? 0
  }

  #anew(): void {
    this.#chargedUsd = 0
    this.#wasMetered = false
  }

  #inSession(id: string | undefined, at: number): void {
    if (id === undefined || id === this.#sessionId) return
    this.#sessionId = id
    this.#sessionAt = at
  }

  #incoming(id: string, turn: number): void {
    if (turn !== this.#turn) this.#messages = []
    this.#turn = turn
    this.#began = false
    this.#messages.push(this.#queued.get(id) ?? '')
    this.#queued.delete(id)
  }
}
