// Request bodies at the gateway: each body is read completely. Each body and all bodies together are limited, and count as they arrive.
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { ClientRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { BodyReader } from '../../../../src/drivers/gateway/body-reader.ts'

type ReadResult = Awaited<ReturnType<BodyReader['read']>>
type SendRequest = (headers: Record<string, string>) => { readonly request: ClientRequest; readonly read: Promise<ReadResult> }

/** Limits: 100 bytes for each body, 150 for all. */
async function withBodies(
  useBodies: (sendRequest: SendRequest, waitForBytes: (bytes: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const bodies = new BodyReader({ maxBytes: 100, maxHeldBytes: 150 })
  const reads = new Map<string, PromiseWithResolvers<ReadResult>>()
  let bytes = 0
  let checkBytes = (): void => {}
  const server = createServer((request, response) => {
    request
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        checkBytes()
      })
      .pause()
    bodies.read(request).then(
      (read) => {
        response.end()
        reads.get(request.url ?? '')?.resolve(read)
      },
      (error: unknown) => reads.get(request.url ?? '')?.reject(error),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sendRequest: SendRequest = (headers) => {
    const path = `/${reads.size}`
    const read = Promise.withResolvers<ReadResult>()
    reads.set(path, read)
    const request = httpRequest({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, method: 'POST', path, headers }).on(
      'error',
      () => {},
    )
    request.flushHeaders()
    return { request, read: read.promise }
  }
  const waitForBytes = (count: number): Promise<void> =>
    new Promise((resolve) => {
      checkBytes = () => {
        if (bytes >= count) resolve()
      }
      checkBytes()
    })
  try {
    await useBodies(sendRequest, waitForBytes)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const textOf = (read: ReadResult): string => (typeof read === 'string' ? read : read.bytes.toString())
const withLength = (bytes: number): Record<string, string> => ({ 'content-length': String(bytes) })

describe('a body', () => {
  test.each([
    ['with a length', withLength(6)],
    ['in chunks', {}],
  ])('%s is read whole, in any number of pieces', (_, headers) =>
    withBodies(async (sendRequest, waitForBytes) => {
      const { request, read } = sendRequest(headers)
      request.write('ab')
      await waitForBytes(2)
      request.write('cd')
      await waitForBytes(4)
      request.end('ef')
      expect(textOf(await read)).toBe('abcdef')
    }),
  )

  test.each([
    ['by its announced length', withLength(101)],
    ['by its received bytes', {}],
  ])('above the limit %s is refused, and takes no memory', (_, headers) =>
    withBodies(async (sendRequest) => {
      const largeBody = sendRequest(headers)
      largeBody.request.write('x'.repeat(101))
      expect(await largeBody.read).toBe('large')
      for (const body of ['a'.repeat(100), 'b'.repeat(50)]) {
        const { request, read } = sendRequest({})
        request.end(body)
        expect(textOf(await read)).toBe(body)
      }
    }),
  )
})

describe('all bodies', () => {
  test('have a common limit: a body that does not fit is refused at its end, until memory is freed', () =>
    withBodies(async (sendRequest) => {
      const readBody = (bytes: number): Promise<ReadResult> => {
        const sentBody = sendRequest(withLength(bytes))
        sentBody.request.end('x'.repeat(bytes))
        return sentBody.read
      }
      const firstBody = await readBody(100)
      expect([await readBody(51), textOf(await readBody(50))]).toEqual(['full', 'x'.repeat(50)])
      if (typeof firstBody === 'string') throw new Error(firstBody)
      firstBody.release()
      firstBody.release()
      expect([textOf(await readBody(100)), await readBody(1)]).toEqual(['x'.repeat(100), 'full'])
    }))

  test('count as they arrive: an announced length reserves no memory, an unfinished body only its received bytes', () =>
    withBodies(async (sendRequest, waitForBytes) => {
      sendRequest(withLength(100))
      const halfBody = sendRequest(withLength(100))
      halfBody.request.write('x'.repeat(60))
      await waitForBytes(60)
      const otherBody = sendRequest(withLength(100))
      otherBody.request.end('y'.repeat(100))
      expect(await otherBody.read).toBe('full')
      halfBody.request.destroy()
      expect(await halfBody.read).toBe('gone')
      const lastBody = sendRequest(withLength(100))
      lastBody.request.end('z'.repeat(100))
      expect(textOf(await lastBody.read)).toBe('z'.repeat(100))
    }))
})
