// Labels in a real daemon: given at the start or in an agent file, changed later, used as a filter, and kept by resumes and forks.
import { mkdirSync, writeFileSync } from 'node:fs'
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
const labelsOf = async (ref: string): Promise<unknown> => (await daemon.view(ref)).labels

test('ps finds processes by their labels, also after a change and their end', async () => {
  await reeve('run', '-d', '--name', 'one', '--label', 'team=web', '--label', 'note=a, b', '--', 'sleep', '600')
  await reeve('run', '-d', '--name', 'two', '--label', 'team=docs', '--', 'sleep', '600')
  await reeve('run', '-d', '--name', 'three', '--', 'sleep', '600')
  const found = async (...filter: string[]): Promise<unknown> =>
    (JSON.parse((await reeve('ps', '-a', '--json', ...filter)).stdout) as { processes: { name: string }[] }).processes.map(
      ({ name }) => name,
    )
  expect(await found('-l', 'team=web')).toEqual(['one'])
  expect(await found('-l', 'team')).toEqual(['one', 'two'])
  expect(await found('-l', 'team', '-l', 'note=a, b')).toEqual(['one'])
  expect((await reeve('ps', '-l', 'team=docs')).stdout).toMatch(/^PID.*\n.* two [^\n]*\n$/)
  expect((await reeve('inspect', 'one')).stdout).toMatch(/^labels +team=web, note=a, b$/m)

  const { pid } = await daemon.view('three')
  expect(await reeve('label', 'three', 'team=web', 'draft')).toEqual({
    code: 0,
    stdout: '',
    stderr: `PID ${pid} now has the labels team=web, draft\n`,
  })
  expect((await reeve('label', 'three', 'team=web')).stderr).toBe(`PID ${pid} already has the labels team=web, draft\n`)
  expect((await reeve('label', 'one', 'team-', 'note-')).stderr).toContain('now has no labels')
  expect((await reeve('logs', 'three')).stdout).toContain('labels: team=web, draft (by user)')
  await reeve('kill', 'three')
  expect((await reeve('label', 'three', 'draft=2')).code).toBe(0)
  await daemon.restart()
  expect(await found('-l', 'team=web', '-l', 'draft=2')).toEqual(['three'])
})

test('a process has the labels of its agent file and of the command; a resume and a fork keep them, and a child does not inherit them', async () => {
  mkdirSync(join(daemon.work, '.reeve/agents'), { recursive: true })
  writeFileSync(join(daemon.work, '.reeve/agents/writer.md'), '---\nlabels: { team: docs, kind: writer }\n---\nWrite.\n')
  const model = await daemon.writeScript([{ text: 'Written.' }, { text: 'Again.' }])
  await reeve('run', '--agent', 'writer', '--model', model, '--name', 'book', '--label', 'team=web', 'write')
  const labels = { team: 'web', kind: 'writer' }
  expect(await labelsOf('book')).toEqual(labels)
  await reeve('resume', '-d', '--message', 'go on', 'book')
  expect(await labelsOf('book')).toEqual(labels)
  await reeve('resume', '-d', '--fork', '--name', 'copy', '--message', 'again', 'book')
  expect(await labelsOf('copy')).toEqual(labels)
  await reeve('run', '-d', '--name', 'parent', '--label', 'team=web', '--', 'sleep', '600')
  await reeve('run', '-d', '--name', 'child', '--parent', 'parent', '--', 'sleep', '600')
  expect(await labelsOf('child')).toEqual({})
})

test('invalid labels are refused, and nothing starts', async () => {
  expect(await reeve('run', '--label', 'Team=web', '--', 'true')).toMatchObject({
    code: 125,
    stderr: expect.stringContaining('a key of a label has 1 to 63 of'),
  })
  expect(await reeve('run', '--label', '=web', '--', 'true')).toMatchObject({ code: 125 })
  expect((await reeve('ps', '-aq')).stdout).toBe('')
  expect(await reeve('label', 'none', 'a=1')).toMatchObject({ code: 3 })
})
