// Which servers may keep a store, by their settings.
import { expect, test } from 'vitest'
import type { Durability } from '../../../../src/kernel/model/words.ts'
import { checkServer, type ServerFacts } from '../../../../src/store/postgres/server-check.ts'

const SOUND: ServerFacts = {
  version: 150_020,
  versionText: '15.20',
  encoding: 'UTF8',
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  standbyNames: 'standby',
  isStandby: false,
}

test.each<[string, Partial<ServerFacts>, Durability, string | null]>([
  ['a server with a synchronous standby', {}, 'replicated', null],
  ['a single server, as written down', { standbyNames: '' }, 'single', null],
  ['a single server', { standbyNames: '' }, 'replicated', 'STORE_UNSUITABLE'],
  ['an old version', { version: 140_011, versionText: '14.11' }, 'single', 'STORE_UNSUITABLE'],
  ['another encoding', { encoding: 'LATIN1' }, 'single', 'STORE_UNSUITABLE'],
  ['no fsync', { fsync: 'off' }, 'single', 'STORE_UNSUITABLE'],
  ['no full-page writes', { fullPageWrites: 'off' }, 'single', 'STORE_UNSUITABLE'],
  ['asynchronous commits', { synchronousCommit: 'off' }, 'single', 'STORE_UNSUITABLE'],
  ['local commits', { synchronousCommit: 'local' }, 'replicated', 'STORE_UNSUITABLE'],
  ['local commits on a single server', { synchronousCommit: 'local', standbyNames: '' }, 'single', null],
  ['a standby', { isStandby: true }, 'replicated', 'STORE_UNREACHABLE'],
])('%s', (_, facts, durability, code) => {
  const check = (): void => checkServer({ ...SOUND, ...facts }, durability)
  if (code === null) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code, hint: expect.stringMatching(/\w/) }))
})
