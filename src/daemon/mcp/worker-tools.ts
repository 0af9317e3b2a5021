// The four tools with which a crew worker reports about its work (`REPORT_TOOLS`). Each turn of a worker should end with a call of one of
// them. The crew decides what follows from a call; a repeated call changes nothing. Test: test/e2e/mcp/crew.test.ts.
import { z } from 'zod'
import { sendCommand, withQuotedLines } from './crew-call.ts'
import { defineOwnTool, type OwnToolDefinition } from './tool.ts'
import { REVIEW_VERDICTS } from '../../kernel/model/crew/words.ts'

const MAX_TEXT = 100_000
const text = z.string().min(1).max(MAX_TEXT)

const postMessage = defineOwnTool({
  name: 'post_message',
  who: 'worker',
  effect: 'idempotent',
  description:
    'Sends a question, a problem or a finding to the coordinator, or to the thread of a task by its id. Then end your turn. An answer arrives as a message.',
  input: z.strictObject({ to: z.string().min(1).max(40).describe('`coordinator`, or the id of a task'), text }),
  example: { to: 'coordinator', text: 'The API has no endpoint for this. Shall I add one?' },
  run: (input, context) => sendCommand(context, { type: 'post_message', ...input }),
})

const reportImplementation = defineOwnTool({
  name: 'report_implementation_complete',
  who: 'worker',
  effect: 'idempotent',
  description:
    'Reports that your task is done. The summary describes what you changed and how you checked it. Do not commit before a message asks you to. Then end your turn.',
  input: z.strictObject({ summary: text }),
  example: { summary: 'The login keeps its target now (src/login.ts). npm test passes; two new tests.' },
  run: (input, context) => sendCommand(context, { type: 'report_implementation_complete', ...input }),
})

const reportVerdict = defineOwnTool({
  name: 'report_review_verdict',
  who: 'worker',
  effect: 'idempotent',
  description:
    'Reports the verdict of your review: APPROVED, or DENIED with comments. Each comment names the file and the line, the problem, and what would fix it. Then end your turn.',
  input: z.strictObject({
    verdict: z.enum(REVIEW_VERDICTS),
    comments: text,
    lines: z
      .array(z.strictObject({ file: z.string(), line: z.int().min(1), text: z.string().max(4_000) }))
      .max(100)
      .optional(),
  }),
  example: {
    verdict: 'DENIED',
    comments: 'The query is lost. Keep it, and test that.',
    lines: [{ file: 'src/login.ts', line: 41, text: 'This drops what follows the ?.' }],
  },
  run: async ({ verdict: reviewVerdict, comments, lines = [] }, context) =>
    sendCommand(context, {
      type: 'report_review_verdict',
      verdict: reviewVerdict,
      comments: await withQuotedLines(context, comments, lines),
    }),
})

const signalReady = defineOwnTool({
  name: 'signal_ready',
  who: 'worker',
  effect: 'idempotent',
  description: 'Reports that you have no task and no review, and can take work. Then end your turn.',
  input: z.strictObject({}),
  example: {},
  run: (_, context) => sendCommand(context, { type: 'signal_ready' }),
})

export const WORKER_TOOLS: readonly OwnToolDefinition[] = [postMessage, reportImplementation, reportVerdict, signalReady]
