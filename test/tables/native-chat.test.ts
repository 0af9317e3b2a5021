// What the hosts that copy OpenAI's chat completions take, and what is sent to each.
import { expect, test } from 'vitest'
import { adaptBody } from '../../src/drivers/native/openai-chat.ts'

const BODY = { model: 'x', max_tokens: 9, messages: [] }

type Row = readonly [what: string, host: string, body: object, expected: object]

const ROWS: readonly Row[] = [
  ['OpenAI knows the limit by another name, and a key for its cache', 'api.openai.com', {}, { model: 'x', messages: [], max_completion_tokens: 9, prompt_cache_key: 'uuid-1' }],
  ['OpenAI takes each effort', 'eu.api.openai.com', { reasoning_effort: 'minimal' }, { model: 'x', messages: [], max_completion_tokens: 9, prompt_cache_key: 'uuid-1', reasoning_effort: 'minimal' }],
  ['all others take the plain format', 'api.deepseek.com', {}, BODY],
  ['and three efforts', '127.0.0.1', { reasoning_effort: 'xhigh' }, { ...BODY, reasoning_effort: 'high' }],
  ['of which the middle one stays', '127.0.0.1', { reasoning_effort: 'medium' }, { ...BODY, reasoning_effort: 'medium' }],
  ['a name that looks like another host is no such host', 'notopenai.com', {}, BODY],
  ['OpenRouter takes more efforts', 'openrouter.ai', { reasoning_effort: 'max' }, { ...BODY, reasoning_effort: 'xhigh' }],
  ['OpenRouter caches for Claude where it is told to', 'openrouter.ai', { model: 'anthropic/claude-x' }, { ...BODY, model: 'anthropic/claude-x', cache_control: { type: 'ephemeral' } }],
  ['and by itself for others', 'openrouter.ai', { model: 'openai/gpt-x' }, { ...BODY, model: 'openai/gpt-x' }],
]

test.each(ROWS)('%s', (_, host, body, expected) => {
  expect(adaptBody({ ...BODY, ...body }, `https://${host}/v1`, 'uuid-1')).toEqual(expected)
})

test('without a process there is no key of a cache', () => {
  expect(adaptBody(BODY, 'https://api.openai.com/v1', null)).not.toHaveProperty('prompt_cache_key')
})
