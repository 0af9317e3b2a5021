// The tools with which a process sets how it handles signals. The tool that sends one is in process-tools.ts.
// Test: test/e2e/mcp/server.test.ts.
import { z } from 'zod'
import { BLOCKABLE_SIGNALS, DEFER_MS } from '../../kernel/model/signals.ts'
import { HANDLERS } from '../../kernel/model/words.ts'
import { defineOwnTool, requireCaller, type OwnToolDefinition } from './tool.ts'

/** The signals that a process can block or handle: all but SIGKILL. */
const signalName = z.enum(BLOCKABLE_SIGNALS)
const signals = z.array(signalName).max(BLOCKABLE_SIGNALS.length)

const sigmask = defineOwnTool({
  name: 'sigmask',
  who: 'process',
  effect: 'idempotent',
  description: `Blocks signals to you while you do work that must not be interrupted. Blocked signals wait until you unblock them; signals of the user wait at most ${DEFER_MS / 1_000} s. Without arguments the tool shows the current state.`,
  input: z.strictObject({ block: signals.default([]), unblock: signals.default([]) }),
  example: { block: ['SIGTERM', 'SIGPAUSE'] },
  async run({ block, unblock }, context) {
    const { uuid } = requireCaller(context)
    return block.length + unblock.length === 0
      ? context.host.operations.signals(uuid)
      : context.host.operations.setSignals(uuid, { block, unblock })
  },
})

const sighandle = defineOwnTool({
  name: 'sighandle',
  who: 'process',
  effect: 'idempotent',
  description: 'Sets how you handle a signal: `message` (you receive a message and can finish your work), `ignore`, or `default`.',
  input: z.strictObject({
    signal: signalName,
    handler: z.enum(HANDLERS),
  }),
  example: { signal: 'SIGTERM', handler: 'message' },
  async run({ signal, handler }, context) {
    return context.host.operations.setSignals(requireCaller(context).uuid, { handlers: { [signal]: handler } })
  },
})

export const SIGNAL_TOOLS: readonly OwnToolDefinition[] = [sigmask, sighandle]
