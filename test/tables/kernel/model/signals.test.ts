// The five signals, and their disposition over every combination of signal, mask, handler and force.
import { describe, expect, test } from 'vitest'
import { SIGNAL_TABLE, dispositionOf } from '../../../../src/kernel/model/signals.ts'
import type { Handler, Signal } from '../../../../src/kernel/model/words.ts'

const NAMES: readonly Signal[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']
const HANDLERS: readonly (Handler | undefined)[] = [undefined, 'default', 'ignore', 'message']
const BY_HANDLER = { default: 'default', ignore: 'ignored', message: 'message' } as const

test('each signal has its number, exit code and rule about blocking', () => {
  expect(NAMES.map((name) => [name, SIGNAL_TABLE[name].number, SIGNAL_TABLE[name].blockable, 128 + SIGNAL_TABLE[name].posix])).toEqual([
    ['SIGTERM', 1, true, 143],
    ['SIGKILL', 2, false, 137],
    ['SIGINT', 3, true, 130],
    ['SIGPAUSE', 4, true, 147],
    ['SIGRESUME', 5, true, 146],
  ])
})

describe('the disposition is blocked, else that of the handler, else the default', () => {
  const cells = NAMES.flatMap((signal) =>
    [false, true].flatMap((masked) => HANDLERS.flatMap((handler) => [false, true].map((force) => ({ signal, masked, handler, force })))),
  )

  test.each(cells)('$signal, masked $masked, handler $handler, force $force', ({ signal, masked, handler, force }) => {
    const otherSignals = NAMES.filter((name) => name !== signal)
    const state = {
      mask: masked ? NAMES : otherSignals,
      pending: [],
      handlers: { ...Object.fromEntries(otherSignals.map((name) => [name, 'ignore'])), ...(handler ? { [signal]: handler } : {}) },
    }
    let expected: string = BY_HANDLER[handler ?? 'default']
    if (masked) expected = 'pending'
    if (signal === 'SIGKILL' || force) expected = 'default'
    // The grace bounds the time, so the agent can still get a message.
    if (signal === 'SIGTERM' && force && handler === 'message') expected = 'message'
    expect(dispositionOf(state, signal, force)).toBe(expected)
  })
})
