// Long texts become blobs above a size, each is stored once, and a read restores them.
import { describe, expect, test } from 'vitest'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { MAX_INLINE_BYTES, MAX_TEXT_BYTES } from '../../../../src/store/journal/blobs.ts'
import { CommitMaker, specOf, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'

const ID = uuidOf(1)
const toolResult = (content: string): FactBody => ({
  type: 'tool.finished',
  step: 1,
  callId: 'c',
  name: 'n',
  outcome: 'ok',
  content,
  durationMs: 1,
})

describe('a text becomes a blob above 8 KiB of UTF-8', () => {
  test.each([
    ['8 KiB of ASCII', 'a'.repeat(MAX_INLINE_BYTES), 0],
    ['one byte more', 'a'.repeat(MAX_INLINE_BYTES + 1), 1],
    ['8 KiB in letters of two bytes', 'é'.repeat(MAX_INLINE_BYTES / 2), 0],
    ['one letter of two bytes more', 'é'.repeat(MAX_INLINE_BYTES / 2 + 1), 1],
    ['a lone surrogate, which UTF-8 cannot hold', `${'a'.repeat(MAX_INLINE_BYTES)}\ud800`, 0],
    ['characters that JSON writes as six characters', '\u0001'.repeat(MAX_INLINE_BYTES), 0],
  ])('%s', async (_, content, blobs) => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(ID))
    await fixture.store.commit(commits.write(ID, toolResult(content)))
    expect((await fixture.store.tail(ID, 1))[0]?.body).toStrictEqual(toolResult(content))
    await fixture.close()
    expect(changeStoreFile(fixture.dir, (db) => db.prepare('SELECT count(*) AS n FROM blobs').get()?.['n'])).toBe(blobs)
  })
})

test('the same text is stored once, across facts, processes and commits', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const text = 'same '.repeat(3_000)
  for (const number of [1, 2]) await fixture.store.commit(commits.spawn(uuidOf(number), specOf({ system: text, intent: text })))
  await fixture.store.commit(
    commits.group([
      [ID, toolResult(text)],
      [ID, toolResult(text)],
      [uuidOf(2), toolResult(text)],
    ]),
  )
  expect((await fixture.store.load()).processes.map(({ spec }) => spec.system === text && spec.intent === text)).toEqual([true, true])
  await fixture.close()
  expect(changeStoreFile(fixture.dir, (db) => db.prepare('SELECT length(bytes) AS n FROM blobs').all())).toMatchObject([{ n: text.length }])
})

test('texts deep inside an input are restored in place, and text that looks like a reference stays text', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const longText = 'long '.repeat(2_000)
  const input = JSON.parse(
    `{"__proto__":{"a":["",${JSON.stringify(longText)}]},"refs":[[["a"],"00",1]],"":${JSON.stringify(`${longText}!`)},"empty":""}`,
  ) as unknown
  const body: Extract<FactBody, { type: 'model.finished' }> = {
    type: 'model.finished',
    step: 1,
    message: [{ type: 'tool-call', callId: 'c', name: 'n', input }],
    finish: 'tool-calls',
    durationMs: 1,
    usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null },
  }
  await fixture.store.commit(commits.spawn(ID))
  await fixture.store.commit(commits.write(ID, body))
  const [fact] = await (await fixture.reopen()).tail(ID, 1)
  // The bodies are compared as text, because matchers skip a key `__proto__`.
  expect(JSON.stringify(fact?.body.type === 'model.finished' && fact.body.message)).toBe(JSON.stringify(body.message))
})

test('a text above the limit is refused, and nothing of its commit is written', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(ID))
  await expect(fixture.store.commit(commits.write(ID, toolResult('a'.repeat(MAX_TEXT_BYTES + 1))))).rejects.toMatchObject({
    code: 'INVALID',
  })
  expect(await fixture.store.facts(ID, 0, 10)).toHaveLength(2)
})
