// What a terminal shows below a finished call: changes in colour, names of images, the beginning of an output, and no control characters.
import { expect, test } from 'vitest'
import { toolResult } from '../../../../../src/cli/print/transcript/tool-result.ts'

const STYLE = { paintMessage: (style: string, text: string) => `<${style}>${text}` }
const result = (name: string, content: string, input: unknown = {}, more: object = {}): ReturnType<typeof toolResult> =>
  toolResult({ name, content, ...more }, input, STYLE)

test('an edit is shown as its changed lines', () => {
  const input = { path: 'a.ts', old_text: 'one\ntwo\nthree\n', new_text: 'one\n2\nthree\n' }
  expect(result('edit', 'replaced 1 occurrence in a.ts', input).lines).toEqual(['a.ts', ' one', '<red>-two', '<green>+2', ' three'])
})

test('a diff of an external agent keeps its lines', () => {
  expect(result('edit', '--- a.ts\n+++ a.ts\n-one\n+two').lines).toEqual(['<bold>--- a.ts', '<bold>+++ a.ts', '<red>-one', '<green>+two'])
})

test('a long output is folded, a file that was read is not shown, and an image has a name', () => {
  const long = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')
  expect(result('bash', long).lines).toEqual(['line 0', 'line 1', 'line 2', 'line 3'])
  expect(result('bash', long).all).toHaveLength(30)
  expect(result('read', long).lines).toEqual([])
  expect(result('read', '', {}, { images: [{ mediaType: 'image/png', data: 'AAAA'.repeat(1024) }] }).lines).toEqual([
    '[image: image/png, 3.0 KiB]',
  ])
  expect(result('bash', '')).toEqual({ lines: [], all: [] })
})

test('no control character reaches the terminal', () => {
  const hostile = 'a\x1b[2J\x1b]52;c;x\x07\u202eb'
  const input = { path: hostile, old_text: hostile, new_text: `${hostile}2` }
  for (const { all } of [result('bash', hostile), result('edit', '', input), result('edit', `--- ${hostile}\n+++ b\n+${hostile}`)])
    expect(all.join('')).not.toMatch(/[\x00-\x1f\u202e]/)
})
