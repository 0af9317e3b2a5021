// The search in transcripts, by the API, the library and the command line: order, limits, forks, times, and safe output.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SearchView } from '../../../src/api/views/search.ts'
import { connect } from '../../../src/index.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
const search = (query: Readonly<Record<string, string | number | boolean>>): Promise<SearchView> => daemon.client.get('/v1/search', query)
const linesOf = ({ matches }: SearchView): string[] =>
  matches.map(({ name, step, kind, before, match, after }) => `${name} ${step} ${kind}: ${before}[${match}]${after}`)

async function runFinder(): Promise<string> {
  const { uuid } = await daemon.spawnScripted(
    [{ text: 'I look for the needle.', tools: [{ name: 'bash', input: { command: 'echo a needle' } }] }, { text: 'no Needle' }],
    { name: 'finder', intent: 'find the needle' },
  )
  await daemon.waitForEnd(uuid)
  return uuid
}

async function runPrinter(name: string, text: string): Promise<string> {
  const { uuid } = await daemon.spawn({ argv: ['printf', text], name })
  await daemon.waitForEnd(uuid)
  return uuid
}

describe('a search', () => {
  test('finds messages, texts, calls, results and output, the newest process first', async () => {
    await runFinder()
    await runPrinter('printer', 'one\nsome needle\n')
    const found = await search({ text: 'needle' })
    expect(linesOf(found)).toEqual([
      'printer null output: some [needle]',
      'finder null message: find the [needle]',
      'finder 1 text: I look for the [needle].',
      'finder 1 call: echo a [needle]',
      'finder 1 result: a [needle]',
    ])
    expect(found).toMatchObject({ processes: 2, cutBy: null })
    expect(linesOf(await search({ text: 'NEEDLE', ignoreCase: 1, in: 'finder' }))).toContain('finder 2 text: no [Needle]')
  })

  test('keeps the newest matches within its limit, and reports that there are more', async () => {
    await runFinder()
    const { matches, cutBy } = await search({ text: 'needle', limit: 2 })
    expect([matches.map(({ kind }) => kind), cutBy]).toEqual([['call', 'result'], 'matches'])
    expect((await search({ text: 'needle', limit: 4 })).cutBy).toBe(null)
  })

  test('reads living processes, and nothing from before its time', async () => {
    const { uuid } = await daemon.spawnShell('echo needle; exec sleep 600', { name: 'alive' })
    const { at } = await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')
    expect((await search({ text: 'needle' })).matches).toMatchObject([{ name: 'alive', status: 'working' }])
    expect((await search({ text: 'needle', since: Date.parse(at) })).matches).toHaveLength(1)
    expect((await search({ text: 'needle', since: Date.parse(at) + 1 })).matches).toEqual([])
  })

  test('finds what a fork shares with its origin once, unless only the fork is searched', async () => {
    const origin = await runFinder()
    const { process: fork } = await daemon.resume(origin, { fork: true, fromStep: 1, name: 'fork' })
    await daemon.waitForEnd(fork.uuid)
    const results = async (query: object) =>
      (await search({ text: 'a needle', ...query })).matches.filter(({ kind }) => kind === 'result').map(({ name }) => name)
    expect([await results({}), await results({ in: 'fork' }), await results({ in: `fork,${origin}` })]).toEqual([
      ['finder'],
      ['fork'],
      ['finder'],
    ])
    await daemon.client.delete(`/v1/processes/${origin}`)
    expect(await results({})).toEqual(['fork'])
  })

  test('reads output over many pages while the API answers', async () => {
    const { uuid } = await daemon.spawnShell('seq 1 300000; echo the end', { name: 'long' })
    await daemon.waitForEnd(uuid)
    let hasFound = false
    const found = search({ text: '\n77777\n' }).finally(() => (hasFound = true))
    let answers = 0
    while (!hasFound) {
      await daemon.view(uuid)
      answers += 1
    }
    expect(linesOf(await found)).toEqual(['long null output: 77776[\n77777\n]77778'])
    expect(answers).toBeGreaterThan(1)
  })

  test('is refused for an unknown process, and without a text', async () => {
    await expect(search({ text: 'x', in: 'nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(search({ text: '' })).rejects.toMatchObject({ code: 'INVALID' })
    await using library = connect({ home: daemon.home, start: false })
    expect(await library.search('nothing', { processes: [], ignoreCase: true })).toMatchObject({ matches: [] })
  })
})

describe('reeve search', () => {
  test('prints the matches by process, marked, and exits with 1 if there is none', async () => {
    await runFinder()
    const { code, stdout, stderr } = await reeve('search', 'needle', 'finder')
    expect(code).toBe(0)
    expect(stdout.replaceAll(/\d\d:\d\d:\d\d/g, 'TIME')).toBe(
      'PID 1 (finder) completed\n' +
        '  -       TIME  message    find the «needle»\n' +
        '  step 1  TIME  text       I look for the «needle».\n' +
        '  step 1  TIME  call       echo a «needle»\n' +
        '  step 1  TIME  result     a «needle»\n',
    )
    expect(stderr).toBe('4 lines in 1 process, of 1 process searched\n')
    expect((await reeve('search', '--limit', '1', 'needle')).stderr).toContain('there are more')
    expect(await reeve('search', 'nowhere')).toEqual({ code: 1, stdout: '', stderr: 'not found in 1 process\n' })
    expect(await reeve('search', 'needle', 'nobody')).toMatchObject({ code: 3 })
    expect([(await reeve('search')).code, (await reeve('search', '--limit', '0', 'x')).code]).toEqual([64, 64])
    expect(JSON.parse((await reeve('search', '--json', '-i', 'NO NEEDLE')).stdout)).toMatchObject({
      version: 1,
      matches: [{ pid: 1, step: 2, match: 'no Needle' }],
      cutBy: null,
    })
  })

  test.runIf(HAS_TERMINAL)('prints no escape code of a program on a terminal, and fits its width', async () => {
    await runPrinter('evil', String.raw`\033]0;title\007 \033[2J needle \302\2332J \007 ${'x'.repeat(200)}\n`)
    using terminal = new Terminal(daemon.home, ['search', 'needle'], { columns: 50, env: { NO_COLOR: '' } })
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.raw).toContain('\x1b[31mneedle\x1b[0m')
    expect(terminal.raw).not.toMatch(/\x1b\]|\x1b\[2J|\x07|\u009b/)
    for (const line of terminal.text.split('\n')) expect(line.length).toBeLessThanOrEqual(50)
  })
})
