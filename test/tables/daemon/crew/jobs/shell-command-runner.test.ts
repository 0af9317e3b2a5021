// Recovery of an earlier daemon's commands: the command of each readable record is ended. A record that is unreadable, or whose command
// survives, is logged and kept.
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CrewShellCommandRunner, type CrewShellCommandRunnerDeps } from '../../../../../src/daemon/crew/jobs/shell-command-runner.ts'
import { ManualClock } from '../../../../support/clock.ts'
import { tempDir } from '../../../../support/tmp.ts'
import { uuidOf } from '../../../../support/store/facts.ts'

function createRunner(
  state: string,
  survivors: readonly number[] = [],
): {
  readonly commands: CrewShellCommandRunner
  readonly recovered: string[]
  readonly logged: string[]
} {
  const [recovered, logged]: [string[], string[]] = [[], []]
  const containments = {
    recover: (intent: { readonly marker: string }) => {
      recovered.push(intent.marker)
      return Promise.resolve({ survivors })
    },
  } as unknown as CrewShellCommandRunnerDeps['containments']
  const commands = new CrewShellCommandRunner({
    containments,
    state,
    tmpDir: state,
    newUuid: () => uuidOf(1),
    clock: new ManualClock(),
    log: (message) => logged.push(message),
  })
  return { commands, recovered, logged }
}

test('a record that cannot be read is kept and logged, and the other commands are ended', async () => {
  await using dir = await tempDir()
  const records = join(dir.path, 'commands')
  await mkdir(records)
  symlinkSync('loop', join(records, 'loop'))
  writeFileSync(join(records, 'begun'), JSON.stringify({ kind: 'group', path: null, marker: 'begun' }))
  writeFileSync(join(records, 'cut.draft'), '{"kind"')
  const { commands, recovered, logged } = createRunner(dir.path)
  await commands.recover()
  expect([recovered, readdirSync(records)]).toEqual([['begun'], ['loop']])
  expect(logged).toEqual([`${join(records, 'loop')} cannot be read: its command may still run`])
})

test('the record of a command that survives its kill stays for the next daemon', async () => {
  await using dir = await tempDir()
  const records = join(dir.path, 'commands')
  await mkdir(records)
  writeFileSync(join(records, 'begun'), JSON.stringify({ kind: 'group', path: null, marker: 'begun' }))
  const { commands, logged } = createRunner(dir.path, [41, 42])
  await commands.recover()
  expect([readdirSync(records), logged]).toEqual([['begun'], ['a command of a crew survived its kill: 41, 42']])
  const nextDaemon = createRunner(dir.path)
  await nextDaemon.commands.recover()
  expect([nextDaemon.recovered, readdirSync(records)]).toEqual([['begun'], []])
})

test('a missing folder of records is not logged; an unreadable one is', async () => {
  await using dir = await tempDir()
  const { commands, logged } = createRunner(dir.path)
  await commands.recover()
  expect(logged).toEqual([])
  symlinkSync('commands', join(dir.path, 'commands'))
  await commands.recover()
  expect(logged).toEqual([`${join(dir.path, 'commands')} cannot be read: commands of an earlier daemon may still run`])
})
