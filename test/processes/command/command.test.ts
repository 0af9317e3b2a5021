// The driver for plain commands, with real programs: its reports in order, and that it leaves nothing behind. The kernel is a recorder
// that acknowledges when the test permits it. Also the splitter that cuts the output into lines.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { commandDriver } from '../../../src/drivers/command/driver.ts'
import { OutputLineSplitter, MAX_LINE_BYTES } from '../../../src/drivers/command/output-splitters.ts'
import { makeLaunch, ReportRecorder, startCommand } from '../../support/agents/command-harness.ts'
import { openContainmentHarness, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { findProcessesWith, readProcess } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const kinds = await findWorkingKinds()
const KIB = 1024

/** The number of bytes that a process has written so far. */
function readWrittenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
}

describe.each(kinds)('%s', (containment) => {
  test('the reports are `up` with the handle, the output, and `exited`, in this order', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(contained, ['sh', '-c', 'echo $MY_KEY; echo oops >&2; exit 3'], { containment })
    const { kernel } = running
    await waitUntil(() => kernel.firstReport('exited'))
    expect(kernel.reports[0]).toMatchObject({ type: 'up', handle: { pid: expect.any(Number) } })
    expect([kernel.outputText('stdout'), kernel.outputText('stderr')]).toEqual(['secret\n', 'oops\n'])
    expect(kernel.reports.at(-1)).toEqual({ type: 'exited', code: 3, osSignal: null })
  })

  test('an output of 10 MB is reported completely before the exit, in reports of limited size', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(contained, ['sh', '-c', 'yes 0123456789 | head -c 10485760'], { containment })
    const { kernel } = running
    await waitUntil(() => kernel.firstReport('exited'))
    expect(kernel.reports.at(-1)?.type).toBe('exited')
    expect(kernel.outputText('stdout').length).toBe(10 * KIB * KIB)
    const longestText = Math.max(...kernel.reports.map((report) => (report.type === 'output' ? report.text.length : 0)))
    expect(longestText).toBeLessThanOrEqual(2 * MAX_LINE_BYTES)
    expect(kernel.reports.length).toBeLessThan((10 * KIB) / 16)
  })

  test('output above the limit is read and dropped, with a note, and the end is reported', async () => {
    await using contained = await openContainmentHarness()
    const kernel = new ReportRecorder()
    const launch = await makeLaunch(contained, ['sh', '-c', 'yes 0123456789 | head -c 3000000; echo oops >&2; exit 3'], { containment })
    await using _agent = await commandDriver({ keptBytes: KIB * KIB }).start(launch, kernel)
    await waitUntil(() => kernel.firstReport('exited'))
    const keptLength = kernel.outputText('stdout').length + kernel.outputText('stderr').length
    expect(keptLength).toBeGreaterThanOrEqual(KIB * KIB)
    expect(keptLength).toBeLessThan(2 * KIB * KIB)
    expect(kernel.reports.filter(({ type }) => type === 'note')).toEqual([
      { type: 'note', text: 'its output is more than 1 MiB: no more of it is kept' },
    ])
    expect(kernel.firstReport('exited')).toMatchObject({ code: 3 })
  })

  test('before a report is acknowledged nothing more is read, and the program waits', async () => {
    await using contained = await openContainmentHarness()
    const kernel = new ReportRecorder()
    const acknowledgement = Promise.withResolvers<void>()
    await using agent = await commandDriver({}).start(await makeLaunch(contained, ['yes'], { containment }), kernel)
    // Also resolved after a failure, because otherwise the agent could not be disposed of.
    using _release = { [Symbol.dispose]: () => acknowledgement.resolve() }
    kernel.acknowledged = acknowledgement.promise
    const pid = kernel.firstReport('up')?.handle?.pid ?? 0
    const countReports = () => kernel.reports.length
    await waitUntil(() => countReports() === 2 && readProcess(pid)?.state === 'S')
    // During the run of another program, `yes` could write far more.
    await using other = await startCommand(contained, ['sleep', '0.2'], { containment })
    await waitUntil(() => other.kernel.firstReport('exited'))
    expect(readWrittenBytes(pid)).toBeLessThan(2 * KIB * KIB)
    await agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    expect(countReports()).toBe(2)
    acknowledgement.resolve()
    await waitUntil(() => kernel.firstReport('exited'))
  })

  test('a program is stopped even before its start is acknowledged', async () => {
    await using contained = await openContainmentHarness()
    const kernel = new ReportRecorder()
    const acknowledgement = Promise.withResolvers<void>()
    kernel.acknowledged = acknowledgement.promise
    await using agent = await commandDriver({}).start(
      await makeLaunch(contained, ['sleep', `3600.${contained.token}`], { containment }),
      kernel,
    )
    using _release = { [Symbol.dispose]: () => acknowledgement.resolve() }
    await agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    // A program that is about to enter its namespace finds it gone, and exits.
    await waitUntil(() => findProcessesWith(contained.token).length === 0)
    expect(kernel.reports.map(({ type }) => type)).toEqual(['up'])
    acknowledgement.resolve()
    await waitUntil(() => kernel.firstReport('exited'))
  })

  test('a program ends with the reason if its start cannot be recorded', async () => {
    await using contained = await openContainmentHarness()
    const kernel = new ReportRecorder()
    kernel.refusedReport = 'up'
    await using _agent = await commandDriver({}).start(
      await makeLaunch(contained, ['sleep', `3600.${contained.token}`], { containment }),
      kernel,
    )
    await waitUntil(() => kernel.firstReport('exited'))
    expect(kernel.firstReport('exited')).toMatchObject({ error: 'the store is damaged' })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a pause without `freezeNow` freezes the command as well, and reports what was in flight; a frozen command can be killed', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(contained, ['sleep', `3600.${contained.token}`], { containment })
    const { agent, kernel } = running
    await agent.pause(false)
    expect(kernel.firstReport('frozen')).toEqual({ type: 'frozen', inFlight: `command: sleep 3600.${contained.token}` })
    await agent.stop({ signal: 'SIGKILL', graceMs: 0 })
    const exited = await waitUntil(() => kernel.firstReport('exited'))
    // After the kill of its init no process can report its exit; the kernel uses its own intent.
    if (containment !== 'pidns') expect(exited).toEqual({ type: 'exited', code: null, osSignal: 'SIGKILL' })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a paused command continues after the pause', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(contained, ['sh', '-c', 'echo up; read -r line; echo got $line'], {
      containment,
      interactive: true,
    })
    const { agent, kernel } = running
    await waitUntil(() => kernel.outputText('stdout') === 'up\n')
    await agent.pause(true)
    await agent.deliver({ id: 'm', from: 'user', text: 'a word', turn: 1 })
    expect(kernel.outputText('stdout')).toBe('up\n')
    await agent.unpause()
    await waitUntil(() => kernel.firstReport('exited'))
    expect(kernel.outputText('stdout')).toBe('up\ngot a word\n')
  })

  test('a stop sends SIGTERM first: the program may still print, and its output and exit code are reported', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(
      contained,
      ['sh', '-c', 'trap "echo bye; exit 4" TERM; echo up; while :; do sleep 0.05; done'],
      {
        containment,
      },
    )
    const { agent, kernel } = running
    await waitUntil(() => kernel.outputText('stdout') === 'up\n')
    await agent.stop({ signal: 'SIGTERM', graceMs: 20_000 })
    expect(await waitUntil(() => kernel.firstReport('exited'))).toEqual({ type: 'exited', code: 4, osSignal: null })
    expect(kernel.outputText('stdout')).toBe('up\nbye\n')
  })

  test('an interruption is a SIGINT to the group', async () => {
    await using contained = await openContainmentHarness()
    await using running = await startCommand(contained, ['sleep', `3600.${contained.token}`], { containment })
    await running.agent.interrupt()
    expect(await waitUntil(() => running.kernel.firstReport('exited'))).toEqual({ type: 'exited', code: null, osSignal: 'SIGINT' })
  })

  test('the exit is reported while a grandchild holds the pipes; disposal ends the grandchild', async () => {
    await using contained = await openContainmentHarness()
    const command = await startCommand(contained, ['sh', '-c', `setsid sleep 3600.${contained.token} & echo done`], { containment })
    await waitUntil(() => command.kernel.firstReport('exited'))
    expect(command.kernel.outputText('stdout')).toBe('done\n')
    expect(findProcessesWith(contained.token).length).toBe(1)
    await command[Symbol.asyncDispose]()
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a kernel that no longer acknowledges does not block the end of the program', async () => {
    await using contained = await openContainmentHarness()
    const kernel = new ReportRecorder()
    const launch = await makeLaunch(
      contained,
      ['sh', '-c', `read -r line; head -c 1000000 /dev/zero; touch ${contained.dir}/written; sleep 3600.${contained.token}`],
      { containment, interactive: true },
    )
    const agent = await commandDriver({}).start(launch, kernel)
    kernel.isUnavailable = true
    await agent.deliver({ id: 'm', from: 'user', text: 'go', turn: 1 })
    await waitUntil(() => findProcessesWith(`3600.${contained.token}`).some(({ argv }) => argv[0] === 'sleep'))
    await agent[Symbol.asyncDispose]()
    expect(findProcessesWith(contained.token)).toEqual([])
  })
})

