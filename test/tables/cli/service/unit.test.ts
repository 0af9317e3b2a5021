// The text of the systemd unit of the daemon: its settings, quoting, and the detection of changes by the user.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { homeOfUnit, isUnmodifiedUnit, unitText } from '../../../../src/cli/service/unit.ts'
import { tempDir } from '../../../support/tmp.ts'

const TEXT = unitText({
  home: '/home/anna/.local/state/reeve',
  argv: ['/usr/bin/node', '/usr/bin/reeve', 'daemon', 'run'],
  env: { PATH: '/usr/bin:/bin', REEVE_UNIT: 'reeve.service' },
  canNotify: true,
})

test('the complete unit has this text', () => {
  expect(TEXT.split('\n').slice(1).join('\n')).toBe(`# Home: "/home/anna/.local/state/reeve"

[Unit]
Description=reeve, the process kernel for AI agents

[Service]
Type=notify
NotifyAccess=all
TimeoutStartSec=infinity
WatchdogSec=60
WatchdogSignal=SIGKILL
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

test('without `systemd-notify` systemd waits for no notification', () => {
  expect(unitText({ home: '/h', argv: ['/n'], env: {}, canNotify: false })).toMatch(/\[Service\]\nType=exec\nExecStart=\/n\n/)
})

test.each([
  ['/a b/node', 'ExecStart="/a b/node" run'],
  ['/100%/node', 'ExecStart=/100%%/node run'],
  ['/a"b\\c/node', 'ExecStart="/a\\"b\\\\c/node" run'],
])('the program %s is quoted', (program, line) => {
  expect(unitText({ home: '/h', argv: [program, 'run'], env: {}, canNotify: true })).toContain(`${line}\n`)
})

test.each([
  ['a$b', 'ExecStart=/n "a$$b"'],
  ["it's", `ExecStart=/n "it's"`],
  ['a\nb', 'ExecStart=/n "a\\x0ab"'],
  ['ünï', 'ExecStart=/n "ünï"'],
])('the word %j is quoted', (word, line) => {
  expect(unitText({ home: '/h', argv: ['/n', word], env: {}, canNotify: true })).toContain(`${line}\n`)
})

test('a value of the environment keeps its dollar', () => {
  expect(unitText({ home: '/h', argv: ['/n'], env: { PATH: '/a $b/%c' }, canNotify: true })).toContain('Environment="PATH=/a $b/%%c"\n')
})

test.each<[string, (text: string) => string, boolean]>([
  ['of an unchanged unit', (text) => text, true],
  ['of a unit with one more line', (text) => `${text}\n`, false],
  ['of a unit with another value', (text) => text.replace('RestartSec=1', 'RestartSec=5'), false],
  ['of a unit without its first line', (text) => text.replace(/^.*\n/, ''), false],
  ['of a unit for another program', () => '[Service]\nExecStart=/bin/true\n', false],
  ['of an empty unit', () => '', false],
])('whether the user has changed a unit is detected in the text %s', (_, change, isUnchanged) => {
  expect(isUnmodifiedUnit(change(TEXT))).toBe(isUnchanged)
})

test('the home of the unit is read from its text', () => {
  expect(homeOfUnit(TEXT)).toBe('/home/anna/.local/state/reeve')
  expect(homeOfUnit(unitText({ home: '/a "b"\n%', argv: ['/n'], env: {}, canNotify: true }))).toBe('/a "b"\n%')
  expect(homeOfUnit('[Service]\n')).toBe(null)
})

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(canVerify)('systemd understands every line', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'reeve.service')
  writeFileSync(
    file,
    unitText({
      home: dir.path,
      argv: [process.execPath, '/a "b"\\ $c/100%', 'daemon', 'run'],
      env: { PATH: '/a b:/c"d', REEVE_HOME: '/100%\n' },
      canNotify: true,
    }),
  )
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
    env: { ...process.env, HOME: dir.path },
  })
  // systemd-analyze reports the units of the machine as well; only lines about this unit count.
  expect(
    [stdout, stderr]
      .join('\n')
      .split('\n')
      .filter((line) => line.includes('reeve.service')),
  ).toEqual([])
  expect(status).toBe(0)
})
