// Schemas of an agent's answers and updates, which are validated once here and trusted afterwards. The ACP library validates an
// agent's requests but not its answers, and throws for each unknown update. The schemas are lenient: an optional field of a wrong
// type is dropped and is not an error. Tests: test/processes/acp.
import { z } from 'zod'
import { truncate } from '../../kernel/util/truncate.ts'

/** Maximum length of a name, title or id. */
const MAX_NAME_CHARS = 500

const name = z.string().transform((text) => truncate(text, MAX_NAME_CHARS))
const maybeName = name.nullish().catch(null)
const flag = z
  .unknown()
  .optional()
  .transform((value) => value !== undefined && value !== null && value !== false)
const tokens = z.number().nonnegative().catch(0)

function listOf<T extends z.ZodType>(item: T) {
  return z
    .array(z.unknown())
    .nullish()
    .catch(null)
    .transform((items) =>
      (items ?? []).flatMap((each): z.output<T>[] => {
        const read = item.safeParse(each)
        return read.success ? [read.data] : []
      }),
    )
}

const authMethod = z.object({ id: name, name, description: maybeName })

const initialized = z.object({
  protocolVersion: z.number(),
  agentInfo: z.object({ name, version: name }).nullish().catch(null),
  authMethods: listOf(authMethod),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().catch(false).default(false),
      mcpCapabilities: z
        .object({ http: z.boolean().catch(false).default(false) })
        .catch({ http: false })
        .default({ http: false }),
      sessionCapabilities: z.object({ resume: flag, close: flag, fork: flag, systemPrompt: flag }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
})

const choice = z.object({ value: name, name: name.catch('') })
const configOption = z.object({
  id: name,
  type: z.literal('select'),
  category: maybeName,
  currentValue: name,
  options: z.array(z.unknown()).transform((all) =>
    all.flatMap((one) => {
      const group = z.object({ options: listOf(choice) }).safeParse(one)
      if (group.success && group.data.options.length > 0) return group.data.options
      const single = choice.safeParse(one)
      return single.success ? [single.data] : []
    }),
  ),
})

const session = z.object({
  sessionId: name.optional().catch(undefined),
  modes: z
    .object({ currentModeId: name, availableModes: listOf(z.object({ id: name, name: name.catch('') })) })
    .nullish()
    .catch(null),
  /** sent by agents that are older than configuration options */
  models: z
    .object({ currentModelId: name, availableModels: listOf(z.object({ modelId: name, name: name.catch('') })) })
    .nullish()
    .catch(null),
  configOptions: listOf(configOption),
})

const usage = z.object({ inputTokens: tokens, outputTokens: tokens, cachedReadTokens: tokens, cachedWriteTokens: tokens })
/** Gemini CLI reports its tokens only here. */
const quota = z.object({ quota: z.object({ token_count: z.object({ input_tokens: tokens, output_tokens: tokens }) }) })

const prompted = z
  .object({
    stopReason: z.enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']).catch('end_turn'),
    usage: usage.nullish().catch(null),
    _meta: quota.nullish().catch(null),
  })
  .transform(({ stopReason, usage: reported, _meta: meta }) => {
    const count = meta?.quota.token_count
    return {
      stopReason,
      usage:
        reported ??
        (count ? { inputTokens: count.input_tokens, outputTokens: count.output_tokens, cachedReadTokens: 0, cachedWriteTokens: 0 } : null),
    }
  })

const printed = z.object({ data: z.string() }).nullish().catch(null)
const chunk = z.object({
  content: z.unknown(),
  messageId: name
    .nullish()
    .catch(null)
    .transform((id) => id ?? null),
})
const toolCall = z.object({
  toolCallId: name,
  title: maybeName,
  name: maybeName,
  kind: maybeName,
  status: z.enum(['pending', 'in_progress', 'completed', 'failed']).nullish().catch(null),
  content: z.array(z.unknown()).nullish().catch(null),
  locations: z
    .array(z.object({ path: z.string() }))
    .nullish()
    .catch(null),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: z
    .object({
      claudeCode: z.object({ toolName: maybeName }).nullish().catch(null),
      // New output of a terminal of the agent itself: an extension that Codex uses without negotiation.
      terminal_output: printed,
      terminal_output_delta: printed,
    })
    .nullish()
    .catch(null),
})

const update = z.discriminatedUnion('sessionUpdate', [
  chunk.extend({ sessionUpdate: z.literal('agent_message_chunk') }),
  chunk.extend({ sessionUpdate: z.literal('agent_thought_chunk') }),
  toolCall.extend({ sessionUpdate: z.literal('tool_call') }),
  toolCall.extend({ sessionUpdate: z.literal('tool_call_update') }),
  z.object({ sessionUpdate: z.literal('plan'), entries: listOf(z.object({ content: name, status: name.catch('pending') })) }),
  z.object({
    sessionUpdate: z.literal('usage_update'),
    used: tokens,
    size: tokens,
    cost: z.object({ amount: z.number().nonnegative(), currency: name }).nullish().catch(null),
  }),
  z.object({ sessionUpdate: z.literal('current_mode_update'), currentModeId: name }),
  z.object({ sessionUpdate: z.literal('config_option_update'), configOptions: listOf(configOption) }),
  z.object({ sessionUpdate: z.literal('notice'), title: name, severity: name.catch('info'), description: maybeName }),
  z.object({ sessionUpdate: z.literal('compaction_update'), status: name, error: maybeName }),
])

const notification = z.object({ sessionId: z.string(), update: z.unknown() })

export type InitializeResult = z.output<typeof initialized>
export type SessionInfo = z.output<typeof session>
export type PromptResult = z.output<typeof prompted>
export type Update = z.output<typeof update>
export type UpdateOf<T extends Update['sessionUpdate']> = Extract<Update, { sessionUpdate: T }>
export type ReportedCall = z.output<typeof toolCall>

/** Reads the answer to `initialize`. Errors: an `Error` with a message for the user if it is malformed. */
export function readInitializeResult(answer: unknown): InitializeResult {
  return read(initialized, answer, 'initialize')
}

/** Reads the answer to `method`, which opens a session or sets an option of one. Errors: as for `initialize`. */
export function readSession(answer: unknown, method: string): SessionInfo {
  return read(session, answer ?? {}, method)
}

export function readPromptResult(answer: unknown): PromptResult {
  return read(prompted, answer ?? {}, 'session/prompt')
}

/** Reads an update and its session id; null if it is malformed or unknown. */
export function readUpdate(params: unknown): { readonly sessionId: string; readonly update: Update } | null {
  const received = notification.safeParse(params)
  if (!received.success) return null
  const known = update.safeParse(received.data.update)
  return known.success ? { sessionId: received.data.sessionId, update: known.data } : null
}

/** Reads the tool call of a permission request; null if it is malformed. */
export function readCall(call: unknown): ReportedCall | null {
  const known = toolCall.safeParse(call)
  return known.success ? known.data : null
}

function read<T extends z.ZodType>(schema: T, answer: unknown, method: string): z.output<T> {
  const known = schema.safeParse(answer)
  if (!known.success) throw new Error(`its answer to ${method} is malformed: ${truncate(z.prettifyError(known.error), MAX_NAME_CHARS)}`)
  return known.data
}
