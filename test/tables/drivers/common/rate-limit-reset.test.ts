// The end of a rate limit, from providers' headers and agents' messages. A time that cannot be parsed is unknown.
import { describe, expect, test } from 'vitest'
import { findResetDelayMs, findResetTimeMs } from '../../../../src/drivers/common/rate-limit-reset.ts'

const NOW = new Date(2026, 6, 1, 12, 0, 0).getTime()
const HOUR = 3_600_000
const SECONDS = Math.floor(NOW / 1_000)
const isoTime = (ms: number): string => new Date(ms).toISOString()

describe('the end of a limit in headers', () => {
  test.each<readonly [string, Record<string, string>, number | null]>([
    [
      'Anthropic: only the exhausted limit counts',
      {
        'anthropic-ratelimit-requests-remaining': '12',
        'anthropic-ratelimit-requests-reset': isoTime(NOW + 9 * HOUR),
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': isoTime(NOW + 2 * HOUR),
      },
      2 * HOUR,
    ],
    [
      'Anthropic with a subscription',
      {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': String(SECONDS + 7_200),
        'anthropic-ratelimit-unified-7d-status': 'allowed',
        'anthropic-ratelimit-unified-7d-reset': String(SECONDS + 500_000),
      },
      2 * HOUR,
    ],
    [
      'OpenAI',
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '6m0s',
        'x-ratelimit-remaining-tokens': '10',
        'x-ratelimit-reset-tokens': '3h',
      },
      360_000,
    ],
    ['OpenAI, less than a second', { 'x-ratelimit-reset-tokens': '20ms' }, 20],
    ['ms since the epoch', { 'x-ratelimit-reset': String(NOW + HOUR) }, HOUR],
    ['seconds', { 'ratelimit-reset': '30' }, 30_000],
    ['a time that has passed', { 'x-ratelimit-reset': String(SECONDS - 5) }, 0],
    ['no header about a limit', { 'content-type': 'application/json', 'x-reset': '5' }, null],
    ['an unreadable time', { 'x-ratelimit-reset': 'soon' }, null],
    ['a year', { 'x-ratelimit-reset': String(SECONDS + 31_536_000) }, null],
  ])('%s', (_, headers, ms) => {
    expect(findResetDelayMs(headers, NOW)).toBe(ms)
  })
})

describe('the end of a limit in the message', () => {
  test.each<readonly [string, number | null]>([
    ['Claude AI usage limit reached|' + String(SECONDS + 3_600), NOW + HOUR],
    ["You've hit your limit · resets 2pm", NOW + 2 * HOUR],
    ["You've hit your session limit · resets 3:30pm", NOW + 3.5 * HOUR],
    ["You've hit your weekly limit · resets Jul 5 at 12pm", NOW + 96 * HOUR],
    ["You've hit your limit · resets 11am", NOW + 23 * HOUR],
    [
      "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11 minutes.",
      NOW + (5 * 24 + 22) * HOUR + 11 * 60_000,
    ],
    [
      "You've hit your usage limit. Upgrade to Plus to continue, or try again at Jul 5th, 2026 8:19 PM.",
      new Date(2026, 6, 5, 20, 19).getTime(),
    ],
    ["You've hit your usage limit. Try again at 14:05.", new Date(2026, 6, 1, 14, 5).getTime()],
    [
      '{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":' + String(SECONDS + 60) + '}}',
      NOW + 60_000,
    ],
    ['{"error":{"type":"usage_limit_reached","resets_in_seconds":600}}', NOW + 600_000],
    ['Rate limit reached for gpt-5: please try again in 1.5s', NOW + 1_500],
    // These texts have no time, or are about something else.
    ["You've hit your usage limit.", null],
    ['the tests of the rate limit reset 3 counters', null],
    ['try again in 5 minutes', null],
    ['usage limit: try again in a while', null],
    ["You've hit your usage limit. Try again at Jul 5th, 2025 8:19 PM.", null],
    ['usage limit reached|' + String(SECONDS + 400 * 86_400), null],
    ["You've hit your limit · resets 25:00", null],
  ])('%s', (text, expected) => {
    expect(findResetTimeMs(text, NOW)).toBe(expected)
  })
})

describe('the end of a limit with a time zone, in the message', () => {
  const SUMMER = Date.UTC(2026, 6, 1, 12)
  const AUTUMN = Date.UTC(2026, 9, 24, 12)
  test.each<readonly [string, number, number | null]>([
    ['resets 3pm (Europe/Berlin)', SUMMER, Date.UTC(2026, 6, 1, 13)],
    ['resets 1pm (Europe/Berlin)', SUMMER, Date.UTC(2026, 6, 2, 11)],
    ['resets 3:30pm (America/Los_Angeles)', SUMMER, Date.UTC(2026, 6, 1, 22, 30)],
    ['resets 2am (Asia/Tokyo)', SUMMER, Date.UTC(2026, 6, 1, 17)],
    ['resets 6pm (Asia/Kolkata)', SUMMER, Date.UTC(2026, 6, 1, 12, 30)],
    ['try again at 14:05 UTC.', SUMMER, Date.UTC(2026, 6, 1, 14, 5)],
    ['resets Oct 25 at 4am (Europe/Berlin)', AUTUMN, Date.UTC(2026, 9, 25, 3)],
    ['resets Oct 25 at 1am (Europe/Berlin)', AUTUMN, Date.UTC(2026, 9, 24, 23)],
    ['resets 3pm (Nowhere/City)', SUMMER, null],
    ['resets 3pm (Europe/Berlin', SUMMER, Date.UTC(2026, 6, 1, 13)],
  ])('%s', (text, nowMs, expected) => {
    expect(findResetTimeMs(`You've hit your limit · ${text}`, nowMs)).toBe(expected)
  })
})
