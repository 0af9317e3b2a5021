// A stop by the user is final: nothing restarts the process, even if a mask has deferred the stop, or another sender had requested one
// before.
import { expect, test } from 'vitest'
import { statusOf } from '../../../../src/kernel/model/status.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'

function statusAfter(script: string, uuid = 'a'): string {
  const player = new TranscriptPlayer()
  player.play(script)
  const row = player.world.row(uuid) ?? player.world.dead.get(uuid)
  return row ? statusOf(row) : 'gone'
}

test('a process that exits while a stop by the user is pending does not restart', () => {
  const END = 'mask a SIGTERM\nsignal SIGTERM a\nreport a exited 3\nreleased a'
  expect(statusAfter(`live a command restart=permanent\n${END}`)).toBe('stopped')
  expect(statusAfter(`live s supervisor\nlive a command under=s child=a restart=permanent\n${END}`)).toBe('stopped')
  expect(statusAfter(`live a command\n${END}`)).toBe('failed')
})

test('a process that is stopped with its group and also by the user does not restart', () => {
  const GROUP = `live s supervisor strategy=one_for_all
    live a command under=s child=a restart=permanent
    live b command under=s child=b restart=permanent
    report b exited 3
    released b`
  expect(statusAfter(`${GROUP}\nreport a exited 0\nreleased a`)).toBe('pending')
  expect(statusAfter(`${GROUP}\nsignal SIGKILL a\nreport a exited SIGKILL\nreleased a`)).toBe('stopped')
  expect(statusAfter(`${GROUP}\nsignal SIGTERM a\nreport a exited 0\nreleased a`)).toBe('stopped')
})

test('a supervisor that gives up and is then stopped by the user does not restart by its own policy', () => {
  const GAVE_UP = `live s supervisor max=1 restart=permanent
    live b command under=s child=b restart=permanent
    live a command under=s child=a restart=permanent
    report a exited 3
    released a
    wind 2000
    start a
    report a exited 3
    released a`
  const END = 'report b exited 0\nreleased b\nreport s exited 0\nreleased s'
  expect(statusAfter(`${GAVE_UP}\n${END}`, 's')).toBe('pending')
  expect(statusAfter(`${GAVE_UP}\nsignal SIGTERM s\n${END}`, 's')).toBe('stopped')
})

test('a stop by the user counts, even if a supervisor has requested one before', () => {
  expect(
    statusAfter(`live s supervisor strategy=one_for_all
    live a command under=s child=a restart=permanent
    live b command under=s child=b restart=permanent
    mask a SIGTERM
    report b exited 3
    released b
    signal SIGTERM a
    wind 10000
    report a exited 0
    released a`),
  ).toBe('stopped')
})

test('a process that exits while a pause by the user is pending restarts paused', () => {
  const END = 'mask a SIGPAUSE\nsignal SIGPAUSE a\nreport a exited 3\nreleased a'
  expect(statusAfter(`live a command restart=permanent\n${END}`)).toBe('suspended')
  expect(
    statusAfter(`live p\nlive a command restart=permanent under=p\n${END.replace('SIGPAUSE a\nreport', 'SIGPAUSE p subtree\nreport')}`),
  ).toBe('suspended')
})
