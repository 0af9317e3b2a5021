// Names of crews and of runs. They must be valid names of a process. The name of a crew with a branch must also be valid in a branch of
// git.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

test('an invalid name of a crew or run is refused before anything starts; so is a crew name that git does not allow in a branch', async () => {
  execFileSync('git', ['init', '-q', daemon.work])
  execFileSync('git', [
    '-C',
    daemon.work,
    '-c',
    'user.name=P',
    '-c',
    'user.email=p@example.org',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'begin',
  ])
  writeFileSync(join(daemon.work, 'script.yaml'), '- text: never asked\n')
  writeFileSync(join(daemon.work, 'reeve.yaml'), 'agents: { a: { command: [sleep, "600"] } }\n')
  for (const name of ['../x', 'a b', '-x', '123']) {
    expect(await reeve('crew', 'up', '--stay', '--workers', '1', '--model', 'script:script.yaml', `--name=${name}`)).toMatchObject({
      code: 125,
      stderr: expect.stringContaining(`"${name}" is not a valid name`) as string,
    })
    expect(await reeve('compose', 'up', `--name=${name}`)).toMatchObject({ code: 125, stderr: expect.stringContaining('name') as string })
  }
  for (const name of ['a..b', 'x.lock', 'x.']) {
    expect(await reeve('crew', 'up', '--stay', '--workers', '1', '--model', 'script:script.yaml', `--name=${name}`)).toMatchObject({
      code: 125,
      stderr: expect.stringContaining(`git does not allow a branch named reeve/${name}`) as string,
    })
  }
  expect((await reeve('ps', '-a', '-q')).stdout).toBe('')
})
