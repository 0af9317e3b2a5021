// The notice of a slow command is shown only on a terminal, and removed at the end.
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Output, type Streams } from '../../../../src/cli/print/output.ts'
import { withWaitNotice } from '../../../../src/cli/follow/wait-notice.ts'

let term: string | undefined
beforeEach(() => {
  term = process.env['TERM']
  process.env['TERM'] = 'xterm'
})
afterEach(() => {
  process.env['TERM'] = term ?? 'dumb'
})

function makeTerminal(isTTY: boolean): { streams: Streams; written: () => string } {
  const stderr = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream
  let written = ''
  stderr.on('data', (chunk: Buffer) => (written += chunk.toString()))
  return { streams: { stdout: stderr, stderr }, written: () => written }
}

const OPTIONS = { json: false, quiet: false, color: false }

test('a wait is shown repeatedly, and the line disappears at its end', async () => {
  const { streams, written } = makeTerminal(true)
  const pendingWork = Promise.withResolvers<string>()
  let textCount = 0
  const waitText = (): string => {
    if (textCount === 2) pendingWork.resolve('done')
    return `for the ${++textCount}th time`
  }
  expect(await withWaitNotice(new Output(OPTIONS, {}, streams), waitText, pendingWork.promise, 1)).toBe('done')
  expect(written()).toMatch(/^\r\x1b\[Kfor the 1th time\r\x1b\[Kfor the 2th time\r\x1b\[Kfor the 3th time.*\r\x1b\[K$/s)
})

test('an error is passed on, and the line is removed', async () => {
  const { streams, written } = makeTerminal(true)
  const pendingWork = Promise.withResolvers<string>()
  const waitText = (): string => {
    pendingWork.reject(new Error('broken'))
    return 'waiting'
  }
  await expect(withWaitNotice(new Output(OPTIONS, {}, streams), waitText, pendingWork.promise, 1)).rejects.toThrow('broken')
  expect(written()).toMatch(/waiting\r\x1b\[K$/)
})

test.each([
  ['no terminal', false, OPTIONS, 'xterm'],
  ['-q', true, { ...OPTIONS, quiet: true }, 'xterm'],
  ['--json', true, { ...OPTIONS, json: true }, 'xterm'],
  ['a terminal that cannot erase', true, OPTIONS, 'dumb'],
] as const)('nothing is written with %s', async (_what, isTTY, options, name) => {
  process.env['TERM'] = name
  const { streams, written } = makeTerminal(isTTY)
  const pendingWork = Promise.withResolvers<void>()
  // The work takes longer than several updates of the notice.
  let turns = 0
  const timer = setInterval(() => {
    if (++turns === 5) pendingWork.resolve()
  }, 2)
  await withWaitNotice(new Output(options, {}, streams), () => 'waiting', pendingWork.promise, 1)
  clearInterval(timer)
  expect(written()).toBe('')
})
