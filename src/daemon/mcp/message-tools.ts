// The tools by which a process writes to others, reads what waits for it, and says what signals do to it.
// Test: test/e2e/mcp-server.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import { processOf } from './process-tools.ts'
import { define, type Called, type OwnDefinition } from './tool.ts'
import type { Process } from '../../kernel/types.ts'

const MAX_TEXT = 200_000
/** messages that `inbox` shows at once, and the longest text of one */
const MAX_SHOWN = 20
const MAX_SHOWN_CHARS = 20_000

const signals = z.array(z.enum(['SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME'])).max(4)

function self({ caller }: Called): Process {
  if (caller === null) throw new KernelError('INVALID', 'this is about the process that calls, and you are none')
  return caller
}

const send = define({
  name: 'send', who: 'any', effect: 'once',
  description: 'Writes to a process below you, or to your parent. Each message begins a turn of its own, in the order of sending.',
  input: z.strictObject({ to: z.string().min(1).max(200).describe('PID, name or ID; `parent` is yours'), text: z.string().min(1).max(MAX_TEXT) }),
  example: { to: 'parent', text: 'The cause is in src/login.ts:41. May I fix it?' },
  async run({ to, text }, called) {
    const { host, caller } = called
    const parent = to === 'parent' ? caller?.parent ?? null : undefined
    if (parent === null) throw new KernelError('INVALID', 'you have no parent: a person started you', undefined, 'Say it in your answer, or name another process.')
    const { uuid, pid } = parent === undefined ? await processOf(to, called) : await host.reads.get(parent)
    const { id, queueCount } = await host.operations.send(uuid, text)
    return { pid, message: id, waiting: queueCount }
  },
})

const inbox = define({
  name: 'inbox', who: 'process', effect: 'idempotent',
  description: 'Shows the messages that wait for you. Each will begin a turn of its own, unless you say by `ack` that you have dealt with it now.',
  input: z.strictObject({ ack: z.array(z.string().min(1).max(200)).max(100).default([]).describe('ids of messages that need no turn any more') }),
  example: { ack: ['0198c5a2-0000-7000-8000-000000000000'] },
  async run({ ack }, called) {
    const { host, by, caller } = called
    const { uuid } = self(called)
    const done = ack.length === 0 ? null : await host.pipeline.request({ type: 'take', by, uuid, ids: ack })
    const queue = (await host.reads.get(uuid)).queue.filter(({ id }) => id !== 'intent')
    const messages = await Promise.all(queue.slice(0, MAX_SHOWN).map(async ({ id, from, seq }) => {
      const [fact] = await host.store.facts(uuid, seq - 1, 1)
      const text = fact?.body.type === 'process.queue' ? fact.body.text : ''
      return { id, from: from === `agent:${caller?.parent ?? ''}` ? 'parent' : from, text: text.slice(0, MAX_SHOWN_CHARS), ...(text.length > MAX_SHOWN_CHARS ? { cut: text.length - MAX_SHOWN_CHARS } : {}) }
    }))
    return { messages, ...(queue.length > messages.length ? { more: queue.length - messages.length } : {}), ...(done?.type === 'done' ? { acknowledged: done.affected, ...(done.note === null ? {} : { note: done.note }) } : {}) }
  },
})

const sigmask = define({
  name: 'sigmask', who: 'process', effect: 'idempotent',
  description: 'Blocks signals to you for as long as you do what must not be cut off; they wait until you unblock them (what a person sends waits 10 s at most). Without a word it shows how it stands.',
  input: z.strictObject({ block: signals.default([]), unblock: signals.default([]) }),
  example: { block: ['SIGTERM', 'SIGPAUSE'] },
  async run({ block, unblock }, called) {
    const { uuid } = self(called)
    return block.length + unblock.length === 0 ? called.host.operations.signals(uuid) : called.host.operations.setSignals(uuid, { block, unblock })
  },
})

const sighandle = define({
  name: 'sighandle', who: 'process', effect: 'idempotent',
  description: 'Says what a signal does to you: `message` (you are told and can wrap up), `ignore`, or `default`.',
  input: z.strictObject({ signal: z.enum(['SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']), handler: z.enum(['default', 'ignore', 'message']) }),
  example: { signal: 'SIGTERM', handler: 'message' },
  async run({ signal, handler }, called) {
    return called.host.operations.setSignals(self(called).uuid, { handlers: { [signal]: handler } })
  },
})

export const MESSAGE_TOOLS: readonly OwnDefinition[] = [send, inbox, sigmask, sighandle]
