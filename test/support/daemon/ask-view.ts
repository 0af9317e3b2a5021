// A question in the API's form, for tests that read or print questions.
import type { AskView } from '../../../src/api/views/process.ts'

export function makeAskView(changes: Partial<AskView> = {}): AskView {
  return {
    id: 'q1',
    kind: 'question',
    text: 'which one?',
    options: [],
    at: '2026-01-01T00:00:00.000Z',
    callId: null,
    step: null,
    message: null,
    source: null,
    tool: null,
    diff: [],
    moreFiles: 0,
    hash: 'h',
    ...changes,
  }
}
