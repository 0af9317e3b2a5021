// `raceAbort` settles like its promise unless the signal aborts first, and leaves no listener behind.
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { raceAbort } from '../../../../src/drivers/common/race-abort.ts'

const neverSettled = new Promise<never>(() => undefined)

test('settles like the promise, and leaves no listener behind', async () => {
  const { signal } = new AbortController()
  expect(await raceAbort(Promise.resolve('value'), signal)).toBe('value')
  await expect(raceAbort(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('rejects with the reason once the signal aborts; a later outcome is ignored', async () => {
  const abort = new AbortController()
  const pending = Promise.withResolvers<string>()
  const raced = raceAbort(pending.promise, abort.signal)
  abort.abort(new Error('aborted'))
  await expect(raced).rejects.toThrow('aborted')
  pending.reject(new Error('no caller waits for this'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(getEventListeners(abort.signal, 'abort')).toEqual([])
})

test('rejects at once for a signal that has aborted', async () => {
  await expect(raceAbort(neverSettled, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
})
