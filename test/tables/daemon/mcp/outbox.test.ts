// The outbox of `reeve mcp`: an unreadable directory is logged, because it may hold reports that were acknowledged.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deliverOutbox } from '../../../../src/daemon/mcp/outbox.ts'
import { tempDir } from '../../../support/tmp.ts'

type OutboxDeps = Parameters<typeof deliverOutbox>[0]

test.each([
  ['a missing outbox is not logged', 'none', []],
  ['an unreadable outbox is logged', 'x'.repeat(300), ['undelivered reports cannot be read']],
])('%s', async (_, name, logged) => {
  await using dir = await tempDir()
  const messages: string[] = []
  const { signal } = new AbortController()
  const store: OutboxDeps['store'] = { tail: () => Promise.resolve([]) }
  await deliverOutbox({
    dir: join(dir.path, name),
    host: {} as OutboxDeps['host'],
    store,
    signal,
    log: (message) => messages.push(message),
  })
  expect(messages).toEqual(logged)
})
