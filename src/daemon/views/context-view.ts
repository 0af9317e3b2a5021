// Shows what the model of a process sees now: the messages of its context with their sizes. Also shows which of them a compaction would
// keep. For an agent that keeps its own context, only the size is known. Test: test/e2e/models/context-view.test.ts.
import { assistantText } from '../../kernel/state/assistant-text.ts'
import { messageBytes, SUMMARY_HEADING } from '../../drivers/native/context/context.ts'
import { chooseKeptPart, compactionLimits } from '../../drivers/native/context/kept-part.ts'
import { loadContext } from '../../drivers/native/context/load-context.ts'
import { systemPromptOf } from '../../drivers/native/system-prompt.ts'
import { contextSizeOf } from '../rows/row.ts'
import { cutTexts } from '../http/events/event-filter.ts'
import type { ContextBlockView, ContextView } from '../../api/views/context.ts'
import type { Context, ContextMessage } from '../../drivers/native/context/context.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'

/** The greatest number of blocks: the newest ones. */
const MAX_BLOCKS = 2_000
/** Facts per page, which is read in one slice. */
const PAGE_FACTS = 50

export interface ContextDeps {
  readonly store: Pick<Store, 'filteredFacts'>
  readonly slices: SliceQueue
}

/** Returns the context of a process. `hasTexts`: with the beginning of each text. */
export async function contextView({ store, slices }: ContextDeps, process: Process, hasTexts: boolean): Promise<ContextView> {
  const { uuid, pid, spec, usage, context: state } = process
  const size = contextSizeOf(process)
  const head = {
    version: 1 as const,
    uuid,
    pid,
    name: spec.name,
    tokens: usage.contextTokens,
    window: state?.window ?? null,
    compactsAt: size?.compactsAt ?? null,
    compactedStep: state?.compactedStep ?? null,
  }
  if (spec.driver !== 'native') return { ...head, known: 'tokens', blocks: [], more: 0 }
  const stepOfFact = new Map<number, number>()
  const { context, seq } = await loadContext(async (afterSeq, limit, filter) => {
    await slices.next()
    const page = await store.filteredFacts(uuid, afterSeq, Math.min(limit, PAGE_FACTS), filter)
    for (const fact of page) if ('body' in fact && fact.body.type === 'model.finished') stepOfFact.set(fact.seq, fact.body.step)
    return page
  }, state?.ranges ?? null)
  const system = systemPromptOf(spec)
  const overheadBytes = Buffer.byteLength(system ?? '')
  const perByte = context.tokensPerByte(overheadBytes)
  const isKept = keptMessages(context, { window: head.window, overheadBytes, seq })
  const blockOf = (message: ContextMessage, index: number): ContextBlockView => {
    const steps = (context.origins[index]?.facts ?? []).flatMap((fact) => stepOfFact.get(fact) ?? [])
    return {
      kind: kindOf(message),
      fromStep: steps[0] ?? null,
      tokens: Math.ceil(messageBytes(message) * perByte),
      isKept: isKept(index),
      text: hasTexts ? (cutTexts(textOf(message)) as string) : null,
    }
  }
  const blocks = [
    ...(system === null ? [] : [systemBlock(system, Math.ceil(overheadBytes * perByte), hasTexts)]),
    ...context.messages.map(blockOf),
  ]
  return { ...head, known: 'messages', blocks: blocks.slice(-MAX_BLOCKS), more: Math.max(0, blocks.length - MAX_BLOCKS) }
}

function systemBlock(system: string, tokens: number, hasTexts: boolean): ContextBlockView {
  return { kind: 'system', fromStep: null, tokens, isKept: true, text: hasTexts ? (cutTexts(system) as string) : null }
}

/** Returns whether a compaction now would keep the message at an index. If it could remove nothing, all are kept. */
function keptMessages(context: Context, options: Parameters<typeof compactionLimits>[1]): (index: number) => boolean {
  const part = chooseKeptPart(context, compactionLimits(context, options))
  if (part === null) return () => true
  return (index) => {
    const facts = context.origins[index]?.facts ?? []
    return facts.length > 0 && facts.every((fact) => part.ranges.some(([first, last]) => first <= fact && fact <= last))
  }
}

function kindOf(message: ContextMessage): ContextBlockView['kind'] {
  if (message.role === 'user') return message.text.startsWith(SUMMARY_HEADING) ? 'summary' : 'message'
  return message.role === 'assistant' ? 'answer' : 'results'
}

function textOf(message: ContextMessage): string {
  switch (message.role) {
    case 'user':
      return message.text
    case 'assistant': {
      const calls = message.parts.flatMap((part) => (part.type === 'tool-call' ? [`${part.name} ${JSON.stringify(part.input)}`] : []))
      return [assistantText(message.parts), ...calls].filter((text) => text !== '').join('\n')
    }
    case 'tool':
      return message.results.map(({ name, outcome, content }) => `${name} ${outcome}: ${content}`).join('\n')
  }
}
