// A person's word that something is to end, against all that would bring it back: it is final also where a mask has put it off, and
// where somebody else had asked for the same before.
import { expect, test } from 'vitest'
import { statusOf } from '../../src/kernel/status.ts'
import { Player } from '../support/kernel/transcript.ts'

function statusAfter(script: string, uuid = 'a'): string {
  const player = new Player()
  player.play(script)
  const row = player.world.row(uuid) ?? player.world.dead.get(uuid)
  return row ? statusOf(row) : 'gone'
}

test('who ends by itself while a stop waits behind its mask does not come back', () => {
  const END = 'mask a SIGTERM\nsignal SIGTERM a\nreport a exited 3\nreleased a'
  expect(statusAfter(`live a command restart=permanent\n${END}`)).toBe('stopped')
  expect(statusAfter(`live s supervisor\nlive a command under=s child=a restart=permanent\n${END}`)).toBe('stopped')
  expect(statusAfter(`live a command\n${END}`)).toBe('failed')
})

test('who is stopped with its group, and by a person too, stays ended', () => {
  const FAMILY = `live s supervisor strategy=one_for_all
    live a command under=s child=a restart=permanent
    live b command under=s child=b restart=permanent
    report b exited 3
    released b`
  expect(statusAfter(`${FAMILY}\nreport a exited 0\nreleased a`)).toBe('pending')
  expect(statusAfter(`${FAMILY}\nsignal SIGKILL a\nreport a exited SIGKILL\nreleased a`)).toBe('stopped')
  expect(statusAfter(`${FAMILY}\nsignal SIGTERM a\nreport a exited 0\nreleased a`)).toBe('stopped')
})

test('a supervisor that gives up, and is stopped by a person, is not brought back by its own policy', () => {
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

test('what a supervisor asked for before a person does not keep the word of the person out', () => {
  expect(statusAfter(`live s supervisor strategy=one_for_all
    live a command under=s child=a restart=permanent
    live b command under=s child=b restart=permanent
    mask a SIGTERM
    report b exited 3
    released b
    signal SIGTERM a
    wind 10000
    report a exited 0
    released a`)).toBe('stopped')
})

test('who ends by itself while a pause waits behind its mask comes back paused', () => {
  const END = 'mask a SIGPAUSE\nsignal SIGPAUSE a\nreport a exited 3\nreleased a'
  expect(statusAfter(`live a command restart=permanent\n${END}`)).toBe('suspended')
  expect(statusAfter(`live p\nlive a command restart=permanent under=p\n${END.replace('SIGPAUSE a\nreport', 'SIGPAUSE p subtree\nreport')}`)).toBe('suspended')
})
