// Servers with the format of OpenAI's chat completions differ in their fields: each of them gets its form of a request.
import { expect, test } from 'vitest'
import { adaptBody } from '../../../../../src/drivers/native/models/openai-chat.ts'

const BODY = { model: 'x', max_tokens: 9, messages: [] }

type Row = readonly [name: string, host: string, body: object, expected: object]

const ROWS: readonly Row[] = [
  [
    'OpenAI gets another name of the limit, and a cache key',
    'api.openai.com',
    {},
    { model: 'x', messages: [], max_completion_tokens: 9, prompt_cache_key: 'uuid-1' },
  ],
  [
    'OpenAI gets each effort',
    'eu.api.openai.com',
    { reasoning_effort: 'minimal' },
    { model: 'x', messages: [], max_completion_tokens: 9, prompt_cache_key: 'uuid-1', reasoning_effort: 'minimal' },
  ],
  ['other hosts get the plain format', 'api.deepseek.com', {}, BODY],
  ['other hosts get only three efforts', '127.0.0.1', { reasoning_effort: 'xhigh' }, { ...BODY, reasoning_effort: 'high' }],
  ['a medium effort stays', '127.0.0.1', { reasoning_effort: 'medium' }, { ...BODY, reasoning_effort: 'medium' }],
  ['a host with a similar name is another host', 'notopenai.com', {}, BODY],
  ['OpenRouter gets more efforts', 'openrouter.ai', { reasoning_effort: 'max' }, { ...BODY, reasoning_effort: 'xhigh' }],
  [
    'OpenRouter gets a cache mark for Claude',
    'openrouter.ai',
    { model: 'anthropic/claude-x' },
    { ...BODY, model: 'anthropic/claude-x', cache_control: { type: 'ephemeral' } },
  ],
  ['OpenRouter gets no cache mark for other models', 'openrouter.ai', { model: 'openai/gpt-x' }, { ...BODY, model: 'openai/gpt-x' }],
]

test.each(ROWS)('%s', (_, host, body, expected) => {
  expect(adaptBody({ ...BODY, ...body }, `https://${host}/v1`, 'uuid-1')).toEqual(expected)
})

test('without a process there is no cache key', () => {
  expect(adaptBody(BODY, 'https://api.openai.com/v1', null)).not.toHaveProperty('prompt_cache_key')
})
