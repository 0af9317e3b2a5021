// The context view: the blocks that the model of a process gets now, with their sizes.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/index.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('the context of a native agent has its blocks by step, with texts only on request', async () => {
  await using reeve = connect({ home: daemon.home, start: false })
  const { uuid } = await daemon.spawnScripted(
    [
      { text: 'I look.', tools: [{ name: 'bash', input: { command: 'seq 1 2000' } }], usage: { input: 100, output: 10 } },
      { text: 'Done.', usage: { input: 3_000, output: 5 } },
    ],
    { name: 'native', intent: 'count' },
  )
  await daemon.waitForEnd(uuid)
  const view = await reeve.context('native', { text: true })
  expect([view.known, view.tokens, view.more, view.compactedStep]).toEqual(['messages', 3_005, 0, null])
  const blocks = view.blocks.filter(({ kind }) => kind !== 'system')
  expect(blocks.map(({ kind, fromStep, isKept }) => [kind, fromStep, isKept])).toEqual([
    ['message', null, true],
    // A compaction keeps the first message and the newest ones.
    ['answer', 1, false],
    ['results', 1, false],
    ['answer', 2, true],
  ])
  expect(blocks[0]?.text).toBe('count')
  expect(blocks[1]?.text).toContain('I look.\nbash {"command":"seq 1 2000"}')
  expect(blocks[2]?.text).toMatch(/^bash ok: 1\n2\n[^]*\[… \d+ more characters\]$/)
  expect(blocks[2]?.tokens).toBeGreaterThan(blocks[3]?.tokens ?? 0)
  expect((await reeve.context('native')).blocks.every(({ text }) => text === null)).toBe(true)
})

test('the context of a program has no blocks', async () => {
  await using reeve = connect({ home: daemon.home, start: false })
  await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'plain' })).uuid)
  expect(await reeve.context('plain')).toMatchObject({ known: 'tokens', blocks: [], window: null })
})
