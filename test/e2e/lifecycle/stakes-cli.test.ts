// `kill` and `stop` as a user runs them. A dry run changes nothing, and the line after an end says what was interrupted and kept.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { bashCall } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { StakesView } from '../../../src/api/views/stakes.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const cli = (...args: readonly string[]): Promise<CliResult> => runCli(daemon.home, args)

async function startInTool(name: string): Promise<string> {
  const { uuid } = await daemon.spawnScripted([bashCall('true'), bashCall('sleep 600'), { text: 'end' }], { name })
  await daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'tool.started' && step === 2)
  return uuid
}

test('a dry run shows what a kill would interrupt and keep, and ends nothing; the kill says the same', async () => {
  const uuid = await startInTool('fix')
  const dry = await cli('kill', '--dry-run', 'fix')
  expect(dry.code).toBe(0)
  expect(dry.stdout).toMatch(
    /^PID \d+ \(fix\) would end\n {2}in flight {2}bash sleep 600, for \d+s: interrupted; it may or may not have happened\n {2}kept {7}1 step, `reeve resume \d+` continues\n$/,
  )
  expect(dry.stderr).toBe('')
  const json = JSON.parse((await cli('stop', '--dry-run', '--json', 'fix')).stdout) as { results: { stakes: StakesView }[] }
  expect(json.results[0]?.stakes).toMatchObject({ uuid, action: 'stop', kept: { step: 1 } })
  expect((await daemon.view(uuid)).status).toBe('working')
  const killed = await cli('kill', '-s', '9', 'fix')
  expect([killed.code, killed.stdout]).toEqual([0, ''])
  expect(killed.stderr).toMatch(/\n {2}interrupted: bash sleep 600, for \d+s; kept: 1 step, `reeve resume \d+` continues\n$/)
  const again = await cli('kill', '--dry-run', 'fix')
  expect([again.code, again.stdout]).toEqual([1, expect.stringMatching(/\(fix\): refused, because process \d+ has ended\n$/)])
})

test('the JSON of a stop has the stakes, a stop of a plain command prints none, and SIGINT has no dry run', async () => {
  await startInTool('one')
  const { stdout, stderr } = await cli('stop', '--json', 'one')
  expect(JSON.parse(stdout)).toMatchObject({ results: [{ affected: 1, stakes: { kept: { step: 1, resumable: true } } }] })
  expect(stderr).toBe('')
  const command = await daemon.spawnShell('sleep 600', { name: 'plain' })
  await daemon.waitForStatus(command.uuid, 'working')
  expect((await cli('stop', 'plain')).stderr).toMatch(/^PID \d+ \(plain\) stopped: SIGTERM from user \(exit 143\)\n$/)
  expect((await cli('kill', '--dry-run', '-s', 'INT', 'plain')).code).toBe(64)
})
