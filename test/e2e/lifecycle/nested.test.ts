// `reeve` as a program of a process runs it. New processes are children of that process, within its permissions and its kill.
// For a limited process, the command line may do no more than its own tools.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { CLI } from '../../support/daemon/cli.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'

let home: DaemonHome
let other: ProcessView
beforeAll(async () => {
  home = await DaemonHome.create()
  await home.start()
  other = await home.spawn({ argv: ['sleep', '1000'], name: 'other' })
})
afterAll(async () => home[Symbol.asyncDispose](), 60_000)

const reeve = `"${process.execPath}" "${CLI}"`
const env = (): Record<string, string> => testEnv(home.path)

/** Lets an agent run these commands with its `bash`, one after the other; returns each exit code and stderr. */
async function tryCommands(commands: readonly string[], body: Partial<SpawnBody>): Promise<string[]> {
  const outputFile = join(home.work, 'said')
  const script = commands
    .map((command, index) => `${reeve} ${command} > "${outputFile}-${index}" 2>&1; echo "exit $?" >> "${outputFile}-${index}"`)
    .join('\n')
  const model = home.writeScript([{ tools: [{ name: 'bash', input: { command: script } }] }, { text: 'done' }])
  const { uuid } = await home.spawn({ model, env: env(), ...body })
  expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  return commands.map((_, index) => readFileSync(`${outputFile}-${index}`, 'utf8'))
}

describe('a nested run', () => {
  test('is a child, which a kill of the subtree ends and which has no more permissions than its parent', async () => {
    const argv = ['sh', '-c', `${reeve} run -d --name inner -- sleep 1000 && exec sleep 1000`]
    const outerProcess = await home.spawn({ argv, env: env(), deny: ['signal'] })
    const innerProcess = await home.waitForView(outerProcess.uuid, ({ children }) => children.length === 1).then(() => home.view('inner'))
    expect(innerProcess).toMatchObject({ ppid: outerProcess.pid, parentUuid: outerProcess.uuid, capabilities: { signals: 'none' } })
    await home.waitForView(innerProcess.uuid, ({ status }) => status === 'working')
    await home.signal(outerProcess.uuid, { signal: 'SIGTERM', subtree: true })
    expect([await home.waitForEnd(outerProcess.uuid), await home.waitForEnd(innerProcess.uuid)]).toEqual([
      expect.objectContaining({ status: 'stopped' }),
      expect.objectContaining({ status: 'stopped' }),
    ])
  })

  test('is a child also when it is a crew, a run of a compose file or a supervisor', async () => {
    const dir = mkdtempSync(join(home.work, 'nested-'))
    const model = home.writeScript([{ tools: [{ name: 'bash', input: { command: 'sleep 1000' } }] }])
    writeFileSync(
      join(dir, 'reeve.yaml'),
      `agents:\n  a: { command: [sleep, "1000"] }\nsupervisors:\n  s: { children: [{ id: a, command: [sleep, "1000"] }] }\ncrews:\n  c: { worktrees: false, reviews: false, workers: 1, model: "${model}", tasks: [{ id: t, text: do it }] }\n`,
    )
    const argv = ['sh', '-c', `${reeve} crew up c -d && ${reeve} compose up -d && ${reeve} run -d --supervisor s; exec sleep 1000`]
    const outerProcess = await home.spawn({ argv, env: env(), cwd: dir })
    const { children } = await home.waitForView(outerProcess.uuid, (view) => view.children.length === 3)
    const innerProcesses = await Promise.all(children.map((uuid) => home.view(uuid)))
    expect(innerProcesses.map(({ driver, parentUuid }) => [driver, parentUuid]).toSorted()).toEqual(
      ['compose', 'crew', 'supervisor'].map((driver) => [driver, outerProcess.uuid]),
    )
    await home.signal(outerProcess.uuid, { signal: 'SIGKILL', subtree: true })
    for (const { uuid } of [outerProcess, ...innerProcesses]) expect((await home.waitForEnd(uuid)).state).toBe('dead')
  })

  test('stays below the caller, whatever parent it names', async () => {
    const [top = '', sibling = ''] = await tryCommands(['run -d --parent 0 -- sleep 1000', 'run -d --parent other -- sleep 1000'], {})
    expect([top, sibling]).toEqual([
      expect.stringMatching(/PID 0 is the kernel[^]*exit 1(25)?\n$/),
      expect.stringMatching(/is not below process \d+, so it cannot be the parent[^]*exit 1(25)?\n$/),
    ])
    expect((await home.view('other')).children).toEqual([])
  })
})

