// Times of an exported view in UTC: by key and form, at each depth. Texts of users stay as they are.
import { expect, test } from 'vitest'
import { withUtcTimes } from '../../../../src/daemon/archive/utc-times.ts'

const LOCAL = '2026-11-20T11:02:03.456+01:00'
const UTC = '2026-11-20T10:02:03.456Z'

test.each([
  [{ createdAt: LOCAL }, { createdAt: UTC }],
  [{ holds: [{ at: LOCAL, until: LOCAL, wake: true }] }, { holds: [{ at: UTC, until: UTC, wake: true }] }],
  [
    { liveness: { since: LOCAL }, snoozedUntil: LOCAL },
    { liveness: { since: UTC }, snoozedUntil: UTC },
  ],
  [
    { createdAt: null, pid: 5, note: LOCAL },
    { createdAt: null, pid: 5, note: LOCAL },
  ],
  [{ labels: { at: '5', since: 'June' } }, { labels: { at: '5', since: 'June' } }],
])('%j', (view, expected) => {
  expect(withUtcTimes(view)).toEqual(expected)
})
