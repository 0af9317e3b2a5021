// What is read of an agent's messages: its answers and its updates, checked once here, trusted inside. The library checks
// what an agent asks for, but not what it answers; and of updates it throws for each that it does not know.
// Lenient: what is missing or of another kind is left out, never an error. Tests: test/processes/acp*.test.ts.
import { z } from 'zod'

/** Longest text that is taken as a name, a title or an id. */
const MAX_NAME_CHARS = 500

const name = z.string().transform((text) => text.slice(0, MAX_NAME_CHARS))
const maybeName = name.nullish().catch(null)
const flag = z.unknown().optional().transform((value) => value !== undefined && value !== null && value !== false)
const tokens = z.number().nonnegative().catch(0)

function listOf<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).nullish().catch(null).transform((items) => (items ?? []).flatMap((each): z.output<T>[] => {
    const read = item.safeParse(each)
    return read.success ? [read.data] : []
  }))
}

const authMethod = z.object({ id: name, name, description: maybeName })

const initialized = z.object({
  protocolVersion: z.number(),
  agentInfo: z.object({ name, version: name }).nullish().catch(null),
  authMethods: listOf(authMethod),
  agentCapabilities: z.object({
    loadSession: z.boolean().catch(false).default(false),
    mcpCapabilities: z.object({ http: z.boolean().catch(false).default(false) }).catch({ http: false }).default({ http: false }),
    sessionCapabilities: z.object({ resume: flag, close: flag, fork: flag, systemPrompt: flag }).nullish().catch(null),
  }).nullish().catch(null),
})

const choice = z.object({ value: name, name: name.catch('') })
const configOption = z.object({
  id: name,
  type: z.literal('select'),
  category: maybeName,
  currentValue: name,
  options: z.array(z.unknown()).transform((all) => all.flatMap((one) => {
    const group = z.object({ options: listOf(choice) }).safeParse(one)
    if (group.success && group.data.options.length > 0) return group.data.options
    const single = choice.safeParse(one)
    return single.success ? [single.data] : []
  })),
})

const session = z.object({
  sessionId: name.optional().catch(undefined),
  modes: z.object({ currentModeId: name, availableModes: listOf(z.object({ id: name, name: name.catch('') })) }).nullish().catch(null),
  /** of agents from before configuration options */
  models: z.object({ currentModelId: name, availableModels: listOf(z.object({ modelId: name, name: name.catch('') })) }).nullish().catch(null),
  configOptions: listOf(configOption),
})

const usage = z.object({ inputTokens: tokens, outputTokens: tokens, cachedReadTokens: tokens, cachedWriteTokens: tokens })
/** Gemini CLI tells its tokens here alone. */
const quota = z.object({ quota: z.object({ token_count: z.object({ input_tokens: tokens, output_tokens: tokens }) }) })

const prompted = z.object({
  stopReason: z.enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']).catch('end_turn'),
  usage: usage.nullish().catch(null),
  _meta: quota.nullish().catch(null),
}).transform(({ stopReason, usage: told, _meta: meta }) => {
  const count = meta?.quota.token_count
  return { stopReason, usage: told ?? (count ? { inputTokens: count.input_tokens, outputTokens: count.output_tokens, cachedReadTokens: 0, cachedWriteTokens: 0 } : null) }
})

const printed = z.object({ data: z.string() }).nullish().catch(null)
const chunk = z.object({ content: z.unknown(), messageId: name.nullish().catch(null).transform((id) => id ?? null) })
const toolCall = z.object({
  toolCallId: name,
  title: maybeName,
  name: maybeName,
  kind: maybeName,
  status: z.enum(['pending', 'in_progress', 'completed', 'failed']).nullish().catch(null),
  content: z.array(z.unknown()).nullish().catch(null),
  locations: z.array(z.object({ path: z.string() })).nullish().catch(null),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: z.object({
    claudeCode: z.object({ toolName: maybeName }).nullish().catch(null),
    // What a terminal of the agent's own printed since the last time: an extension that Codex uses unasked.
    terminal_output: printed,
    terminal_output_delta: printed,
  }).nullish().catch(null),
})

const update = z.discriminatedUnion('sessionUpdate', [
  chunk.extend({ sessionUpdate: z.literal('agent_message_chunk') }),
  chunk.extend({ sessionUpdate: z.literal('agent_thought_chunk') }),
  toolCall.extend({ sessionUpdate: z.literal('tool_call') }),
  toolCall.extend({ sessionUpdate: z.literal('tool_call_update') }),
  z.object({ sessionUpdate: z.literal('plan'), entries: listOf(z.object({ content: name, status: name.catch('pending') })) }),
  z.object({ sessionUpdate: z.literal('usage_update'), used: tokens, size: tokens, cost: z.object({ amount: z.number().nonnegative(), currency: name }).nullish().catch(null) }),
  z.object({ sessionUpdate: z.literal('current_mode_update'), currentModeId: name }),
  z.object({ sessionUpdate: z.literal('config_option_update'), configOptions: listOf(configOption) }),
  z.object({ sessionUpdate: z.literal('notice'), title: name, severity: name.catch('info'), description: maybeName }),
  z.object({ sessionUpdate: z.literal('compaction_update'), status: name, error: maybeName }),
])

const notification = z.object({ sessionId: z.string(), update: z.unknown() })

export type Initialized = z.output<typeof initialized>
export type SessionInfo = z.output<typeof session>
export type Prompted = z.output<typeof prompted>
export type Update = z.output<typeof update>
export type UpdateOf<T extends Update['sessionUpdate']> = Extract<Update, { sessionUpdate: T }>
export type SeenCall = z.output<typeof toolCall>

/** Errors: in words, for an answer that is none. */
export function readInitialized(answer: unknown): Initialized {
  return read(initialized, answer, 'initialize')
}

export function readSession(answer: unknown): SessionInfo {
  return read(session, answer ?? {}, 'session/new')
}

export function readPrompted(answer: unknown): Prompted {
  return read(prompted, answer ?? {}, 'session/prompt')
}

/** The session that is meant and what changed in it; null for what is not understood. */
export function readUpdate(params: unknown): { readonly sessionId: string; readonly update: Update } | null {
  const told = notification.safeParse(params)
  if (!told.success) return null
  const known = update.safeParse(told.data.update)
  return known.success ? { sessionId: told.data.sessionId, update: known.data } : null
}

/** A tool call as a request for permission has it. */
export function readCall(call: unknown): SeenCall | null {
  const known = toolCall.safeParse(call)
  return known.success ? known.data : null
}

function read<T extends z.ZodType>(schema: T, answer: unknown, method: string): z.output<T> {
  const known = schema.safeParse(answer)
  if (!known.success) throw new Error(`its answer to ${method} makes no sense: ${z.prettifyError(known.error).slice(0, MAX_NAME_CHARS)}`)
  return known.data
}
