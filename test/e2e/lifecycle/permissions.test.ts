// The permissions of a process, through the API and the command line, with real files, programs and a real server. The permissions are
// enforced, each refusal is shown, and they stay over a resume, a fork, an export and an import, and for children.
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ImportedView } from '../../../src/api/views/archive.ts'
import type { AgentsView } from '../../../src/api/views/agents.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { factOf, lineOf } from '../../../src/daemon/archive/event-lines.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { ProcessSpec } from '../../../src/kernel/model/process-spec.ts'

let daemon: LocalDaemon
let work: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  work = daemon.work
  mkdirSync(join(work, 'src'))
  writeFileSync(join(work, 'src/in.txt'), 'inside')
  writeFileSync(join(work, 'top.txt'), 'above')
  symlinkSync('..', join(work, 'src/up'))
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const call = (name: string, input: object): object => ({ text: '', tools: [{ name, input }] })
/** Calls that read inside, read and write outside, and run a program. */
const ATTEMPTS = [
  call('read', { path: 'src/in.txt' }),
  call('read', { path: 'src/up/top.txt' }),
  call('write', { path: 'top.txt', content: 'mine' }),
  call('bash', { command: 'cat top.txt' }),
  { text: 'done' },
]
const ALLOWED_SRC = { allow: ['read:src', 'write:src'] }

async function readRefusals(ref: string): Promise<unknown[]> {
  return (await daemon.readHistory(ref))
    .filter((event) => event['fact'] === 'capability.refused')
    .map(({ what, detail }) => [what, String(detail).split(':')[0]])
}

const finishedCalls = (events: readonly EventView[]): unknown[] =>
  events.filter((event) => event['fact'] === 'tool.finished').map(({ name, outcome }) => `${String(name)} ${String(outcome)}`)

async function tryTools(body: Partial<SpawnBody>): Promise<ProcessView> {
  const { uuid } = await daemon.spawnScripted(ATTEMPTS, body)
  return daemon.waitForEnd(uuid)
}

describe('an agent with allowed folders', () => {
  test('reads and writes there and nowhere else; a refusal is an event, a line of the log and a tool result', async () => {
    const view = await tryTools(ALLOWED_SRC)
    expect(finishedCalls(await daemon.readHistory(view.uuid))).toEqual(['read ok', 'read denied', 'write denied', 'bash denied'])
    expect(await readRefusals(view.uuid)).toEqual([
      ['paths', 'read'],
      ['paths', 'write'],
      ['tools', 'bash'],
    ])
    expect(readFileSync(join(work, 'top.txt'), 'utf8')).toBe('above')
    expect(view.capabilities).toMatchObject({
      deny: ['bash'],
      paths: { read: [join(work, 'src')], write: [join(work, 'src')] },
      enforced: { tools: 'yes', paths: 'yes', network: 'yes' },
      notes: [],
    })
    const { lines } = await daemon.client.get<{ lines: { text: string }[] }>(`/v1/processes/${view.uuid}/logs`)
    expect(lines.map(({ text }) => text)).toContain('refused: bash')
  })

  test('has a shell where its definition names one, with a note that the shell is not limited', async () => {
    const view = await tryTools({ allow: ['read', 'bash', 'read:src'] })
    expect(finishedCalls(await daemon.readHistory(view.uuid))).toEqual(['read ok', 'read denied', 'write denied', 'bash ok'])
    expect(view.capabilities).toMatchObject({
      tools: ['read', 'bash'],
      enforced: { paths: 'part' },
      notes: ['paths: not enforced for bash'],
    })
    const { stdout } = await runCli(daemon.home, ['inspect', view.uuid])
    expect(stdout).toMatch(/^reads +\S+\/src$/m)
    expect(stdout).toMatch(/^not enforced +paths: not enforced for bash$/m)
  })

  test('has its folders from its agent file, and a flag replaces them', async () => {
    mkdirSync(join(work, '.reeve/agents'), { recursive: true })
    writeFileSync(
      join(work, '.reeve/agents/held.md'),
      '---\npaths: { read: [.], write: [./src] }\nspawns: [coder]\nsignals: none\n---\nYou are held.\n',
    )
    const { agents } = await daemon.client.get<AgentsView>('/v1/agents', { cwd: work })
    expect(agents.find(({ name }) => name === 'held')?.capabilities).toEqual({
      paths: { read: ['.'], write: ['./src'] },
      network: 'on',
      signals: 'none',
      spawns: ['coder'],
    })
    const byFile = await tryTools({ agent: 'held' })
    expect(finishedCalls(await daemon.readHistory(byFile.uuid))).toEqual(['read ok', 'read ok', 'write denied', 'bash denied'])
    expect(byFile.capabilities).toMatchObject({ paths: { read: [work], write: [join(work, 'src')] }, spawns: ['coder'], signals: 'none' })
    const byFlag = await daemon.waitForEnd(
      (await daemon.spawnScripted([{ text: 'x' }], { agent: 'held', allow: ['write:top.txt', 'spawn'] })).uuid,
    )
    expect(byFlag.capabilities).toMatchObject({ paths: { read: [work], write: [join(work, 'top.txt')] }, spawns: null })
  })

  test("has the folders of its own worktree, and its fork has those of the fork's worktree", async () => {
    const repository = Repository.make(join(work, 'repo'), work)
    repository.commit({ 'src/a.txt': 'a\n', 'b.txt': 'b\n' })
    const { uuid } = await daemon.spawnScripted(
      [
        call('write', { path: 'src/a.txt', content: 'new' }),
        call('write', { path: 'b.txt', content: 'new' }),
        { text: 'done' },
        call('write', { path: 'src/a.txt', content: 'forked' }),
        { text: 'done' },
      ],
      { cwd: repository.dir, worktree: true, allow: ['read:.', 'write:src'] },
    )
    const first = await daemon.waitForEnd(uuid)
    expect(finishedCalls(await daemon.readHistory(uuid))).toEqual(['write ok', 'write denied'])
    expect(first.capabilities.paths).toEqual({ read: [first.worktree?.dir], write: [join(first.worktree?.dir ?? '', 'src')] })
    const { process } = await daemon.resume(uuid, { fork: true, withFiles: true, message: 'on' })
    const fork = await daemon.waitForEnd(process.uuid)
    expect(fork.capabilities.paths).toEqual({ read: [fork.worktree?.dir], write: [join(fork.worktree?.dir ?? '', 'src')] })
    expect(readFileSync(join(fork.worktree?.dir ?? '', 'src/a.txt'), 'utf8')).toBe('forked')
    expect(readFileSync(join(first.worktree?.dir ?? '', 'src/a.txt'), 'utf8')).toBe('new')
  })
})

