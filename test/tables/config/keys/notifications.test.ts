// The key `notifications`: its values. Possible secrets in them are never shown.
import { describe, expect, test } from 'vitest'
import { originOf, notificationsRule, redactedNotifications } from '../../../../src/config/keys/notifications.ts'

const HOOK = { url: 'https://hooks.example/T0/secret', headers: { Authorization: 'Bearer ${HOOK_TOKEN}' } }

test('the path of the URL and the values of headers are not shown', () => {
  expect(redactedNotifications({ desktop: true, webhook: HOOK })).toEqual({
    desktop: true,
    webhook: { url: 'https://hooks.example', headers: ['Authorization'] },
  })
  expect(originOf('${HOOK_URL}/x?token=1')).toBe('${HOOK_URL}')
  expect(originOf('https://hooks.example/${HOOK_PATH}')).toBe('https://hooks.example')
})

test.each([{}, { desktop: true }, { webhook: HOOK, events: ['waiting', 'budget'] }, { webhook: { url: '${HOOK_URL}', events: [] } }])(
  'the value %j is accepted',
  (value) => {
    expect(notificationsRule.safeParse(value).success).toBe(true)
  },
)

describe('the key `notifications` refuses', () => {
  test.each([
    { webhook: { url: 'ftp://example' } },
    { webhook: { url: 'hooks.example/x' } },
    { webhook: {} },
    { events: ['everything'] },
    { desktop: 'yes' },
    { webhook: { url: 'https://a', headers: { 'A B': 'x' } } },
    { webhook: { url: 'https://a', headers: { A: 'x\r\nB: y' } } },
    { email: true },
  ])('%j', (value) => {
    expect(notificationsRule.safeParse(value).success).toBe(false)
  })
})
