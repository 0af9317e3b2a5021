// The open questions of a native agent about its tool calls, and what each shows to the user. approvals.ts decides when to ask.
// Test: test/e2e/native/permissions.test.ts.
import type { Ask, AskEvidence, UserAnswer } from '../../../kernel/model/asks.ts'
import type { Pid } from '../../../kernel/model/ids.ts'
import type { ToolCall } from '../context/context.ts'
import { truncateMiddle } from '../../common/truncate-middle.ts'

/** The longest text of a question, in bytes. */
const MAX_TEXT_BYTES = 4 * 1024

const OPTIONS: Ask['options'] = [
  { id: 'allow', name: 'Allow this call', kind: 'allow_once' },
  { id: 'deny', name: 'Deny this call', kind: 'reject_once' },
]

export type Reply = Pick<UserAnswer, 'option' | 'text'>

/** The open questions of an agent. */
export class OpenQuestions {
  readonly #pid: Pid
  readonly #answers = new Map<string, (reply: Reply) => void>()
  #lastNumber = 0

  constructor(pid: Pid) {
    this.#pid = pid
  }

  answer(id: string, reply: Reply): void {
    this.#answers.get(id)?.(reply)
  }

  /** Opens a question about a call with its evidence, or about the plan that it presents. `close` withdraws it. */
  open(
    call: ToolCall,
    shown: { readonly plan: { readonly text: string; readonly options: Ask['options'] } } | { readonly evidence: AskEvidence },
  ): { readonly ask: Ask; readonly reply: Promise<Reply>; close(): void } {
    // The PID makes the id unique among those of earlier incarnations.
    const id = `${this.#pid}-${(this.#lastNumber += 1)}`
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#answers.set(id, resolve)
    const shared = { id, callId: call.callId, at: Date.now() }
    const ask: Ask =
      'plan' in shown
        ? { ...shared, kind: 'plan', text: `approve this plan?\n\n${shown.plan.text}`, options: shown.plan.options }
        : { ...shared, kind: 'permission', text: describeCall(call), options: OPTIONS, evidence: shown.evidence }
    return { ask, reply: promise, close: () => this.#answers.delete(id) }
  }
}

/** Names a call by its tool, and by its command or path. */
export function subjectOf({ name, input }: ToolCall): string {
  const { command, path } = { command: undefined, path: undefined, ...(typeof input === 'object' ? input : {}) } as Readonly<
    Record<string, unknown>
  >
  const subject = command ?? path
  return typeof subject === 'string' ? `${name}: ${subject}` : name
}

/** Describes the call to the user: the tool with its command or path, and then all of its input. */
function describeCall(call: ToolCall): string {
  const subject = subjectOf(call)
  const { command: _c, path: _p, ...rest } = { command: 0, path: 0, ...(typeof call.input === 'object' ? call.input : {}) }
  const details = Object.entries(rest).map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return truncateMiddle([subject, ...details].join('\n'), MAX_TEXT_BYTES)
}
