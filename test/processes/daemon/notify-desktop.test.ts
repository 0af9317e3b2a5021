// Desktop notices, by a real program in place of the desktop's: its arguments, and the reports if that program fails or the session has
// no bus. The environment is that of the daemon, so each test sets that of this process.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Notifier } from '../../../src/daemon/notify/notifier.ts'
import { runProgram } from '../../../src/daemon/host/run-program.ts'
import { ManualClock } from '../../support/clock.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { TranscriptPlayer } from '../../support/kernel/transcript.ts'
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'

const ENV_BEFORE = { ...process.env }
let contained: ContainmentHarness

beforeEach(async () => {
  contained = await openContainmentHarness()
  process.env['PATH'] = testEnv(contained.dir)['PATH']
  process.env['DBUS_SESSION_BUS_ADDRESS'] = 'unix:path=/nowhere'
})
afterEach(async () => {
  for (const name of ['PATH', 'DBUS_SESSION_BUS_ADDRESS']) {
    if (ENV_BEFORE[name] === undefined) delete process.env[name]
    else process.env[name] = ENV_BEFORE[name]
  }
  await contained[Symbol.asyncDispose]()
})

/** A desktop whose program records its arguments, and exits with this code. */
function makeDesktop(code: number): {
  readonly notifier: Notifier
  readonly logged: string[]
  notify(body: FactBody, elapsedMs?: number): void
  calls(): string[][]
} {
  const log = join(contained.dir, 'calls')
  const program = join(contained.dir, process.platform === 'darwin' ? 'osascript' : 'notify-send')
  writeFileSync(log, '')
  writeFileSync(program, `#!/bin/sh\nfor word; do printf '%s\\n' "$word"; done >> ${log}\necho --- >> ${log}\nexit ${code}\n`)
  chmodSync(program, 0o700)
  process.env['PATH'] = `${contained.dir}${delimiter}${process.env['PATH']}`
  const player = new TranscriptPlayer()
  player.play('.live a named=docs')
  const row = player.world.row('a') as Process
  let currentRow: Process = row
  const logLines: string[] = []
  const notifier = new Notifier({
    clock: new ManualClock(),
    cursor: 0,
    store: {
      notifiedUpTo: () => Promise.resolve(0),
      setNotifiedUpTo: () => Promise.resolve(),
      since: () => Promise.resolve([]),
      process: () => Promise.resolve(undefined),
    },
    get: () => currentRow,
    readFact: () => Promise.resolve(undefined),
    readConfig: () => Promise.resolve({ desktop: true }),
    lookUpSecret: () => Promise.resolve(undefined),
    runProgram: (argv) => runProgram({ containments: contained.manager, cwd: contained.dir, tmpDir: contained.dir }, argv),
    log: (message) => void logLines.push(message),
  })
  notifier.start()
  const notify = (body: FactBody, elapsedMs = 0): void => {
    currentRow = { ...row, clock: { ...row.clock, elapsedMs } }
    const fact: StoredFact = { uuid: 'a', pid: 1, seq: 9, cursor: 9, at: 5, body }
    notifier.onFacts([fact])
  }
  return {
    notifier,
    logged: logLines,
    notify,
    calls: () =>
      readFileSync(log, 'utf8')
        .split('---\n')
        .slice(0, -1)
        .map((call) => call.trimEnd().split('\n')),
  }
}

const exitedFact = (code: number): FactBody => ({
  type: 'process.exited',
  mono: 1,
  exit: { code, reason: code === 0 ? 'completed' : 'it broke', cause: 'agent' },
})

test('a notice has its title and its text as arguments of the program, with escaped markup', async () => {
  const { notifier, notify, calls } = makeDesktop(0)
  notify({ type: 'process.waiting', question: '<b>rm -rf $HOME</b> & go?; $(touch x)' })
  await waitUntil(() => calls().length === 1, 'it was called')
  const [words = []] = calls()
  expect(words).toContain('reeve: an agent waits for you')
  const text = words.at(-1) ?? ''
  expect(text).toContain('docs (PID 1) waits for an answer:')
  expect(text).toContain('$(touch x)')
  if (process.platform !== 'darwin') expect(text).toContain('&lt;b&gt;rm -rf $HOME&lt;/b&gt; &amp; go?')
  await notifier.stop()
  expect(await notifier.doctorChecks()).toEqual([{ name: 'notifications desktop', ok: true, detail: 'notices can be shown' }])
})

test('a process that ends within seconds causes a notice only if it failed', async () => {
  const { notifier, notify, calls } = makeDesktop(0)
  notify(exitedFact(0), 9_000)
  notify(exitedFact(1), 9_000)
  await waitUntil(() => calls().length === 1, 'it was called')
  await notifier.stop()
  expect(calls().map((args) => args.at(-1))).toEqual(['docs (PID 1) has failed: it broke'])
})

test('a failed notice is reported by doctor, and once in the log', async () => {
  const { notifier, logged: logLines, notify, calls } = makeDesktop(1)
  notify(exitedFact(1))
  notify({ type: 'process.waiting', question: 'go?' })
  await waitUntil(() => calls().length === 2, 'it was called')
  await notifier.stop()
  expect(logLines).toEqual([
    'desktop: a notice cannot be sent: the program ended with exit code 1',
    'desktop: a notice is lost (the program ended with exit code 1), 1 so far',
  ])
  expect(await notifier.doctorChecks()).toMatchObject([
    {
      name: 'notifications desktop',
      ok: false,
      detail: 'the program ended with exit code 1',
      hint: expect.stringMatching(/^try `/) as string,
    },
  ])
})

test.skipIf(process.platform === 'darwin')('a missing session bus and a missing program are reported, each with its remedy', async () => {
  const { notifier } = makeDesktop(0)
  delete process.env['DBUS_SESSION_BUS_ADDRESS']
  process.env['XDG_RUNTIME_DIR'] = contained.dir
  expect(await notifier.doctorChecks()).toMatchObject([
    {
      ok: false,
      detail: expect.stringContaining('no session bus') as string,
      hint: 'run `reeve daemon restart` in a terminal of your desktop; or remove `notifications.desktop` from config.yaml',
    },
  ])
  process.env['PATH'] = join(contained.dir, 'nothing')
  expect(await notifier.doctorChecks()).toMatchObject([
    { ok: false, detail: 'notify-send is not installed', hint: expect.stringContaining('libnotify-bin') as string },
  ])
  delete process.env['XDG_RUNTIME_DIR']
  await notifier.stop()
})
