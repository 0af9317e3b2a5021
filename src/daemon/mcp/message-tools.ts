// The tools with which a process sends messages to other processes and reads its own messages.
// Test: test/e2e/mcp/server.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import { resolveProcess } from './process-reference.ts'
import { defineOwnTool, requireCaller, type OwnToolDefinition } from './tool.ts'
import { truncate } from '../../kernel/util/truncate.ts'

const MAX_TEXT = 200_000
/** The largest number of messages that `inbox` shows, and the largest length of each text in characters. */
const MAX_SHOWN = 20
const MAX_SHOWN_CHARS = 20_000

const send = defineOwnTool({
  name: 'send',
  who: 'any',
  effect: 'once',
  description:
    'Sends a message to a process below you, or to your parent. Each message begins a turn of its own, in the order of sending. With `now` a native agent reads it in the current turn, before its next model call.',
  input: z.strictObject({
    to: z.string().min(1).max(200).describe('PID, name or ID; `parent` is your parent'),
    text: z.string().min(1).max(MAX_TEXT),
    now: z.boolean().exactOptional(),
  }),
  example: { to: 'parent', text: 'The cause is in src/login.ts:41. May I fix it?' },
  async run({ to, text, now }, context) {
    const { host, caller } = context
    const parent = to === 'parent' ? (caller?.parent ?? null) : undefined
    if (parent === null)
      throw new KernelError(
        'INVALID',
        'you have no parent: the user started you',
        undefined,
        'Write the text in your answer, or name another process.',
      )
    const { uuid, pid } = parent === undefined ? await resolveProcess(to, context) : await host.reads.get(parent)
    const { id, queueCount, note } = await host.operations.send(uuid, { text, ...(now === undefined ? {} : { now }) })
    return { pid, message: id, waiting: queueCount, ...(note === undefined ? {} : { note }) }
  },
})

const inbox = defineOwnTool({
  name: 'inbox',
  who: 'process',
  effect: 'idempotent',
  description: 'Shows your queued messages. Each of them will begin a turn of its own, unless you acknowledge it with `ack`.',
  input: z.strictObject({
    ack: z
      .array(z.string().min(1).max(200))
      .max(100)
      .default([])
      .describe('ids of messages that you have handled, so that they need no turn'),
  }),
  example: { ack: ['0198c5a2-0000-7000-8000-000000000000'] },
  async run({ ack }, context) {
    const { host, by, caller } = context
    const { uuid } = requireCaller(context)
    const done = ack.length === 0 ? null : await host.pipeline.request({ type: 'take', by, uuid, ids: ack })
    const queue = (await host.reads.get(uuid)).queue.filter(({ id }) => id !== 'intent')
    const messages = await Promise.all(
      queue.slice(0, MAX_SHOWN).map(async ({ id, from, seq }) => {
        const [fact] = await host.store.facts(uuid, seq - 1, 1)
        const text = fact?.body.type === 'process.queue' ? fact.body.text : ''
        return {
          id,
          from: from === `agent:${caller?.parent ?? ''}` ? 'parent' : from,
          text: truncate(text, MAX_SHOWN_CHARS),
          ...(text.length > MAX_SHOWN_CHARS ? { cut: text.length - MAX_SHOWN_CHARS } : {}),
        }
      }),
    )
    return {
      messages,
      ...(queue.length > messages.length ? { more: queue.length - messages.length } : {}),
      ...(done?.type === 'done' ? { acknowledged: done.affected, ...(done.note === null ? {} : { note: done.note }) } : {}),
    }
  },
})

export const MESSAGE_TOOLS: readonly OwnToolDefinition[] = [send, inbox]
