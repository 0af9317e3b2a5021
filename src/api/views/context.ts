// The JSON of the API: what the model of a process sees now. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do
// not edit. Test: test/e2e/models/context-view.test.ts.

export interface ContextBlockView {
  /** the system prompt, a message, the summary of earlier messages, an answer of the model, or the results of its calls */
  kind: 'system' | 'message' | 'summary' | 'answer' | 'results'
  /** the step that it comes from; null: it comes from no step */
  fromStep: number | null
  /** an estimate */
  tokens: number
  /** false: a compaction now would put a summary in its place */
  isKept: boolean
  /** its text, cut at 2,048 characters; null: not requested */
  text: string | null
}

export interface ContextView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /** `tokens`: the agent keeps its context itself, so only its size is known */
  known: 'messages' | 'tokens'
  /** the size of the context, as its provider counted it last */
  tokens: number
  /** the context window of the model; null: unknown */
  window: number | null
  /** the size at which reeve compacts it; null: unknown, or reeve does not compact it */
  compactsAt: number | null
  /** the step after which it was last compacted; null: never */
  compactedStep: number | null
  /** in order; at most the 2,000 newest ones. The definitions of tools are not among them */
  blocks: ContextBlockView[]
  /** the number of earlier blocks */
  more: number
}
