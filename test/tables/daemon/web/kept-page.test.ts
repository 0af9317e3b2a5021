// The page that is kept for the next daemon: its sessions, the time since it was written by two clocks, and the files that are refused.
import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KeptPageFile, type KeptPage } from '../../../../src/daemon/web/kept-page.ts'
import type { Grant } from '../../../../src/daemon/web/pass.ts'
import { IDLE_MS, Sessions } from '../../../../src/daemon/web/sessions.ts'
import { ManualClock } from '../../../support/clock.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

const HOUR_MS = 3_600_000
const GRANT: Grant = { right: 'steer', only: null, redact: false, ttlMs: null, label: 'phone', way: 'loopback', remembered: false }
const CLOSED: KeptPage = { port: 7338, proxyHosts: [], tls: null, sessions: [] }
const VISITOR = { address: '127.0.0.1', userAgent: 'test' }

let dir: TempDir
let path: string
let clock: ManualClock
let file: KeptPageFile

beforeEach(async () => {
  dir = await tempDir()
  path = join(dir.path, 'web.json')
  clock = new ManualClock()
  file = new KeptPageFile(path, clock)
})
afterEach(() => dir[Symbol.asyncDispose]())

function pageWith(sessions: Sessions): KeptPage {
  return { ...CLOSED, sessions: sessions.kept }
}

describe('a session', () => {
  test('is kept while an answer to it is open, without its token; the same token finds it afterwards', async () => {
    let changes = 0
    const before = new Sessions(clock, () => (changes += 1))
    const [open, other] = [before.create(GRANT, VISITOR), before.create(GRANT, VISITOR)]
    changes = 0
    const release = before.holdOpen(open.session.id, () => undefined)
    expect(changes).toBe(1)
    await file.write(pageWith(before))
    release()
    expect(changes).toBe(2)
    expect(before.kept).toEqual([])
    const text = await readFile(path, 'utf8')
    expect(text).not.toContain(open.token)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const after = new Sessions(clock)
    const found = await file.read()
    if (found === null || typeof found === 'string') throw new Error(`nothing was kept: ${found}`)
    after.takeUp(found.kept.sessions, found.elapsedMs)
    expect(after.find(open.token, 'loopback')).toMatchObject({
      id: open.session.id,
      right: 'steer',
      label: 'phone',
      createdAt: open.session.createdAt,
    })
    expect(after.find(other.token, 'loopback')).toBeNull()
  })

  test.each<[string, number | null, number, boolean]>([
    ['without a time of its own, just before it is idle for too long', null, IDLE_MS - 1, true],
    ['without a time of its own, idle for too long', null, IDLE_MS, false],
    ['of two hours, an hour later', 2 * HOUR_MS, HOUR_MS, true],
    ['of two hours, two hours later', 2 * HOUR_MS, 2 * HOUR_MS, false],
  ])('%s (%s ms): after %s ms it is found: %s', (_, ttlMs, elapsedMs, isThere) => {
    const before = new Sessions(clock)
    const { token, session } = before.create({ ...GRANT, ttlMs }, VISITOR)
    before.holdOpen(session.id, () => undefined)
    const after = new Sessions(clock)
    after.takeUp(before.kept, elapsedMs)
    expect(after.find(token, 'loopback') !== null).toBe(isThere)
  })
})

describe('the time since the page was written', () => {
  test.each<[string, (clock: ManualClock) => void, number | string]>([
    ['is the time by both clocks', (now) => now.wind(HOUR_MS), HOUR_MS],
    ['counts sleep', (now) => now.sleep(HOUR_MS), HOUR_MS],
    ['is not shorter because the wall clock was set back', (now) => (now.wind(HOUR_MS), now.jump(-5 * HOUR_MS)), HOUR_MS],
    ['is longer if the wall clock was set forward', (now) => now.jump(5 * HOUR_MS), 5 * HOUR_MS],
  ])('%s', async (_, pass, expected) => {
    await file.write(CLOSED)
    pass(clock)
    expect(await file.read()).toMatchObject({ elapsedMs: expected })
  })

  test('is unknown if both clocks show an earlier time, as after a start of the machine with a wrong clock', async () => {
    clock.wind(HOUR_MS)
    await file.write(CLOSED)
    const early = new ManualClock()
    early.jump(-HOUR_MS)
    expect(await new KeptPageFile(path, early).read()).toContain('in the future')
  })
})

describe('a file', () => {
  test('that does not exist, or was removed, is read as null', async () => {
    expect(await file.read()).toBeNull()
    await file.write(CLOSED)
    await file.remove()
    expect(await file.read()).toBeNull()
  })

  test.each([
    ['is empty', ''],
    ['is cut', '{"version":1,"port":7338,'],
    ['has another version', '{"version":2,"port":7338,"wall":1,"uptime":1,"sessions":[]}'],
    ['has an impossible port', '{"version":1,"port":70000,"wall":1,"uptime":1,"sessions":[]}'],
    ['has more fields', '{"version":1,"port":7338,"wall":1,"uptime":1,"sessions":[],"hosts":["evil.test"]}'],
    ['has a session with a wrong right', '{"version":1,"port":7338,"wall":1,"uptime":1,"sessions":[{"right":"root"}]}'],
  ])('that %s is refused', async (_, text) => {
    await writeFile(path, text, { mode: 0o600 })
    expect(await file.read()).toContain('web.json has an unknown format')
  })

  test('that other users can read, or that is a link, is refused', async () => {
    await file.write(CLOSED)
    await chmod(path, 0o640)
    expect(await file.read()).toContain('not a file that only you can read')
    await chmod(path, 0o600)
    const link = join(dir.path, 'link.json')
    await symlink(path, link)
    expect(await new KeptPageFile(link, clock).read()).toContain('is a link')
  })
})
