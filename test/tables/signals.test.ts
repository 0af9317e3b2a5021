// The five signals, and their disposition over every combination of signal, mask, handler and force.
import { describe, expect, test } from 'vitest'
import { SIGNALS, disposition } from '../../src/kernel/signals.ts'
import type { Handler, Signal } from '../../src/kernel/types.ts'

const NAMES: readonly Signal[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']
const HANDLERS: readonly (Handler | undefined)[] = [undefined, 'default', 'ignore', 'message']
const BY_HANDLER = { default: 'default', ignore: 'ignored', message: 'message' } as const

test('numbers, what may be blocked, and the code of an end', () => {
  expect(NAMES.map((name) => [name, SIGNALS[name].number, SIGNALS[name].blockable, 128 + SIGNALS[name].posix])).toEqual([
    ['SIGTERM', 1, true, 143], ['SIGKILL', 2, false, 137], ['SIGINT', 3, true, 130], ['SIGPAUSE', 4, true, 147], ['SIGRESUME', 5, true, 146],
  ])
})

describe('disposition: blocked, then the handler, then the default', () => {
  const cells = NAMES.flatMap((signal) => [false, true].flatMap((masked) => HANDLERS.flatMap((handler) => [false, true].map((force) => ({ signal, masked, handler, force })))))

  test.each(cells)('$signal, masked $masked, handler $handler, force $force', ({ signal, masked, handler, force }) => {
    const others = NAMES.filter((name) => name !== signal)
    const state = { mask: masked ? NAMES : others, pending: [], handlers: { ...Object.fromEntries(others.map((name) => [name, 'ignore'])), ...(handler ? { [signal]: handler } : {}) } }
    let expected: string = BY_HANDLER[handler ?? 'default']
    if (masked) expected = 'pending'
    if (signal === 'SIGKILL' || force) expected = 'default'
    // Its grace runs all the same, so that it may be told.
    if (signal === 'SIGTERM' && force && handler === 'message') expected = 'message'
    expect(disposition(state, signal, force)).toBe(expected)
  })
})
