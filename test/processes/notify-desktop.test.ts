// A word on the desktop, by a real program that stands in for the desktop's: what it is started with, and what is said where
// there is none. The environment is the daemon's own, so each test sets this process's.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Notifier } from '../../src/daemon/notify/notifier.ts'
import { runProgram } from '../../src/daemon/run-program.ts'
import { HandClock } from '../support/clock.ts'
import { newContained, type Contained } from '../support/contained.ts'
import { testEnv } from '../support/env.ts'
import { eventually } from '../support/living.ts'
import { Player } from '../support/kernel/transcript.ts'
import type { FactBody, StoredFact } from '../../src/kernel/facts.ts'
import type { Process } from '../../src/kernel/types.ts'

const BEFORE = { ...process.env }
let contained: Contained

beforeEach(async () => {
  contained = await newContained()
  process.env['PATH'] = testEnv(contained.dir)['PATH']
  process.env['DBUS_SESSION_BUS_ADDRESS'] = 'unix:path=/nowhere'
})
afterEach(async () => {
  for (const name of ['PATH', 'DBUS_SESSION_BUS_ADDRESS']) {
    if (BEFORE[name] === undefined) delete process.env[name]
    else process.env[name] = BEFORE[name]
  }
  await contained[Symbol.asyncDispose]()
})

/** A desktop whose program writes down what it was called with, and ends with this code. */
function desktop(code: number): { readonly notifier: Notifier; readonly said: string[]; tell(body: FactBody, elapsedMs?: number): void; calls(): string[][] } {
  const log = join(contained.dir, 'calls')
  const program = join(contained.dir, process.platform === 'darwin' ? 'osascript' : 'notify-send')
  writeFileSync(log, '')
  writeFileSync(program, `#!/bin/sh\nfor word; do printf '%s\\n' "$word"; done >> ${log}\necho --- >> ${log}\nexit ${code}\n`)
  chmodSync(program, 0o700)
  process.env['PATH'] = `${contained.dir}${delimiter}${process.env['PATH']}`
  const player = new Player()
  player.play('.live a named=docs')
  const row = player.world.row('a') as Process
  let process_: Process = row
  const said: string[] = []
  const notifier = new Notifier({
    clock: new HandClock(), get: () => process_, config: () => Promise.resolve({ desktop: true }), lookup: () => Promise.resolve(undefined),
    run: (argv) => runProgram({ container: contained.container, cwd: contained.dir, tmpDir: contained.dir }, argv), log: (message) => void said.push(message),
  })
  const tell = (body: FactBody, elapsedMs = 0): void => {
    process_ = { ...row, clock: { ...row.clock, elapsedMs } }
    const fact: StoredFact = { uuid: 'a', pid: 1, seq: 9, cursor: 9, at: 5, body }
    notifier.see([fact])
  }
  return { notifier, said, tell, calls: () => readFileSync(log, 'utf8').split('---\n').slice(0, -1).map((call) => call.trimEnd().split('\n')) }
}

const exited = (code: number): FactBody => ({ type: 'process.exited', mono: 1, exit: { code, reason: code === 0 ? 'completed' : 'it broke', cause: 'agent' } })

test('has the title and the text as arguments, and markup in it is none', async () => {
  const { notifier, tell, calls } = desktop(0)
  tell({ type: 'process.waiting', question: '<b>rm -rf $HOME</b> & go?; $(touch x)' })
  await eventually(() => calls().length === 1, 'it was called')
  const [words = []] = calls()
  expect(words).toContain('reeve: an agent waits for you')
  const text = words.at(-1) ?? ''
  expect(text).toContain('docs (PID 1) waits for an answer:')
  expect(text).toContain('$(touch x)')
  if (process.platform !== 'darwin') expect(text).toContain('&lt;b&gt;rm -rf $HOME&lt;/b&gt; &amp; go?')
  await notifier.stop()
  expect(await notifier.examine()).toEqual([{ name: 'notifications desktop', ok: true, detail: 'they can be shown' }])
})

test('says nothing of what was over in a moment, unless it failed', async () => {
  const { notifier, tell, calls } = desktop(0)
  tell(exited(0), 9_000)
  tell(exited(1), 9_000)
  await eventually(() => calls().length === 1, 'it was called')
  await notifier.stop()
  expect(calls().map((words) => words.at(-1))).toEqual(['docs (PID 1) has failed: it broke'])
})

test('a desktop that does not take it is told of by doctor and in the log, once', async () => {
  const { notifier, said, tell, calls } = desktop(1)
  tell(exited(1))
  tell({ type: 'process.waiting', question: 'go?' })
  await eventually(() => calls().length === 2, 'it was called')
  await notifier.stop()
  expect(said).toEqual(['desktop: a notice cannot be sent: it ended with exit code 1', 'desktop: a notice is lost (it ended with exit code 1), 1 so far'])
  expect(await notifier.examine()).toMatchObject([{ name: 'notifications desktop', ok: false, detail: 'it ended with exit code 1' }])
})

test.skipIf(process.platform === 'darwin')('a daemon without a session bus says so', async () => {
  const { notifier } = desktop(0)
  delete process.env['DBUS_SESSION_BUS_ADDRESS']
  process.env['XDG_RUNTIME_DIR'] = contained.dir
  expect(await notifier.examine()).toMatchObject([{ ok: false, detail: expect.stringContaining('no session bus') as string }])
  delete process.env['XDG_RUNTIME_DIR']
  await notifier.stop()
})
