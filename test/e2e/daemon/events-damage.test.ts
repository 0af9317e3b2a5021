// A damaged fact in the middle of a history. `reeve events` names the place of the damage, as every other reader does.
import { expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { changeStoreFile } from '../../support/store/test-store.ts'

test('`reeve events` prints the events before the damaged fact, and names its place', async () => {
  await using daemon = await LocalDaemon.start()
  const items = Array.from({ length: 200 }, (_, step) => ({ tools: [{ name: 'glob', input: { pattern: `${step}*` } }] }))
  const { uuid } = await daemon.waitForEnd((await daemon.spawnScripted([...items, { text: 'done' }])).uuid)
  await daemon.stop()
  changeStoreFile(daemon.paths.state, (db) => db.exec('UPDATE journal SET at = at + 1 WHERE seq = 700'))
  await daemon.start()
  for (const args of [['events'], ['events', '--after', '0', uuid]]) {
    const { code, stdout, stderr } = await runCli(daemon.home, args)
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(new RegExp(`journal process ${uuid} seq 700 cursor \\d+: the row is damaged`)),
    ])
    expect(stderr).not.toContain('cannot be reached')
    expect(stdout.split('\n').length).toBeGreaterThan(100)
  }
})
