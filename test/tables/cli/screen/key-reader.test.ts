// Keys and reports that are read from the bytes of a terminal, which may come in parts.
import { afterEach, expect, test } from 'vitest'
import { KeyReader, type TerminalReport } from '../../../../src/cli/screen/key-reader.ts'
import { waitUntil } from '../../../support/wait-until.ts'

let reader: KeyReader | null = null
afterEach(() => reader?.[Symbol.dispose]())

interface ReceivedInput {
  readonly keys: string[]
  readonly reports: TerminalReport[]
}

function readKeys(): ReceivedInput {
  const received: ReceivedInput = { keys: [], reports: [] }
  reader = new KeyReader(
    ({ name, ctrl, sequence }) => received.keys.push(`${ctrl ? 'C-' : ''}${name ?? sequence}`),
    (report) => received.reports.push(report),
  )
  return received
}

test.each([
  ['letters', ['a', 'A', '?'], ['a', 'a', '?']],
  ['arrows', ['\x1b[A\x1b[B'], ['up', 'down']],
  ['an arrow in two parts', ['\x1b', '[A'], ['up']],
  ['a control key', ['\x03'], ['C-c']],
  ['a character in two parts', [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)], ['é']],
])('the bytes of %s are read as keys', async (_, parts, expected) => {
  const { keys } = readKeys()
  for (const part of parts) reader?.push(Buffer.from(part as string))
  await waitUntil(() => keys.length >= expected.length, 'all keys came')
  expect(keys).toEqual(expected)
})

test('the Esc key alone is a key, after a short wait', async () => {
  const { keys } = readKeys()
  reader?.push(Buffer.from('\x1b'))
  await waitUntil(() => keys.length > 0, 'the key came')
  expect(keys).toEqual(['escape'])
})

test('a report of the terminal is not a key, even if its bytes come in parts', async () => {
  const { keys, reports } = readKeys()
  for (const part of ['\x1b[I', 'x\x1b[<65;3;', '7M', '\x1b[<0;10;4M\x1b[<0;10;4m', '\x1b[O', 'y']) reader?.push(Buffer.from(part))
  await waitUntil(() => keys.length >= 2, 'the keys came')
  expect(keys).toEqual(['x', 'y'])
  expect(reports).toEqual([
    { type: 'focus', has: true },
    { type: 'wheel', by: 1 },
    { type: 'click', row: 3 },
    { type: 'focus', has: false },
  ])
})