test('a message to a command without an open input is INVALID', async () => {
  await using contained = await openContainmentHarness()
  const message = { id: 'm', from: 'user', text: 'hello', turn: 1 } as const
  await using closed = await startCommand(contained, ['sleep', `3600.${contained.token}`])
  await expect(closed.agent.deliver(message)).rejects.toMatchObject({ code: 'INVALID' })
  await using ended = await startCommand(contained, ['true'], { interactive: true })
  await waitUntil(() => ended.kernel.firstReport('exited'))
  await expect(ended.agent.deliver(message)).rejects.toMatchObject({ code: 'INVALID' })
})

test.each([
  [['no-such-command-here'], 'COMMAND_NOT_FOUND'],
  [['/'], 'NOT_RUNNABLE'],
])('a command that cannot be started is an error: %j', async (argv, code) => {
  await using contained = await openContainmentHarness()
  const kernel = new ReportRecorder()
  await expect(commandDriver({}).start(await makeLaunch(contained, argv), kernel)).rejects.toMatchObject({ code })
  expect(kernel.reports).toEqual([])
})

test('a command whose input is lost does not run without it', async () => {
  await using contained = await openContainmentHarness()
  const kernel = new ReportRecorder()
  const launch = await makeLaunch(contained, ['cat'], { input: true })
  await expect(commandDriver({}).start(launch, kernel)).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
  expect(kernel.reports).toEqual([])
})

