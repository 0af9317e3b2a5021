// A wait of more than two seconds is stated on stderr: on a terminal as a last line until it ends, else as a line for each change.
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { Output, type Streams } from '../../../../src/cli/print/output.ts'
import { WaitNote, withWaitNote } from '../../../../src/cli/follow/wait-note.ts'
import type { Wait } from '../../../../src/cli/print/wait-text.ts'

interface Terminal {
  readonly streams: Streams
  readonly written: () => string
}

function makeStreams(isTTY: boolean): Terminal {
  const stderr = Object.assign(new PassThrough(), { isTTY, columns: 80, rows: 24 }) as unknown as NodeJS.WriteStream
  let written = ''
  stderr.on('data', (chunk: Buffer) => (written += chunk.toString()))
  return { streams: { stdout: stderr, stderr }, written: () => written }
}

const OPTIONS = { json: false, quiet: false, color: false }
const wait = (key: string): Wait => ({ key, what: `PID 5 to ${key}`, since: Date.now(), ends: '`reeve stop 5` ends it' })
const createOutput = ({ streams }: Terminal, options = OPTIONS, term = 'xterm'): Output => new Output(options, { TERM: term }, streams)

test('without a terminal a line is printed for each wait, once', async () => {
  const terminal = makeStreams(false)
  const out = createOutput(terminal)
  {
    await using note = new WaitNote(out, { firstLineMs: 5 })
    note.set(wait('end'))
    await vi.waitFor(() => expect(terminal.written()).toContain('PID 5 to end'))
    note.set(() => wait('be killed'))
    await vi.waitFor(() => expect(terminal.written()).toContain('PID 5 to be killed'))
  }
  expect(terminal.written().split('\n')).toEqual([
    expect.stringMatching(/^ {2}waits since \d\d:\d\d:\d\d for PID 5 to end; `reeve stop 5` ends it$/),
    expect.stringMatching(/^ {2}waits since \d\d:\d\d:\d\d for PID 5 to be killed; /),
    '',
  ])
})

test('several waits share one line, and a fallback is silent beside them', async () => {
  const terminal = makeStreams(false)
  const out = createOutput(terminal)
  await using fallback = new WaitNote(out, { firstLineMs: 5, isFallback: true })
  fallback.set(wait('answer'))
  await using first = new WaitNote(out)
  first.set(wait('end'))
  await using second = new WaitNote(out)
  second.set(wait('start'))
  await vi.waitFor(() => expect(terminal.written()).toContain('PID 5 to end (and 1 more wait);'))
  expect(terminal.written()).not.toContain('answer')
})

test('a terminal shows one last line, which disappears when the wait ends', async () => {
  const terminal = makeStreams(true)
  const out = createOutput(terminal)
  {
    await using note = new WaitNote(out, { firstLineMs: 5 })
    note.set(wait('end'))
    await vi.waitFor(() => expect(out.bottomLines).not.toBeNull())
  }
  expect(out.bottomLines).toBeNull()
})

test('the result and the error of the work are passed on', async () => {
  const out = createOutput(makeStreams(false))
  expect(await withWaitNote(out, () => wait('end'), Promise.resolve('done'))).toBe('done')
  await expect(withWaitNote(out, () => wait('end'), Promise.reject(new Error('broken')))).rejects.toThrow('broken')
})

test.each([
  ['-q', { ...OPTIONS, quiet: true }],
  ['--json', { ...OPTIONS, json: true }],
] as const)('nothing is written with %s', async (_, options) => {
  const terminal = makeStreams(false)
  const reads = vi.fn<() => Wait>(() => wait('end'))
  {
    await using note = new WaitNote(createOutput(terminal, options), { firstLineMs: 1 })
    note.set(reads)
  }
  expect([terminal.written(), reads.mock.calls.length]).toEqual(['', 0])
})