describe('command line requests of a limited process', () => {
  const DENIED: readonly (readonly [what: string, body: Partial<SpawnBody>, commands: readonly string[]])[] = [
    ['signals', { deny: ['signal'] }, ['kill other', 'stop other', 'pause other']],
    ['agents', { deny: ['spawn'] }, ['run -- true', 'run -d --parent other -- true']],
    ['the network', { deny: ['network'] }, ['rm --force other', 'resume --allow network other', 'daemon stop --now', 'pin other']],
    ['money', { limits: { budgetUsd: 1 } }, ['resume --budget-usd +100 other', 'daemon stop --now']],
  ]
  test.each(DENIED)('a process that may not use %s is refused', async (_, body, commands) => {
    const outputs = await tryCommands(commands, body)
    for (const [at, text] of outputs.entries()) expect([commands[at], text]).toEqual([commands[at], expect.not.stringMatching(/exit 0\n$/)])
    expect(await home.view('other')).toMatchObject({ uuid: other.uuid, status: 'working', holds: [], limits: {}, pinned: false })
  })

  const bareEnv = (): string => `env -i "HOME=${home.path}" "REEVE_HOME=${home.path}" PATH=/usr/bin:/bin`
  const FORBIDDEN_REQUESTS = [
    'kill other',
    'rm --force other',
    'run -d -- sleep 1000',
    'run -d --parent 0 -- sleep 1000',
    'resume --budget-usd +1 other',
    'daemon stop --now',
  ]

  test.each(['cgroup', 'pidns', 'group'] as const)(
    '%s: a program that empties its environment and tries to restore the socket is refused as well',
    async (containment) => {
      const probe = (await home.client.get<{ checks: { name: string; ok: boolean }[] }>('/v1/doctor')).checks
      const isWorking = (name: string): boolean => probe.some((check) => check.name === name && check.ok)
      if (!isWorking(`containment ${containment}`) || !isWorking('network off')) return
      const socket = home.paths.socket
      const outputFile = join(home.work, `output-${containment}`)
      // Root may unmount the cover of the socket; an ordinary user may not, nor in his own namespaces.
      const back =
        process.geteuid?.() === 0 ? 'true' : `umount "${socket}"; unshare -Urm umount "${socket}"; ls "${join(home.path, 'doors')}"`
      const script = [
        `(${back}) 2> /dev/null`,
        ...FORBIDDEN_REQUESTS.map(
          (request, index) =>
            `${bareEnv()} ${reeve} ${request} > "${outputFile}-${index}" 2>&1; echo "exit $?" >> "${outputFile}-${index}"`,
        ),
      ].join('\n')
      const model = home.writeScript([{ tools: [{ name: 'bash', input: { command: script } }] }, { text: 'done' }])
      const countBefore = (await home.listProcesses()).length
      const { uuid } = await home.spawn({ model, env: env(), containment, deny: ['signal', 'spawn', 'network'] })
      expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', containment })
      const outputs = FORBIDDEN_REQUESTS.map((_, index) => readFileSync(`${outputFile}-${index}`, 'utf8'))
      for (const [at, text] of outputs.entries())
        expect([FORBIDDEN_REQUESTS[at], text]).toEqual([
          FORBIDDEN_REQUESTS[at],
          expect.stringMatching(/is limited|may not|PID 0[^]*exit 1(25)?\n$/),
        ])
      expect(await home.view('other')).toMatchObject({ uuid: other.uuid, status: 'working', limits: {} })
      expect((await home.listProcesses()).length).toBe(countBefore + 1)
    },
  )

  test('reading verbs are allowed', async () => {
    expect((await tryCommands(['ps', 'inspect other'], { deny: ['signal', 'spawn'] })).map((text) => text.split('\n').at(-2))).toEqual([
      'exit 0',
      'exit 0',
    ])
  })

  test("a note says that this holds while the daemon's socket is hidden from the programs", async () => {
    const { uuid } = await home.spawn({ argv: ['true'], deny: ['signal', 'spawn'] })
    expect((await home.view(uuid)).capabilities.notes).toContain(
      "signals, spawns: enforced while its programs cannot see the daemon's socket; as root they can undo this",
    )
    await home.waitForEnd(uuid)
  })
})
