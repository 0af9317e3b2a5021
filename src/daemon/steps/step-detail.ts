// Makes the view of one step with all that the journal has about it: its facts, and the messages before it. A long result is cut, and
// a long input is left out; `partOf` has them whole. Pure.
// Tests: test/tables/daemon/steps/step-detail.test.ts, test/e2e/library/steps.test.ts.
import { resultText } from '../../api/text/log-lines.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { isoOrNull, isoTime } from '../views/format-times.ts'
import { stepsOf } from '../views/process-view.ts'
import { BriefSteps } from './brief-steps.ts'
import { GatewayCalls } from './gateway-calls.ts'
import type { StepAttemptView, StepDetailView, StepToolView } from '../../api/views/steps.ts'
import type { StepView } from '../../api/views/process.ts'
import type { BodyOf, FactType, StoredFact } from '../../kernel/model/facts.ts'

/** The longest input or result of a tool call in the view, in characters. */
export const MAX_PART_CHARS = 65_536
/** The longest message in the view, in characters. */
const MAX_MESSAGE_CHARS = 20_000

/** The facts of a step. `before`: those since the previous step; they show which messages were read. `messages`: their texts, by id. */
export interface StepFacts {
  readonly step: number
  readonly facts: readonly StoredFact[]
  readonly before: readonly StoredFact[]
  readonly messages: ReadonlyMap<string, StoredFact>
  /** the last records and checkpoints up to the end of the next step, in order: they are written while that step runs */
  readonly late: readonly StoredFact[]
  /** the ids of the open calls that have not begun */
  readonly unbegun: ReadonlySet<string>
}

/** Returns the view of a step; null if the facts have no such step. */
export function stepDetailOf({ step, facts, before, messages, late, unbegun }: StepFacts): StepDetailView | null {
  const view = stepsOf(facts, unbegun).find((one) => one.step === step)
  const brief = new BriefSteps()
  for (const { body, at } of facts) brief.apply(body, at)
  const row = brief.rows.find((one) => one.step === step)
  if (!view || !row) return null
  const { modelMs, toolMs, humanMs, heldMs, ctx } = row
  const compacted = factsOfType(facts, 'context.compacted').find(({ body }) => body.step === step)?.body
  return {
    ...view,
    tools: view.tools.map((tool) => toolOf(tool, facts)),
    reasoning: reasoningOf(facts, step),
    modelMs,
    firstTokenMs: firstTokenOf(facts, step),
    toolMs,
    humanMs,
    heldMs,
    calls: attemptsOf(facts, step),
    messages: messagesOf(before, messages),
    asks: asksOf(facts),
    holds: holdsOf(facts),
    contextTokens: ctx,
    compaction: compacted
      ? { before: compacted.before, after: compacted.after, summary: truncate(compacted.summary, MAX_PART_CHARS) }
      : null,
    files: filesOf(late, step),
    checkpoint: factsOfType(late, 'checkpoint.written').some(({ body }) => body.step === step),
  }
}

type FactOf<T extends FactType> = Omit<StoredFact, 'body'> & { readonly body: BodyOf<T> }

function factsOfType<T extends FactType>(facts: readonly StoredFact[], type: T): FactOf<T>[] {
  return facts.filter((fact): fact is StoredFact & { readonly body: BodyOf<T> } => fact.body.type === type)
}

function filesOf(late: readonly StoredFact[], step: number): StepDetailView['files'] {
  const records = factsOfType(late, 'files.recorded').map(({ body }) => body)
  const record = records.find((one) => one.step === step)
  const last = records.findLast((one) => one.step < step)
  return record ? { commit: record.commit, changed: last !== undefined && last.commit !== record.commit } : null
}

function reasoningOf(facts: readonly StoredFact[], step: number): string | null {
  const finished = factsOfType(facts, 'model.finished').find(({ body }) => body.step === step)
  const text = (finished?.body.message ?? []).flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('\n\n')
  return text === '' ? null : text
}

/**
 * Returns the time to the first piece of the answer in ms, from the driver or from the gateway. Null if it is unknown, or if several calls
 * at the gateway may be that of the step: subagents have calls, too.
 */
function firstTokenOf(facts: readonly StoredFact[], step: number): number | null {
  const finished = factsOfType(facts, 'model.finished').find(({ body }) => body.step === step)?.body
  if (!finished) return null
  if (finished.firstTokenMs !== undefined) return finished.firstTokenMs
  const calls = new GatewayCalls()
  const times = facts
    .flatMap(({ body }) => calls.apply(body))
    .flatMap((call) => (call.step === step && call.firstTokenMs !== undefined ? [call.firstTokenMs] : []))
  return times.length === 1 ? (times[0] ?? null) : null
}

