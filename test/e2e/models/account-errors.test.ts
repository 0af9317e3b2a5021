// Accounts that a provider refuses, in each of the four wire formats. The process and its crew are held, no attempt counts as failed, and
// another key lets them continue. The server answers as the documentation of each provider states.
import { describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { LocalCrew } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { testEnv } from '../../support/env.ts'
import { startModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'
import { WIRE_FORMATS, type WireFormat } from '../../support/models/wire-formats.ts'

type Refusal = readonly [status: number, type: string, message: string]
const refusal = ([status, type, message]: Refusal): ServedAnswer => ({ status, error: { type, message } })

/** The refusals of each provider, by the key with which the client calls. */
const REFUSALS: Readonly<Record<WireFormat['kind'], Readonly<Record<string, Refusal>>>> = {
  anthropic: {
    'wrong-key': [401, 'authentication_error', 'invalid x-api-key'],
    'no-payment': [402, 'billing_error', 'There is an issue with your billing'],
    'no-right': [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
    'no-credit': [400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'],
  },
  openai: {
    'wrong-key': [401, 'invalid_api_key', 'Incorrect API key provided: sk-x.'],
    'no-payment': [402, 'billing_hard_limit_reached', 'Billing hard limit has been reached'],
    'no-right': [403, 'unsupported_country_region_territory', 'Country, region, or territory not supported'],
    'no-credit': [429, 'insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'],
  },
  'openai-compatible': {
    'wrong-key': [401, 'invalid_api_key', 'Authentication Fails, Your api key is invalid'],
    'no-payment': [402, 'unknown_error', 'Insufficient Balance'],
    'no-right': [403, 'forbidden', 'This key has no access'],
    'no-credit': [429, 'insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'],
  },
  google: {
    'wrong-key': [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
    'no-payment': [402, 'FAILED_PRECONDITION', 'Billing is not enabled.'],
    'no-right': [403, 'PERMISSION_DENIED', 'Your API key does not have the required permissions.'],
    'no-credit': [
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: generate_content_free_tier_requests, limit: 0',
    ],
  },
}

const keyOf = ({ headers }: ServedRequest): string =>
  String(headers['x-api-key'] ?? headers['x-goog-api-key'] ?? String(headers['authorization']).replace('Bearer ', ''))

/** Answers with the refusal of the key, or accepts a key that has none. */
const answerOf =
  ({ kind }: WireFormat) =>
  (request: ServedRequest): ServedAnswer => {
    const found = REFUSALS[kind][keyOf(request)]
    return found === undefined ? { text: 'Done.' } : refusal(found)
  }

const configOf = ({ kind, provider, basePath }: WireFormat, url: string): string =>
  `providers: [{ name: ${provider}, kind: ${kind}, baseURL: "${url}${basePath}", apiKeyEnv: MODEL_API_KEY }]\n`

describe.each(WIRE_FORMATS)('$kind', (format) => {
  const model = `${format.provider}/${format.name}`

  test('a refused process is held without a repeated call, and continues with another key', async () => {
    await using server = await startModelServer(answerOf(format))
    await using daemon = await LocalDaemon.start({ config: configOf(format, server.url) })
    const env = (key: string): Record<string, string> => testEnv(daemon.work, { MODEL_API_KEY: key })
    const rows = Object.entries(REFUSALS[format.kind])
    const views = new Map<string, ProcessView>()
    for (const [key] of rows) {
      const { uuid } = await daemon.spawn({ model, intent: 'work', env: env(key) })
      views.set(key, await daemon.waitForStatus(uuid, 'suspended'))
    }
    expect([...views].map(([key, { holds, note }]) => [key, holds.map(({ reason }) => reason), note])).toEqual(
      rows.map(([key, [status, , message]]) => [
        key,
        ['credentials'],
        expect.stringContaining(`MODEL_API_KEY was refused: ${format.provider}: ${status} ${message.slice(0, 40)}`),
      ]),
    )
    expect(server.requests.map(keyOf)).toEqual(rows.map(([key]) => key))
    for (const { uuid } of views.values()) {
      await daemon.resume(uuid, { env: env('right-key') })
      expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'Done.' })
    }
  })

  test('a crew without credit is held, and no task has a failed attempt', async () => {
    await using server = await startModelServer(answerOf(format))
    await using daemon = await LocalDaemon.start({ config: configOf(format, server.url) })
    const env = (key: string): Record<string, string> => testEnv(daemon.work, { MODEL_API_KEY: key })
    const crew = await LocalCrew.up(daemon, { env: env('no-credit'), model, workers: 2, reviews: false, stay: true })
    await crew.steer({ type: 'add_task', id: 'one', text: 'Do one.' })
    const { note } = await daemon.waitForStatus(crew.uuid, 'suspended')
    expect(note).toMatch(/^paused: credentials \(worker-\d: MODEL_API_KEY was refused: /)
    expect((await crew.view()).tasks.map(({ attempts, state }) => [attempts, state === 'failed'])).toEqual([[0, false]])
    await daemon.resume(crew.uuid, { subtree: true, env: env('right-key') })
    await crew.waitUntil(({ tasks }) => tasks.some(({ state }) => state !== 'queued' && state !== 'implementing'))
    expect((await crew.view()).members.filter(({ status }) => status === 'suspended')).toEqual([])
  })
})
