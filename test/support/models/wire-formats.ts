// The four wire formats of model providers, for tests of single model calls. Creates a model that calls a local server, makes a
// request, and returns the answer or the failure of the call.
import { resolveModel } from '../../../src/drivers/native/models/resolve-model.ts'
import type { ModelOptions, ProviderConfig } from '../../../src/drivers/native/models/resolve-model.ts'
import type { ContextMessage } from '../../../src/drivers/native/context/context.ts'
import { CallFailed } from '../../../src/drivers/native/models/model.ts'
import type { ModelAnswer, Model, ModelRequest, OfferedTool } from '../../../src/drivers/native/models/model.ts'

export interface WireFormat {
  readonly kind: ProviderConfig['kind']
  /** the name of the provider, which is built in */
  readonly provider: string
  /** the name of the model */
  readonly name: string
  /** the path of a model call, by which the model server chooses the format of its answer */
  readonly path: string
  /** the part of the path that belongs to the provider's base URL */
  readonly basePath: string
}

export const WIRE_FORMATS: readonly WireFormat[] = [
  { kind: 'anthropic', provider: 'anthropic', name: 'claude-sonnet-4-5', path: '/v1/messages', basePath: '' },
  { kind: 'openai', provider: 'openai', name: 'gpt-5', path: '/v1/responses', basePath: '/v1' },
  { kind: 'openai-compatible', provider: 'openai-chat', name: 'gpt-4o', path: '/v1/chat/completions', basePath: '/v1' },
  {
    kind: 'google',
    provider: 'google',
    name: 'gemini-2.5-pro',
    path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent',
    basePath: '/v1beta',
  },
]

export function createWireModel(
  format: WireFormat,
  url: string,
  options: Partial<ModelOptions> & { readonly name?: string } = {},
): Promise<Model> {
  const { name = format.name, ...rest } = options
  const providers = [{ name: format.provider, kind: format.kind, baseURL: `${url}${format.basePath}`, apiKeyEnv: 'KEY' }]
  return resolveModel(`${format.provider}/${name}`, {
    providers,
    maxOutputTokens: 16_384,
    idleMs: 20_000,
    cwd: '/',
    lookup: () => 'key-1',
    ...rest,
  })
}

export const OFFERED_TOOLS: readonly OfferedTool[] = [
  { name: 'read', description: 'reads a file', schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } },
  { name: 'ls', description: 'lists a folder', schema: { type: 'object', properties: {} } },
]

export interface CallInput {
  readonly messages?: readonly ContextMessage[]
  readonly text?: string
  readonly question?: string
  readonly system?: string | null
  readonly tools?: readonly OfferedTool[]
  readonly signal?: AbortSignal
  readonly maxOutputTokens?: number | null
}

export function requestOf({
  text = 'go',
  messages = [{ role: 'user', text }],
  question,
  system = 'be brief',
  tools = OFFERED_TOOLS,
  signal,
  maxOutputTokens = null,
}: CallInput = {}): ModelRequest {
  return {
    step: 1,
    attempt: 1,
    system,
    maxOutputTokens,
    offeredTools: () => tools,
    onText: () => undefined,
    onReasoning: () => undefined,
    signal: signal ?? new AbortController().signal,
    context: { messages, lastResult: '', estimateTokens: () => 7 },
    ...(question === undefined ? {} : { question }),
  }
}

export function callModel(model: Model, input: CallInput = {}): Promise<ModelAnswer> {
  return model.call(requestOf(input))
}

/** Returns the failure of a call; fails the test when the call succeeds. */
export async function failureOf(call: Promise<ModelAnswer>): Promise<CallFailed> {
  const outcome = await call.catch((error: unknown) => error)
  if (outcome instanceof CallFailed) return outcome
  throw new Error(`expected a failed call, got ${outcome instanceof Error ? outcome.stack : JSON.stringify(outcome)}`)
}
