// The tool `read` on images: images are recognized by their bytes, limited in size, and counted in tokens. The size comes from the header.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Context } from '../../../../../src/drivers/native/context/context.ts'
import { FreezableTimers } from '../../../../../src/drivers/common/freezable-timers.ts'
import { findImageFormat } from '../../../../../src/drivers/native/tools/image.ts'
import { Toolbox } from '../../../../../src/drivers/native/tools/toolbox.ts'
import type { ToolCallResult } from '../../../../../src/drivers/native/tools/toolbox.ts'
import { NO_USAGE } from '../../../../../src/drivers/native/models/model.ts'
import { openContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import { makePng } from '../../../../support/png.ts'

const bytesOfHex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const withPadding = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(64)])
const webpOf = (chunk: string, header: string): Buffer =>
  Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBP'), Buffer.from(chunk), bytesOfHex('0a000000'), bytesOfHex(header), Buffer.alloc(32)])

// Headers as the formats define them; 640 is 0x280, 480 is 0x1e0.
const APP0 = 'ffe0 0010 4a46494600 0101 00 0001 0001 00 00'
const TABLES = 'ffdb 0004 0000 ffc4 0005 000000'
const FRAME = '0011 08 01e0 0280 03 011100 021101 031101'
const HEADERS: readonly (readonly [name: string, mediaType: string, bytes: Buffer])[] = [
  ['png', 'image/png', makePng(640, 480)],
  ['gif of 1987', 'image/gif', withPadding(Buffer.concat([Buffer.from('GIF87a'), bytesOfHex('8002 e001')]))],
  ['gif of 1989', 'image/gif', withPadding(Buffer.concat([Buffer.from('GIF89a'), bytesOfHex('8002 e001')]))],
  ['jpeg, baseline', 'image/jpeg', withPadding(bytesOfHex(`ffd8 ${APP0} ${TABLES} ffc0 ${FRAME}`))],
  [
    'jpeg, progressive, with fill bytes and a restart marker',
    'image/jpeg',
    withPadding(bytesOfHex(`ffd8 ${APP0} ffd0 ffff ${TABLES} ffff c2 ${FRAME}`.replace('ffff ffdb', 'ffff db'))),
  ],
  ['webp, lossy', 'image/webp', webpOf('VP8 ', '300100 9d012a 8002 e001')],
  ['webp, lossy and scaled: two bits do not belong to the size', 'image/webp', webpOf('VP8 ', '300100 9d012a 8042 e081')],
  ['webp, lossless', 'image/webp', webpOf('VP8L', '2f 7fc27700')],
  ['webp, extended', 'image/webp', webpOf('VP8X', '10000000 7f0200 df0100')],
]

test.each(HEADERS)('%s: the header has the size', (_, mediaType, bytes) => {
  const format = findImageFormat(bytes.subarray(0, 16))
  expect(format?.mediaType).toBe(mediaType)
  expect(format?.readSize(bytes)).toEqual({ width: 640, height: 480 })
})

test.each(HEADERS)('%s: a header that is cut anywhere has no size, and causes no crash', (_, __, bytes) => {
  for (let length = 0; length < 30; length += 1) {
    const head = bytes.subarray(0, length)
    const size = findImageFormat(head.subarray(0, 16))?.readSize(head) ?? null
    if (size !== null) expect(size).toEqual({ width: 640, height: 480 })
  }
})

describe('the tool', () => {
  let contained: ContainmentHarness
  let dir: string

  beforeEach(async () => {
    contained = await openContainmentHarness()
    dir = join(contained.dir, 'work')
    await mkdir(dir)
  })
  afterEach(() => contained[Symbol.asyncDispose]())

  async function readImage(bytes: Buffer, name = 'picture'): Promise<ToolCallResult> {
    await writeFile(join(dir, name), bytes)
    const containment = await contained.open(contained.manager.kind)
    const { signal } = new AbortController()
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: name } } as const
    return new Toolbox({ tools: null, deny: [] }).run(call, {
      callId: 'call',
      cwd: dir,
      env: {},
      containment,
      timers: new FreezableTimers(),
      signal,
      endSignal: signal,
      output: () => undefined,
    })
  }

  test("returns an image with its description, whatever the file's name", async () => {
    const bytes = makePng(640, 480)
    const description = await readImage(bytes, 'notes.txt')
    expect(description).toEqual({
      outcome: 'ok',
      content: 'image/png, 640 × 480, 1 KiB',
      images: [{ mediaType: 'image/png', data: bytes.toString('base64') }],
    })
  })

  test("reads a text file with an image's name as text", async () => {
    expect(await readImage(Buffer.from('not a picture\n'), 'a.png')).toEqual({ outcome: 'ok', content: 'not a picture\n' })
  })

  test.each([
    ['too many bytes', Buffer.concat([makePng(10, 10), Buffer.alloc(4 * 1024 * 1024)]), 'at most 3840 KiB can be shown'],
    ['too many pixels per side', makePng(8_001, 1), 'image/png, 8001 × 1, 1 KiB: at most 8000 pixels per side'],
    ['no pixels', makePng(0, 1), 'truncated or damaged'],
    ['an end before its size', makePng(640, 480).subarray(0, 20), 'truncated or damaged'],
    ['a jpeg without a frame', bytesOfHex('ffd8 ffe0 0004 0000 ffda 0004 0000 00'), 'truncated or damaged'],
  ])('refuses %s', async (_, bytes, message) => {
    expect(await readImage(bytes)).toEqual({ outcome: 'error', content: expect.stringContaining(message) })
  })
})

test('an image is estimated as 1,600 tokens, whatever its size', () => {
  const context = new Context()
  const calls = ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, name: 'read', input: {} }) as const)
  context.finishCall(1, calls, NO_USAGE)
  const before = context.estimateTokens(0)
  const image = { mediaType: 'image/png', data: 'x'.repeat(1_000_000) }
  context.addResult({ callId: 'a', name: 'read', outcome: 'ok', content: '', images: [image, image] })
  expect(context.estimateTokens(0) - before).toBe(3_200)
})
