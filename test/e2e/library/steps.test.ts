// Steps of a real daemon, as the library and `reeve steps --step` return them: as columns, one step whole, and large results in parts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect, STEP_FLAGS, type Reeve } from '../../../src/index.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { bashCall } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let reeve: Reeve
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  reeve = connect({ home: daemon.home, start: false })
})
afterEach(async () => {
  await reeve[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const LARGE = 200_000

test('columns continue while the process works; one step has its messages, calls, files and times', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\n' })
  const { uuid } = await daemon.spawnScripted(
    [
      { ...bashCall('echo two >> a.txt'), text: 'I write\n a file.' },
      {
        tools: [
          { name: 'read', input: { path: 'a.txt' } },
          { name: 'read', input: { path: 'gone.txt' } },
        ],
      },
      { text: 'Done.' },
      { text: 'Again.' },
    ],
    { cwd: repository.dir, worktree: true, interactive: true, intent: 'Do it.' },
  )
  await daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'model.finished' && step === 3)
  const { total, columns } = await reeve.stepColumns(uuid)
  expect([total, columns.step, columns.tools, columns.text]).toEqual([
    3,
    [1, 2, 3],
    [['bash'], ['read', 'read!'], []],
    ['I write a file.', '', 'Done.'],
  ])
  expect(columns.flags.map((flags) => flags & (STEP_FLAGS.failed | STEP_FLAGS.writes | STEP_FLAGS.open))).toEqual([
    STEP_FLAGS.writes,
    STEP_FLAGS.failed,
    0,
  ])
  await daemon.send(uuid, 'And again?')
  await daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'model.finished' && step === 4)
  expect((await reeve.stepColumns(uuid, { after: 3 })).columns.text).toEqual(['Again.'])
  expect((await reeve.stepColumns(uuid, { before: 3, limit: 1 })).columns.step).toEqual([2])
  const first = await reeve.step(uuid, 1)
  expect(first).toMatchObject({
    step: 1,
    text: 'I write\n a file.',
    messages: [{ id: 'intent', from: 'user', text: 'Do it.', truncated: false }],
    tools: [{ name: 'bash', effect: 'once', outcome: 'ok', truncated: [], images: [] }],
    calls: [{ error: null }],
    files: { changed: true },
    compaction: null,
  })
  expect(Date.parse(first.tools[0]?.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(first.startedAt))
  expect([first.modelMs, first.toolMs]).toEqual([columns.modelMs[0], columns.toolMs[0]])
  expect((await reeve.step(uuid, 2)).messages).toEqual([])
  expect((await reeve.step(uuid, 4)).messages).toMatchObject([{ from: 'user', text: 'And again?' }])
  await expect(reeve.step(uuid, 5)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const shown = await runCli(daemon.home, ['steps', '--step', '1', uuid])
  expect([shown.code, shown.stderr]).toEqual([0, ''])
  expect(shown.stdout).toContain('message from user\n  Do it.\ntext\n  I write\n   a file.\nbash: ok')
  expect(shown.stdout).toContain('files changed')
  const missing = await runCli(daemon.home, ['steps', '--step', '9', uuid])
  expect([missing.code, missing.stderr]).toEqual([
    3,
    expect.stringMatching(/has no step 9: its last one is 4\n +`reeve steps \d+` lists its steps/) as string,
  ])
})

test('a large input and an image are left out of the step, and can be read as parts', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64')
  writeFileSync(join(daemon.work, 'a.png'), png)
  const content = 'x'.repeat(LARGE)
  const { uuid } = await daemon.spawnScripted([
    {
      tools: [
        { name: 'write', input: { path: 'b.txt', content } },
        { name: 'read', input: { path: 'a.png' } },
      ],
    },
    { text: 'Done.' },
  ])
  await daemon.waitForEnd(uuid)
  const { tools } = await reeve.step(uuid, 1)
  const [write, read] = tools
  expect(write).toMatchObject({ input: null, truncated: ['input'], images: [] })
  expect(read).toMatchObject({ truncated: [], images: [{ mediaType: 'image/png', bytes: png.length }] })
  const input = await reeve.stepPart(uuid, { step: 1, callId: write?.callId ?? '', part: 'input' })
  expect([JSON.parse(input.text), input.next, input.mediaType]).toEqual([{ path: 'b.txt', content }, null, 'application/json'])
  expect((await reeve.stepPart(uuid, { step: 1, callId: write?.callId ?? '', part: 'input', offset: 10 })).text).toBe(input.text.slice(10))
  const image = await reeve.stepPart(uuid, { step: 1, callId: read?.callId ?? '', part: 'image:0' })
  expect([Buffer.from(image.text, 'base64').equals(png), image.mediaType]).toEqual([true, 'image/png'])
  await expect(reeve.stepPart(uuid, { step: 1, callId: 'none' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a step has its question with the answer, and the time that the user took', async () => {
  const { uuid } = await daemon.spawnScripted([bashCall('true'), { text: 'end' }], { permissions: 'ask' })
  await daemon.waitForView(uuid, ({ asks }) => asks.length === 1)
  expect(await reeve.step(uuid, 1)).toMatchObject({ asks: [{ answeredAt: null, answer: null, withdrawn: false }], finishedAt: null })
  const [ask] = (await daemon.view(uuid)).asks
  await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: ask?.options[0]?.id ?? '' })
  await daemon.waitForEnd(uuid)
  const { asks, humanMs, toolMs } = await reeve.step(uuid, 1)
  expect(asks).toMatchObject([{ by: 'user', answer: ask?.options[0]?.id }])
  const waitedMs = Date.parse(asks[0]?.answeredAt ?? '') - Date.parse(asks[0]?.at ?? '')
  expect([humanMs >= waitedMs - 1, toolMs <= humanMs + 60_000]).toEqual([true, true])
})