test('if the kernel refuses the start, nothing is left', async () => {
  await using contained = await openContainmentHarness()
  const kernel = new ReportRecorder()
  kernel.isUnavailable = true
  await using _agent = await commandDriver({}).start(await makeLaunch(contained, ['sleep', `3600.${contained.token}`]), kernel)
  await waitUntil(() => findProcessesWith(contained.token).length === 0)
})

test('all methods can be called after the end', async () => {
  await using contained = await openContainmentHarness()
  const { agent, kernel } = await startCommand(contained, ['true'])
  await waitUntil(() => kernel.firstReport('exited'))
  await agent.pause(true)
  await agent.unpause()
  await agent.interrupt()
  await agent.proceed(1)
  await agent.stop({ signal: 'SIGTERM', graceMs: 300 })
  await agent[Symbol.asyncDispose]()
  await agent[Symbol.asyncDispose]()
  expect(kernel.reports.map((report) => report.type)).toEqual(['up', 'exited'])
})

test('the beginning of a line is shown before its end', async () => {
  await using contained = await openContainmentHarness()
  await using running = await startCommand(contained, ['sh', '-c', 'printf "Password: "; read -r line; echo $line'], { interactive: true })
  await waitUntil(() => running.kernel.outputText('stdout') === 'Password: ')
  await running.agent.deliver({ id: 'm', from: 'user', text: 'sesame', turn: 1 })
  await waitUntil(() => running.kernel.outputText('stdout') === 'Password: sesame\n')
})

describe('lines of output', () => {
  const cutIntoLines = (chunks: readonly Buffer[]) => {
    const splitter = new OutputLineSplitter()
    return [...chunks.flatMap((chunk) => splitter.feed(chunk)), splitter.end()]
  }

  test('are split on LF only', () => {
    expect(cutIntoLines([Buffer.from('a\r\nb\rc\u2028d\u0085e\n\nf')])).toEqual(['a\r\n', 'b\rc\u2028d\u0085e\n', '\n', 'f'])
  })

  test('keep characters whole at any cut of the chunks', () => {
    const text = 'é€😀\n日本\n'
    const bytes = Buffer.from(text)
    for (let cutAt = 0; cutAt <= bytes.length; cutAt++)
      expect(cutIntoLines([bytes.subarray(0, cutAt), bytes.subarray(cutAt)]).join('')).toBe(text)
  })

  test('of invalid UTF-8 get replacement characters', () => {
    expect(cutIntoLines([Buffer.from([0x61, 0xff, 0x62, 0x0a, 0xc3])])).toEqual(['a\ufffdb\n', '\ufffd'])
  })

  test('above the limit come in pieces, cut between characters', () => {
    const text = `x${'€'.repeat(MAX_LINE_BYTES)}\n`
    const pieces = cutIntoLines([Buffer.from(text)])
    expect(pieces.join('')).toBe(text)
    expect(pieces.length).toBe(5)
    for (const piece of pieces) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(MAX_LINE_BYTES)
  })

  test('that have only UTF-8 continuation bytes are cut too', () => {
    const pieces = cutIntoLines([Buffer.alloc(2 * MAX_LINE_BYTES + 1, 0x80)])
    expect(pieces.length).toBe(3)
  })

  test('that are shown before their end wait with an incomplete character', () => {
    const splitter = new OutputLineSplitter()
    splitter.feed(Buffer.from('ab€').subarray(0, 4))
    expect(splitter.flush()).toBe('ab')
    expect(splitter.feed(Buffer.from([0xac, 0x0a]))).toEqual(['€\n'])
  })
})
