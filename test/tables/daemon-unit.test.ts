// The text of the daemon's systemd unit: what stands in it, how words are quoted, and whether somebody has changed it.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { homeOf, isAsWritten, unitText } from '../../src/cli/unit.ts'
import { tempDir } from '../support/tmp.ts'

const TEXT = unitText({ home: '/home/anna/.local/state/reeve', argv: ['/usr/bin/node', '/usr/bin/reeve', 'daemon', 'run'], env: { PATH: '/usr/bin:/bin', REEVE_UNIT: 'reeve.service' } })

test('the unit as a whole', () => {
  expect(TEXT.split('\n').slice(1).join('\n')).toBe(`# Home: "/home/anna/.local/state/reeve"

[Unit]
Description=reeve, the process kernel for AI agents

[Service]
Type=exec
ExecStart=/usr/bin/node /usr/bin/reeve daemon run
Environment=PATH=/usr/bin:/bin
Environment=REEVE_UNIT=reeve.service
WorkingDirectory=/
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=4
Delegate=yes
KillMode=mixed
TasksMax=infinity
TimeoutStopSec=150

[Install]
WantedBy=default.target
`)
  expect(TEXT.split('\n')[0]).toMatch(/^# Written by `reeve daemon install` \([0-9a-f]{16}\)\. /)
})

test.each([
  ['/a b/node', 'ExecStart="/a b/node" run'],
  ['/100%/node', 'ExecStart=/100%%/node run'],
  ['/a"b\\c/node', 'ExecStart="/a\\"b\\\\c/node" run'],
])('the program %s', (program, line) => {
  expect(unitText({ home: '/h', argv: [program, 'run'], env: {} })).toContain(`${line}\n`)
})

test.each([
  ['a$b', 'ExecStart=/n "a$$b"'],
  ["it's", `ExecStart=/n "it's"`],
  ['a\nb', 'ExecStart=/n "a\\x0ab"'],
  ['ünï', 'ExecStart=/n "ünï"'],
])('the word %j', (word, line) => {
  expect(unitText({ home: '/h', argv: ['/n', word], env: {} })).toContain(`${line}\n`)
})

test('a value of the environment keeps its dollar', () => {
  expect(unitText({ home: '/h', argv: ['/n'], env: { PATH: '/a $b/%c' } })).toContain('Environment="PATH=/a $b/%%c"\n')
})

test.each<[string, (text: string) => string, boolean]>([
  ['as it was written', (text) => text, true],
  ['a line more', (text) => `${text}\n`, false],
  ['another value', (text) => text.replace('RestartSec=1', 'RestartSec=5'), false],
  ['without its first line', (text) => text.replace(/^.*\n/, ''), false],
  ['of somebody else', () => '[Service]\nExecStart=/bin/true\n', false],
  ['empty', () => '', false],
])('changed by hand: %s', (_, change, same) => {
  expect(isAsWritten(change(TEXT))).toBe(same)
})

test('whose home it is for', () => {
  expect(homeOf(TEXT)).toBe('/home/anna/.local/state/reeve')
  expect(homeOf(unitText({ home: '/a "b"\n%', argv: ['/n'], env: {} }))).toBe('/a "b"\n%')
  expect(homeOf('[Service]\n')).toBe(null)
})

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(canVerify)('systemd understands every line', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'reeve.service')
  writeFileSync(file, unitText({ home: dir.path, argv: [process.execPath, '/a "b"\\ $c/100%', 'daemon', 'run'], env: { PATH: '/a b:/c"d', REEVE_HOME: '/100%\n' } }))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8', env: { ...process.env, HOME: dir.path } })
  // It complains of the units of the machine as well; of ours only what names it counts.
  expect([stdout, stderr].join('\n').split('\n').filter((line) => line.includes('reeve.service'))).toEqual([])
  expect(status).toBe(0)
})
