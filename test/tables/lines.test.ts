// One at a time for each name, in the order of their coming, also behind one that failed.
import { expect, test } from 'vitest'
import { Lines } from '../../src/daemon/lines.ts'

test('who comes later waits for who was there, and for nobody of another name', async () => {
  const lines = new Lines()
  const said: string[] = []
  const first = Promise.withResolvers<void>()
  const visit = (line: string, name: string, wait = Promise.resolve()): Promise<string> => lines.run(line, async () => {
    said.push(`${name} in`)
    await wait
    said.push(`${name} out`)
    if (name === 'two') throw new Error('no')
    return name
  })
  const visits = [visit('a', 'one', first.promise), visit('a', 'two'), visit('a', 'three')]
  expect([await visit('b', 'other'), said]).toEqual(['other', ['one in', 'other in', 'other out']])
  first.resolve()
  expect((await Promise.allSettled(visits)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(said.slice(3)).toEqual(['one out', 'two in', 'two out', 'three in', 'three out'])
  expect(await visit('a', 'late')).toBe('late')
})
