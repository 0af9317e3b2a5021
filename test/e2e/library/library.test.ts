// The published library: it is packed, installed beside a program, checked with its types, and run. The programs are the examples and
// every snippet of docs/reference/library.md.
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError, connect, type EventView, type Reeve } from '../../../src/index.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const run = promisify(execFile)
const SNIPPETS = [...readFileSync(join(ROOT, 'docs/reference/library.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
  (match) => match[1] ?? '',
)
const EXAMPLES = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts'))

let daemon: LocalDaemon
let reeve: Reeve
let consumer: TempDir

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  const model = await daemon.writeScript([
    { text: 'I look.', tools: [{ name: 'bash', input: { command: 'echo found' } }] },
    { text: 'All of them are tests.' },
  ])
  writeFileSync(daemon.paths.configFile, `defaultModel: ${JSON.stringify(model)}\n`)
  reeve = connect({ home: daemon.home, start: false })
  consumer = await installPackage()
}, 300_000)
afterAll(async () => {
  await consumer[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Makes a folder with the package as npm would install it, the types of Node, and all programs. */
async function installPackage(): Promise<TempDir> {
  const dir = await tempDir()
  // npm's cache and logs are in the folder; npm would put compiled code into the common folder for temporary files.
  const env = { ...testEnv(dir.path), PATH: process.env['PATH'], npm_config_cache: join(dir.path, 'npm'), NODE_DISABLE_COMPILE_CACHE: '1' }
  await run('npm', ['pack', '--ignore-scripts', '--offline', '--pack-destination', dir.path], { cwd: ROOT, env })
  const tarball = readdirSync(dir.path).find((name) => name.endsWith('.tgz'))
  mkdirSync(join(dir.path, 'node_modules'))
  await run('tar', ['-xzf', join(dir.path, tarball ?? ''), '-C', join(dir.path, 'node_modules')])
  cpSync(join(dir.path, 'node_modules/package'), join(dir.path, 'node_modules/reeve'), { recursive: true })
  for (const name of ['@types', 'undici-types']) symlinkSync(join(ROOT, 'node_modules', name), join(dir.path, 'node_modules', name))
  writeFileSync(join(dir.path, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(dir.path, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        moduleResolution: 'nodenext',
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        erasableSyntaxOnly: true,
        noEmit: true,
      },
      include: ['*.ts'],
    }),
  )
  for (const name of EXAMPLES) cpSync(join(ROOT, 'examples', name), join(dir.path, name))
  for (const [index, text] of SNIPPETS.entries()) writeFileSync(join(dir.path, `snippet-${index}.ts`), text)
  return dir
}

interface ProgramResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

async function runProgram(file: string, args: readonly string[] = [], input: readonly string[] = []): Promise<ProgramResult> {
  const child = spawn(process.execPath, [file, ...args], {
    cwd: daemon.work,
    env: { ...testEnv(daemon.work), REEVE_HOME: daemon.home },
    stdio: 'pipe',
  })
  const result = { stdout: '', stderr: '', code: null as number | null }
  child.stdout.on('data', (data: Buffer) => {
    result.stdout += data.toString()
  })
  child.stderr.on('data', (data: Buffer) => {
    result.stderr += data.toString()
  })
  child.stdin.end(input.map((line) => `${line}\n`).join(''))
  result.code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return result
}

const runExample = (name: string, ...args: [args?: readonly string[], input?: readonly string[]]): Promise<ProgramResult> =>
  runProgram(join(ROOT, 'examples', `${name}.ts`), ...args)

test('the types of the packed library fit a strict program: the examples and the snippets', async () => {
  expect([EXAMPLES.length, SNIPPETS.length]).toEqual([5, 5])
  const { stdout } = await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', consumer.path]).catch(
    (error: unknown) => error as { stdout: string },
  )
  expect(stdout).toBe('')
}, 300_000)

// The example about crews needs a repository and workers: test/e2e/cli/crew.test.ts runs it.
describe('the snippets of docs/reference/library.md', () => {
  test.each([
    [0, /^completed 0 All of them are tests\.\n$/],
    [1, /^bash ok\n$/],
    [2, /reeve ps -a/],
    [3, /^stopped 1\n$/],
  ])('number %i runs', async (index, stdout) => {
    const result = await runProgram(join(consumer.path, `snippet-${index}.ts`))
    expect(result).toEqual({ stdout: expect.stringMatching(stdout), stderr: '', code: 0 })
  })
})

describe('an example prints the expected output', () => {
  test('spawn-and-wait', async () => {
    expect(await runExample('spawn-and-wait')).toEqual({
      stdout: 'All of them are tests.\n',
      stderr: expect.stringMatching(/^completed: completed, 2 steps, \$0\.0000\n$/),
      code: 0,
    })
  })

  test('follow-events', async () => {
    expect(await runExample('follow-events')).toEqual({
      stdout: 'I look.\n[bash]\nAll of them are tests.\ncompleted\n',
      stderr: '',
      code: 0,
    })
  })

  test('task-list', async () => {
    const { stdout, stderr, code } = await runExample('task-list', ['one', 'two', 'three'])
    expect(
      stdout
        .split('\n')
        .filter((line) => line.startsWith('completed'))
        .toSorted(),
    ).toEqual(['completed: one', 'completed: three', 'completed: two'])
    expect([stderr, code]).toEqual(['0 tasks are left, $0.0000 spent\n', 0])
  })

  test('pause-tree', async () => {
    const { stdout, stderr, code } = await runExample('pause-tree')
    expect([
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(':')[0]),
      stderr,
      code,
    ]).toEqual([['paused 3', 'resumed', 'stopped 3'], '', 0])
    expect(stdout).toContain('suspended suspended suspended')
    expect(stdout).toContain('stopped stopped stopped')
  })

  test('chat', async () => {
    const { stdout, stderr, code } = await runExample('chat', [], ['which files are tests?', ''])
    expect(stdout).toContain('All of them are tests.')
    expect([stderr, code]).toEqual(['', 0])
  })
})