function toolOf(tool: StepView['tools'][number], facts: readonly StoredFact[]): StepToolView {
  const started = factsOfType(facts, 'tool.started').find(({ body }) => body.callId === tool.callId)
  const finished = factsOfType(facts, 'tool.finished').find(({ body }) => body.callId === tool.callId)?.body
  const { input, result } = tool
  const isInputLarge = inputText(input).length > MAX_PART_CHARS
  const isResultLarge = result !== null && result.length > MAX_PART_CHARS
  return {
    ...tool,
    input: isInputLarge ? null : input,
    effect: started?.body.effect ?? null,
    startedAt: isoOrNull(started?.at ?? null),
    result: result === null ? null : truncate(result, MAX_PART_CHARS),
    truncated: [...(isInputLarge ? (['input'] as const) : []), ...(isResultLarge ? (['result'] as const) : [])],
    images: (finished?.images ?? []).map(({ mediaType, data }) => ({ mediaType, bytes: Buffer.byteLength(data, 'base64') })),
  }
}

function inputText(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
}

function attemptsOf(facts: readonly StoredFact[], step: number): StepAttemptView[] {
  const started = factsOfType(facts, 'model.started').filter(({ body }) => body.step === step)
  const failed = factsOfType(facts, 'model.failed').filter(({ body }) => body.step === step)
  return started.map(({ at, seq, body: { model } }, index) => {
    const next = started[index + 1]?.seq ?? Infinity
    const failure = failed.find((fact) => fact.seq > seq && fact.seq < next)?.body
    const { error = null, status = null, retryInMs = null } = failure ?? {}
    return { at: isoTime(at), model, error, status, retryInMs }
  })
}

function messagesOf(before: readonly StoredFact[], messages: StepFacts['messages']): StepDetailView['messages'] {
  return before.flatMap(({ body, at }) => {
    if (body.type !== 'process.incoming' && body.type !== 'message.taken') return []
    const queued = messages.get(body.id)?.body
    const text = queued?.type === 'process.queue' ? queued.text : ''
    const from = queued?.type === 'process.queue' ? queued.from : body.type === 'process.incoming' ? body.from : 'system'
    return [{ id: body.id, from, text: truncate(text, MAX_MESSAGE_CHARS), at: isoTime(at), truncated: text.length > MAX_MESSAGE_CHARS }]
  })
}

function asksOf(facts: readonly StoredFact[]): StepDetailView['asks'] {
  return factsOfType(facts, 'process.waiting').map(({ at, seq, body: { question, ask } }) => {
    const id = ask?.id ?? ''
    const isAfter = (fact: { readonly seq: number; readonly body: { readonly id: string } }): boolean =>
      fact.seq > seq && fact.body.id === id
    const takenBack = factsOfType(facts, 'process.unanswered').findLast(isAfter)?.seq ?? seq
    const answered = factsOfType(facts, 'process.answered').find((fact) => isAfter(fact) && fact.seq > takenBack)
    return {
      id,
      text: truncate(ask?.text ?? question, MAX_PART_CHARS),
      at: isoTime(at),
      answeredAt: isoOrNull(answered?.at ?? null),
      by: answered?.body.by ?? null,
      answer: answered?.body.option ?? answered?.body.text ?? null,
      withdrawn: !answered && factsOfType(facts, 'process.unasked').some(isAfter),
    }
  })
}

function holdsOf(facts: readonly StoredFact[]): StepDetailView['holds'] {
  return factsOfType(facts, 'process.held').map(({ at, seq, body: { hold } }) => {
    const released = factsOfType(facts, 'process.released').find(
      (fact) =>
        fact.seq > seq && fact.body.holds.some(({ reason, by, root }) => reason === hold.reason && by === hold.by && root === hold.root),
    )
    return {
      reason: hold.reason,
      by: hold.by,
      at: isoTime(at),
      releasedAt: isoOrNull(released?.at ?? null),
      releasedBy: released?.body.by ?? null,
    }
  })
}

/** Returns a part of a tool call as text, and its media type; null if the call has no such part. */
export function partOf(
  facts: readonly StoredFact[],
  callId: string,
  part: string,
): { readonly text: string; readonly mediaType: string } | null {
  const finished = factsOfType(facts, 'tool.finished').find(({ body }) => body.callId === callId)?.body
  if (part === 'result') return finished ? { text: resultText(finished), mediaType: 'text/plain' } : null
  if (part === 'input') {
    const call = factsOfType(facts, 'model.finished')
      .flatMap(({ body }) => body.message)
      .find((one) => one.type === 'tool-call' && one.callId === callId)
    if (call?.type !== 'tool-call') return null
    return { text: inputText(call.input), mediaType: typeof call.input === 'string' ? 'text/plain' : 'application/json' }
  }
  const image = finished?.images?.[Number(part.slice('image:'.length))]
  return image ? { text: image.data, mediaType: image.mediaType } : null
}
