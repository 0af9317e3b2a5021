// Request bodies at the gateway: each body is read completely. Each body and all bodies together are limited, and count as they arrive.
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { ClientRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { RequestBodies } from '../../../../src/drivers/gateway/body-reader.ts'

type Read = Awaited<ReturnType<RequestBodies['read']>>
type Send = (headers: Record<string, string>) => { readonly request: ClientRequest; readonly read: Promise<Read> }

/** Limits: 100 bytes for each body, 150 for all. */
async function withBodies(use: (send: Send, arrived: (bytes: number) => Promise<void>) => Promise<void>): Promise<void> {
  const bodies = new RequestBodies({ maxBytes: 100, maxHeldBytes: 150 })
  const reads = new Map<string, PromiseWithResolvers<Read>>()
  let bytes = 0
  let look = (): void => {}
  const server = createServer((request, response) => {
    request
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        look()
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
  const send: Send = (headers) => {
    const path = `/${reads.size}`
    const read = Promise.withResolvers<Read>()
    reads.set(path, read)
    const request = httpRequest({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, method: 'POST', path, headers }).on(
      'error',
      () => {},
    )
    request.flushHeaders()
    return { request, read: read.promise }
  }
  const arrived = (count: number): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (bytes >= count) resolve()
      }
      look()
    })
  try {
    await use(send, arrived)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const textOf = (read: Read): string => (typeof read === 'string' ? read : read.bytes.toString())
const sized = (bytes: number): Record<string, string> => ({ 'content-length': String(bytes) })

describe('a body', () => {
  test.each([
    ['with a length', sized(6)],
    ['in chunks', {}],
  ])('%s is read whole, in any number of pieces', (_, headers) =>
    withBodies(async (send, arrived) => {
      const { request, read } = send(headers)
      request.write('ab')
      await arrived(2)
      request.write('cd')
      await arrived(4)
      request.end('ef')
      expect(textOf(await read)).toBe('abcdef')
    }),
  )

  test.each([
    ['by its length', sized(101)],
    ['by what comes', {}],
  ])('above the limit %s is refused, and takes no memory', (_, headers) =>
    withBodies(async (send) => {
      const large = send(headers)
      large.request.write('x'.repeat(101))
      expect(await large.read).toBe('large')
      for (const body of ['a'.repeat(100), 'b'.repeat(50)]) {
        const { request, read } = send({})
        request.end(body)
        expect(textOf(await read)).toBe(body)
      }
    }),
  )
})

describe('all bodies', () => {
  test('have a common limit: a body that does not fit is refused at its end, until memory is freed', () =>
    withBodies(async (send) => {
      const read = (bytes: number): Promise<Read> => {
        const sent = send(sized(bytes))
        sent.request.end('x'.repeat(bytes))
        return sent.read
      }
      const first = await read(100)
      expect([await read(51), textOf(await read(50))]).toEqual(['full', 'x'.repeat(50)])
      if (typeof first === 'string') throw new Error(first)
      first.release()
      first.release()
      expect([textOf(await read(100)), await read(1)]).toEqual(['x'.repeat(100), 'full'])
    }))

  test('count as they arrive: an announced length reserves no memory, an unfinished body only its received bytes', () =>
    withBodies(async (send, arrived) => {
      send(sized(100))
      const half = send(sized(100))
      half.request.write('x'.repeat(60))
      await arrived(60)
      const other = send(sized(100))
      other.request.end('y'.repeat(100))
      expect(await other.read).toBe('full')
      half.request.destroy()
      expect(await half.read).toBe('gone')
      const last = send(sized(100))
      last.request.end('z'.repeat(100))
      expect(textOf(await last.read)).toBe('z'.repeat(100))
    }))
})