describe('a client', () => {
  const play = (body: object = {}) => reeve.spawn({ cwd: daemon.work, env: testEnv(daemon.work), intent: 'work', ...body })

  test('ends its streams and waits when it is closed, but ends no process', async () => {
    const { uuid } = await play({ interactive: true })
    const closing = connect({ home: daemon.home, start: false })
    const events: EventView[] = []
    const stream = (async () => {
      for await (const event of closing.events({ process: uuid, follow: true })) {
        events.push(event)
        if (event.type === 'process.ready') await closing[Symbol.asyncDispose]()
      }
    })()
    const wait = closing.wait(uuid).catch((error: unknown) => error)
    await stream
    expect(events.map(({ type }) => type)).toContain('process.ready')
    expect(await wait).toMatchObject({ name: 'ApiError', code: 'UNAVAILABLE' })
    expect((await reeve.get(uuid)).state).toBe('running')
    await reeve.signal(uuid, 'SIGKILL')
    await reeve.wait(uuid)
  })

  test('takes an AbortSignal with every call, and rejects with the reason of an abort', async () => {
    const { uuid } = await play()
    await reeve.wait(uuid)
    const signal = AbortSignal.abort(new Error('enough'))
    const calls: Promise<unknown>[] = [
      reeve.spawn({ intent: 'never' }, { signal }),
      reeve.get(uuid, { signal }),
      reeve.list({ signal }),
      reeve.count({ signal }),
      reeve.wait(uuid, { signal }),
      reeve.signal(uuid, 'SIGTERM', { signal }),
      reeve.signalTree(uuid, 'SIGTERM', { signal }),
      reeve.pause(uuid, { signal }),
      reeve.resume(uuid, { signal }),
      reeve.send(uuid, 'x', { signal }),
      reeve.remove(uuid, { signal }),
      reeve.steps(uuid, { signal }),
      reeve.logs(uuid, { signal }),
      reeve.usage(uuid, { signal }),
      reeve.agents(daemon.work, { signal }),
      reeve.daemon({ signal }),
      reeve.doctor({ signal }),
      reeve.doctorModels({ signal }),
      reeve.stopDaemon({ signal }),
    ]
    const answers = await Promise.allSettled(calls)
    expect(answers.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : 'it resolved'))).toEqual(
      calls.map(() => 'enough'),
    )
    for await (const event of reeve.events({ signal })) throw new Error(`an event came: ${event.type}`)
    expect((await reeve.get(uuid)).status).toBe('completed')
  })

  test('adds up the usage of a process and all its descendants', async () => {
    const root = await play({ interactive: true })
    const child = await play({ parent: root.uuid, interactive: true })
    const grandchild = await play({ parent: child.uuid })
    await reeve.wait(grandchild.uuid)
    for (const { uuid } of [child, root]) {
      await reeve.wait(uuid, { for: 'ready' })
      await reeve.signal(uuid, 'SIGKILL')
      await reeve.wait(uuid)
    }
    const [rootUsage, childUsage, one] = await Promise.all([root, child, grandchild].map(({ uuid }) => reeve.usage(uuid)))
    expect([rootUsage?.processes, childUsage?.processes, one?.processes]).toEqual([3, 2, 1])
    const countSteps = async (uuid: string): Promise<number> => (await reeve.get(uuid)).usage.steps
    expect([one?.steps, (childUsage?.steps ?? 0) - (one?.steps ?? 0), (rootUsage?.steps ?? 0) - (childUsage?.steps ?? 0)]).toEqual([
      await countSteps(grandchild.uuid),
      await countSteps(child.uuid),
      await countSteps(root.uuid),
    ])
    expect((await reeve.usage()).processes).toBe((await reeve.list({ all: true })).length)
  })

  test('distinguishes errors by their code', async () => {
    const error: unknown = await reeve.get('nobody').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'NOT_FOUND', hint: expect.stringMatching(/\S/) })
    const { uuid } = await play()
    await reeve.wait(uuid)
    const removalResult = await reeve.remove(uuid)
    expect(await reeve.get(uuid).catch((reason: unknown) => reason)).toMatchObject({
      code: 'COLLECTED',
      details: { removedAt: removalResult.removedAt },
    })
  })
})
