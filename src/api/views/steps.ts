// The JSON of the API: steps as columns, and one step with all its details. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/library/steps.test.ts.

/** A page of steps as columns: value N of each column belongs to the same step. */
export interface BriefStepsView {
  version: 1
  /** the number of steps of the process */
  total: number
  columns: {
    step: number[]
    /** the start, wall ms */
    at: number[]
    /** the time of its model calls, failed ones included */
    modelMs: number[]
    /** the time in which a tool call ran */
    toolMs: number[]
    /** the time in which it waited for the user */
    humanMs: number[]
    /** the time in which it was held */
    heldMs: number[]
    /** input tokens, cached ones included */
    in: number[]
    /** input tokens that were read from a cache */
    cached: number[]
    /** output tokens */
    out: number[]
    /** null: no cost is known */
    usd: (number | null)[]
    /** the size of the context after it, in tokens; null: unknown */
    ctx: (number | null)[]
    /** bits: `STEP_FLAGS` of the library */
    flags: number[]
    /** the names of its tool calls; `!` at the end: failed; `?`: without outcome */
    tools: string[][]
    /** the beginning of its text, on one line of at most 80 characters */
    text: string[]
  }
}

/** An attempt of the model call of a step. */
export interface StepAttemptView {
  at: string
  model: string
  /** null: it succeeded, or has no outcome */
  error: string | null
  /** the HTTP status of the failure */
  status: number | null
  retryInMs: number | null
}

/** A tool call of a step. */
export interface StepToolView {
  callId: string
  name: string
  /** null: it is too long, see `truncated` */
  input: unknown
  /** null: the call was not started */
  effect: 'read' | 'idempotent' | 'once' | null
  startedAt: string | null
  outcome: string | null
  exitCode: number | null
  /** at most its first 65,536 characters */
  result: string | null
  durationMs: number | null
  /** the call has not started: it, or a call before it, waits for an answer or a resume, or waited when the process ended */
  unbegun?: true
  /** what is longer than 65,536 characters: `GET …/steps/:step/tools/:call` has it */
  truncated: ('input' | 'result')[]
  /** its images, in the order of the parts `image:0`, `image:1` */
  images: { mediaType: string; bytes: number }[]
}

/** One step with all that is known about it. */
export interface StepDetailView {
  step: number
  startedAt: string
  finishedAt: string | null
  model: string
  attempts: number
  text: string | null
  tools: StepToolView[]
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  costUsd: number | null
  /** what changed the context after the step, as text */
  notes: string[]
  reasoning: string | null
  modelMs: number
  /** from sending the request that succeeded to the first piece of its answer; null: unknown */
  firstTokenMs: number | null
  toolMs: number
  humanMs: number
  heldMs: number
  /** the attempts of its model call */
  calls: StepAttemptView[]
  /** the messages that the agent read between the previous step and the model call of this one */
  messages: {
    id: string
    from: string
    text: string
    at: string
    truncated: boolean
  }[]
  /** what it asked the user */
  asks: {
    id: string
    text: string
    at: string
    answeredAt: string | null
    by: string | null
    /** the option or the text */
    answer: string | null
    withdrawn: boolean
  }[]
  /** the holds that began in it */
  holds: {
    reason: string
    by: string
    at: string
    releasedAt: string | null
    releasedBy: string | null
  }[]
  /** the size of the context after it; null: unknown */
  contextTokens: number | null
  /** the compaction after it; null: none */
  compaction: { before: number; after: number; summary: string } | null
  /** the record of its files; null: none */
  files: { commit: string; changed: boolean } | null
  /** true: a checkpoint was written after it */
  checkpoint: boolean
}

/** A part of a large input, result or image of a tool call. */
export interface StepPartView {
  version: 1
  mediaType: string
  /** at most 1,000,000 characters from `offset`; of an image in base64 */
  text: string
  offset: number
  /** the length of the whole part, in the units of `offset`: characters of this text */
  total: number
  /** the next `offset`; null: this is the end */
  next: number | null
}