describe('the permissions of an agent', () => {
  test('stay the same at a resume, in a fork, and after an export and an import', async () => {
    const capabilities = (await tryTools(ALLOWED_SRC)).capabilities
    const items = [...ATTEMPTS, ...ATTEMPTS, ...ATTEMPTS]
    const { uuid } = await daemon.spawnScripted(items, ALLOWED_SRC)
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { message: 'again' })
    expect((await daemon.waitForEnd(uuid)).capabilities).toEqual(capabilities)
    const {
      process: { uuid: fork },
    } = await daemon.resume(uuid, { fork: true, message: 'other' })
    expect((await daemon.waitForEnd(fork)).capabilities).toEqual(capabilities)
    expect(await readRefusals(fork)).toHaveLength(3)
    await daemon.client.post(`/v1/processes/${uuid}/export`, { dir: join(work, 'out') })
    await using other = await LocalDaemon.start()
    const {
      processes: [back],
    } = await other.client.post<ImportedView>('/v1/import', { dir: join(work, 'out') })
    await other.resume(back?.uuid ?? '', { message: 'there' })
    expect((await other.waitForEnd(back?.uuid ?? '')).capabilities).toEqual(capabilities)
    expect(other.errors).toEqual([])
  })

  test('can be extended by the user at a resume', async () => {
    const { uuid } = await tryTools(ALLOWED_SRC)
    await daemon.resume(uuid, { message: 'try again', allow: ['write:top.txt', 'network'], deny: ['grep'] })
    const { capabilities } = await daemon.waitForEnd(uuid)
    expect(capabilities.paths).toEqual({
      read: [join(work, 'src'), join(work, 'top.txt')],
      write: [join(work, 'src'), join(work, 'top.txt')],
    })
    expect(capabilities.deny).toEqual(['bash', 'grep'])
  })

  test.each([
    ['an invalid path', { paths: { read: ['src'] } }],
    ['a path instead of a list', { paths: { read: '/' } }],
    ['an unknown value', { network: 'OFF' }],
    ['a limit of another version', { cameras: 'off' }],
  ])('an import with %s in its spec is refused', async (_, capabilities) => {
    const { uuid } = await tryTools(ALLOWED_SRC)
    const dir = join(work, 'out')
    await daemon.client.post(`/v1/processes/${uuid}/export`, { dir })
    const file = join(dir, 'steps', uuid, 'events.jsonl')
    const [first = '', ...lines] = readFileSync(file, 'utf8').split('\n')
    const fact = factOf(Buffer.from(first))
    if (typeof fact === 'string' || fact.body.type !== 'process.spawned') throw new Error(`no spawn: ${first}`)
    const spec = { ...fact.body.spec, capabilities: capabilities as ProcessSpec['capabilities'] } as ProcessSpec
    writeFileSync(file, [lineOf({ ...fact, body: { ...fact.body, spec } }), ...lines].join('\n'))
    await using other = await LocalDaemon.start()
    const { status, body } = await other.post('/v1/import', { dir })
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining('its spec cannot be used: capabilities')])
  })
})

