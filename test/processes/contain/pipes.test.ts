// A program's streams are real pipes. All output before the exit is read, with any other holder of the pipes and any speed of the
// reader, and nothing hangs.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FifoPool, openOutputPipe, readerOf } from '../../../src/drivers/contain/proc/pipes.ts'
import { openTextInput } from '../../../src/drivers/contain/proc/text-input.ts'
import { tempDir } from '../../support/tmp.ts'
import type { Program } from '../../../src/drivers/contain/containment-contract.ts'
import { openContainmentHarness, readText, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { findProcessesWith, readProcess, findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const kinds = await findWorkingKinds()
const MIB = 1024 * 1024

async function lengthOf(stream: Program['stdout'], pause?: () => Promise<unknown>): Promise<number> {
  let length = 0
  for await (const chunk of stream) {
    length += (chunk as Buffer).length
    await pause?.()
  }
  return length
}

test('a text is opened from a file in the first folder that can be written, and the file is deleted at once', async () => {
  await using dir = await tempDir()
  const descriptor = openTextInput('text', [join(dir.path, 'missing'), dir.path])
  expect(readFileSync(descriptor, 'utf8')).toBe('text')
  closeSync(descriptor)
  expect(readdirSync(dir.path)).toEqual([])
  expect(() => openTextInput('text', [join(dir.path, 'missing')])).toThrow('ENOENT')
})

test('what a program has written is read at its exit, also if the event loop has not seen it yet, and only once', async () => {
  await using dir = await tempDir()
  await using pool = new FifoPool(join(dir.path, 'pipes'))
  const [path = ''] = await pool.take(1)
  const { ours, theirs } = openOutputPipe(path)
  const reader = readerOf({ ours, theirs })
  const texts: string[] = []
  reader.on('data', (chunk: Buffer) => texts.push(chunk.toString()))
  const ended = once(reader, 'end')
  writeSync(theirs, 'last words')
  reader.onProgramExit()
  // The queue of ticks comes before the event loop looks at any pipe.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(texts).toEqual(['last words'])
  closeSync(theirs)
  await ended
  expect(texts).toEqual(['last words'])
})

test('the pipes of cancelled starts are used again', async () => {
  await using contained = await openContainmentHarness()
  const containment = await contained.open('group')
  const countPipes = (): number =>
    readdirSync(contained.dir)
      .filter((name) => name.startsWith('pipes'))
      .flatMap((name) => readdirSync(join(contained.dir, name))).length
  await (
    await containment.spawn(contained.request(['true']))
  ).exited
  const count = countPipes()
  for (let start = 0; start < count; start += 1) {
    const spawned = containment.spawn(contained.request(['true'], { stdin: 'pipe' }))
    await Promise.all([expect(spawned).rejects.toMatchObject({ code: 'NOT_FOUND' }), containment.stop({ signal: 'SIGKILL', graceMs: 0 })])
  }
  expect(countPipes()).toBe(count)
})

describe.each(kinds)('%s', (kind) => {
  test('10 MB of stdout and 1 MB of stderr arrive whole', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(
      contained.request(['sh', '-c', `head -c ${MIB} /dev/zero >&2 & head -c ${10 * MIB} /dev/zero; wait`]),
    )
    expect(await Promise.all([lengthOf(program.stdout), lengthOf(program.stderr)])).toEqual([10 * MIB, MIB])
    expect(await program.exited).toEqual({ code: 0, signal: null })
  })

  test('echo > /dev/stdout and > /dev/stderr work inside', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'echo out > /dev/stdout; echo err > /dev/stderr']))
    expect(await Promise.all([readText(program.stdout), readText(program.stderr)])).toEqual(['out\n', 'err\n'])
  })

  test('stdin is a real pipe too, and ending it is EOF', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'cat < /dev/stdin'], { stdin: 'pipe' }))
    program.stdin?.write('a\n')
    const [first] = (await once(program.stdout, 'data')) as [Buffer]
    expect(first.toString()).toBe('a\n')
    program.stdin?.end('b\n')
    expect(await readText(program.stdout)).toBe('b\n')
    expect(await program.exited).toEqual({ code: 0, signal: null })
  })

  test('stdin takes more than the capacity of a pipe', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['wc', '-c'], { stdin: 'pipe' }))
    program.stdin?.end(Buffer.alloc(3 * MIB))
    expect((await readText(program.stdout)).trim()).toBe(String(3 * MIB))
  })

  test('stdin with a text has all of it, also for a program that opens it again, and no pipe to write', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const text = 'line\n'.repeat(MIB / 5)
    const program = await containment.spawn(contained.request(['sh', '-c', 'wc -c; wc -c < /dev/stdin'], { stdin: { text } }))
    expect(program.stdin).toBeNull()
    expect((await readText(program.stdout)).split('\n').map(Number)).toEqual([text.length, text.length, 0])
  })

  test('a write to the stdin of a program that has exited is an error for the writer alone', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['true'], { stdin: 'pipe' }))
    await program.exited
    const error = await new Promise((resolve) => program.stdin?.write('x', resolve))
    expect(error).toBeInstanceOf(Error)
  })

  test('a grandchild that holds the pipe does not block the end, and earlier output is complete', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', `sleep 3600.${contained.token} & echo last words`]))
    expect(await readText(program.stdout)).toBe('last words\n')
    expect(await readText(program.stderr)).toBe('')
    expect(findProcessesWith(contained.token).length).toBe(1)
  })

  test('the output of a program that closes it ends, and the program lives on', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(
      contained.request(['sh', '-c', `echo out; echo err >&2; exec >&- 2>&-; exec sleep 3600.${contained.token}`]),
    )
    expect(await Promise.all([readText(program.stdout), readText(program.stderr)])).toEqual(['out\n', 'err\n'])
    await waitUntil(() => findSleepersWith(contained.token).length === 1)
  })

  test('the later output of a grandchild is read', async () => {
    await using contained = await openContainmentHarness()
    execFileSync('mkfifo', ['go'], { cwd: contained.dir })
    const containment = await contained.open(kind)
    const spawnSilent = (command: string): Promise<Program> =>
      containment.spawn(contained.request(['sh', '-c', `${command} exec >&- 2>&-; exec sleep 3600.${contained.token}`]))
    const lateOutput = readText((await spawnSilent('(read -r line < go; echo late) &')).stdout)
    // When the closed output of the later program has been noticed, the first one has been checked as well.
    await readText((await spawnSilent('')).stdout)
    writeFileSync(join(contained.dir, 'go'), 'now\n')
    expect(await lateOutput).toBe('late\n')
  })

  test('a grandchild that writes for ever does not block the end either', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'yes & echo first']))
    expect(await lengthOf(program.stdout)).toBeGreaterThan(0)
  })

  test('a slow reader loses nothing while a grandchild holds the pipe', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', `sleep 3600.${contained.token} & head -c ${MIB} /dev/zero`]))
    const waitShortly = () => new Promise((resolve) => setTimeout(resolve, 50))
    expect(await lengthOf(program.stdout, waitShortly)).toBe(MIB)
  })

  test('unread output blocks the writer, and does not fill memory', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['head', '-c', String(100 * MIB), '/dev/zero']))
    await waitUntil(() => readProcess(program.handle.pid)?.state === 'S')
    expect(program.stdout.readableLength).toBeLessThan(MIB)
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 5_000 })).outcome).toBe('stopped')
  })

  test('a hundred programs at once each have their own pipes', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const echoNumber = async (i: number) => readText((await containment.spawn(contained.request(['echo', String(i)]))).stdout)
    const indexes = Array.from({ length: 100 }, (_, i) => i)
    expect(await Promise.all(indexes.map(echoNumber))).toEqual(indexes.map((i) => `${i}\n`))
  })
})
