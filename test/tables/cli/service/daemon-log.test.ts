// The daemon's log as the command line reads and shows it.
import { mkdirSync, appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DaemonLog, readableLine } from '../../../../src/cli/service/daemon-log.ts'
import { tempDir } from '../../../support/tmp.ts'

describe('the log file', () => {
  test('is read in complete lines, each once', async () => {
    await using dir = await tempDir()
    const file = join(dir.path, 'daemon.log')
    const log = new DaemonLog(file)
    expect(log.readNewLines()).toEqual([])
    writeFileSync(file, 'one\ntwo\nth')
    expect(log.readNewLines()).toEqual(['one', 'two'])
    appendFileSync(file, 'ree\nfo')
    expect(log.readNewLines()).toEqual(['three'])
    expect(log.readNewLines()).toEqual([])
    writeFileSync(file, 'new\n')
    expect(log.readNewLines()).toEqual(['new'])
  })

  test('is read only at its end if it is long, in complete lines', async () => {
    await using dir = await tempDir()
    const file = join(dir.path, 'daemon.log')
    writeFileSync(file, `${'x'.repeat(1024 * 1024)}\nlast\n`)
    expect(new DaemonLog(file).readNewLines()).toEqual(['last'])
  })

  test('cannot be a directory', async () => {
    await using dir = await tempDir()
    mkdirSync(join(dir.path, 'daemon.log'))
    expect(() => new DaemonLog(join(dir.path, 'daemon.log')).readNewLines()).toThrow('EISDIR')
  })

  test.each([
    ['{"level":30,"time":0,"msg":"hello"}', '1970-01-01T00:00:00.000Z info hello'],
    ['{"level":50,"time":0,"msg":"failed","err":{"message":"why"}}', '1970-01-01T00:00:00.000Z error failed (why)'],
    ['{"level":50,"msg":"\\u001b[2Jx"}', 'error x'],
    ['plain \x1b[31mtext', 'plain text'],
    ['{broken', '{broken'],
  ])('shows the line %s as %j', (line, text) => {
    expect(readableLine(line)).toBe(text)
  })
})
