// The four tools by which a worker of a crew says what it has done. A turn of a worker ends with one of them. What each means is
// for the crew to decide (src/crew); a call that is repeated changes nothing. Test: test/e2e/mcp-crew.test.ts.
import { z } from 'zod'
import { commandOf } from './crew-call.ts'
import { define, type OwnDefinition } from './tool.ts'

const MAX_TEXT = 100_000
const text = z.string().min(1).max(MAX_TEXT)

const post = define({
  name: 'post_message', who: 'worker', effect: 'idempotent', report: true,
  description: 'Says something to the coordinator, or to the thread of a task by its id: a question, a problem, what you found out. It ends your turn\'s duty to report; you go on when you are answered.',
  input: z.strictObject({ to: z.string().min(1).max(40).describe('`coordinator`, or the id of a task'), text }),
  example: { to: 'coordinator', text: 'The API has no endpoint for this. Shall I add one?' },
  run: (input, called) => commandOf(called, { type: 'post_message', ...input }),
})

const implemented = define({
  name: 'report_implementation_complete', who: 'worker', effect: 'idempotent', report: true,
  description: 'Your task is done: says what you changed and how you checked it. Do not commit; a review comes first. Then end your turn.',
  input: z.strictObject({ summary: text }),
  example: { summary: 'The login keeps its target now (src/login.ts). npm test passes; two new tests.' },
  run: (input, called) => commandOf(called, { type: 'report_implementation_complete', ...input }),
})

const verdict = define({
  name: 'report_review_verdict', who: 'worker', effect: 'idempotent', report: true,
  description: 'Your review is done: APPROVED, or DENIED with comments that say what has to change. Then end your turn.',
  input: z.strictObject({ verdict: z.enum(['APPROVED', 'DENIED']), comments: text }),
  example: { verdict: 'DENIED', comments: 'src/login.ts:41 loses the query. Keep it, and test that.' },
  run: (input, called) => commandOf(called, { type: 'report_review_verdict', ...input }),
})

const ready = define({
  name: 'signal_ready', who: 'worker', effect: 'idempotent', report: true,
  description: 'You have nothing to do and can take work. Then end your turn.',
  input: z.strictObject({}),
  example: {},
  run: (_, called) => commandOf(called, { type: 'signal_ready' }),
})

export const WORKER_TOOLS: readonly OwnDefinition[] = [post, implemented, verdict, ready]