describe('a child', () => {
  test("has its parent's permissions, and gets a note about what it was not given", async () => {
    const parent = await daemon.spawnScripted([{ text: 'x' }], { ...ALLOWED_SRC, interactive: true })
    await daemon.waitUntilReady(parent.uuid)
    const { uuid } = await daemon.spawnScripted(ATTEMPTS, { parent: parent.uuid, allow: ['read', 'write', 'bash', 'write:.'] })
    const child = await daemon.waitForEnd(uuid)
    expect(finishedCalls(await daemon.readHistory(uuid))).toEqual(['read ok', 'read denied', 'write denied', 'bash denied'])
    expect(child.capabilities.paths).toEqual(parent.capabilities.paths)
    expect((await daemon.readHistory(uuid)).map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^write:.*: not permitted to its parent$/),
    )
    const { status, body } = await daemon.post('/v1/processes', { argv: ['cat', 'top.txt'], cwd: work, parent: parent.uuid })
    expect([status, body.error?.code]).toEqual([403, 'PERMISSION'])
  })
})

describe('without a network', () => {
  const server = createServer((socket) => socket.end('hello'))
  let port: number
  beforeEach(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterEach(async () => {
    server.close()
    await once(server, 'close')
  })

  const connect = (): string[] => [
    process.execPath,
    '-e',
    `require('node:net').connect(${port}, '127.0.0.1').on('data', (data) => console.log(String(data))).on('error', ({ code }) => console.log(code))`,
  ]

  test("a command and an agent's shell reach no server, and other processes do", async () => {
    const withNetwork = await daemon.waitForEnd((await daemon.spawn({ argv: connect() })).uuid)
    expect(await daemon.readOutput(withNetwork.uuid)).toBe('hello\n')
    const withoutNetwork = await daemon.waitForEnd((await daemon.spawn({ argv: connect(), deny: ['network'] })).uuid)
    expect(await daemon.readOutput(withoutNetwork.uuid)).toMatch(/^E(NETUNREACH|ADDRNOTAVAIL)\n$/)
    expect(withoutNetwork.capabilities.network).toBe('off')
    const quoted = connect()
      .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
      .join(' ')
    const agent = await daemon.waitForEnd(
      (await daemon.spawnScripted([call('bash', { command: quoted }), { text: '{{lastResult}}' }], { deny: ['network'] })).uuid,
    )
    expect(agent.lastText).toMatch(/^E(NETUNREACH|ADDRNOTAVAIL)/)
  })

  test('a plain command is refused with a permission that reeve cannot enforce', async () => {
    const { body } = await daemon.post('/v1/processes', { argv: ['true'], cwd: work, allow: ['read:src'], deny: ['bash'] })
    expect(body.error).toMatchObject({ code: 'INVALID', message: 'a plain command has no allow, deny: reeve cannot enforce that' })
    expect(existsSync(join(work, 'src'))).toBe(true)
  })
})

test.each([
  [{ deny: ['write:/etc'] }, '`write:/etc` cannot be denied alone'],
  [{ allow: ['read:'] }, '`read:` names nothing'],
  [{ allow: ['raed'] }, 'there is no tool `raed`; did you mean `read`?'],
])('%j is refused with a message', async (args, message) => {
  const { status, body } = await daemon.post('/v1/processes', { intent: 'x', model: 'script:x.yaml', cwd: work, ...args })
  expect([status, body.error?.message]).toEqual([400, expect.stringContaining(message)])
})
