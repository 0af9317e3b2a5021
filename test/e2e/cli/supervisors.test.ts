// Supervisors and restart policies on the command line: a supervisor of a reeve.yaml with its children and new children, in inspect and ps,
// and a run that is followed over its restarts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

function writeProject(yaml: string): void {
  mkdirSync(daemon.work, { recursive: true })
  writeFileSync(join(daemon.work, 'reeve.yaml'), yaml)
}

test('a supervisor of reeve.yaml starts with its whole subtree, inspect lists it, a child joins it, and a stop ends it in reverse order', async () => {
  writeProject(`supervisors:
  team:
    strategy: rest_for_one
    maxRestarts: 3
    window: 5m
    children:
      - { id: server, name: server, command: [sleep, "600"], restart: always }
      - { id: inner, supervisor: night }
  night: { children: [{ id: watch, name: watch, command: [sleep, "600"], onComplete: fresh }] }
`)
  const { code, stdout } = await reeve('run', '-d', '--supervisor', 'team')
  expect(code).toBe(0)
  const uuid = stdout.trim()
  await daemon.waitForStatus('watch', 'working')
  await daemon.waitForStatus('server', 'working')
  expect(
    await reeve('run', '-d', '--parent', 'team', '--child-id', 'extra', '--restart', 'temporary', '--name', 'extra', '--', 'sleep', '600'),
  ).toMatchObject({ code: 0 })
  await daemon.waitForStatus('extra', 'working')
  const inspected = (await reeve('inspect', 'team')).stdout
  expect(inspected).toMatch(/^strategy +rest_for_one, 3 restarts in 5m0?0?s?/m)
  expect(inspected).toMatch(/server {2}working \(PID \d+\) {2}permanent, 0 restarts {2}[0-9a-f]{8}/)
  expect(inspected).toMatch(/extra {2}working \(PID \d+\) {2}temporary/)
  expect((await reeve('inspect', 'watch')).stdout).toMatch(/^child id +watch$/m)
  expect((await reeve('ps')).stdout).toMatch(/team +supervisor +ready/)
  expect(await reeve('stop', 'team')).toMatchObject({ code: 0 })
  const endedUuids = []
  for await (const event of daemon.client.events('/v1/events', { query: { after: 0 } }))
    if (event.type === 'process.exited') endedUuids.push(event.uuid)
  const names = await Promise.all(endedUuids.map(async (each) => (await daemon.view(each)).name))
  expect(names).toEqual(['extra', 'watch', 'night', 'server', 'team'])
  expect((await daemon.view(uuid)).status).toBe('stopped')
})

test('an invalid definition or flag is refused with its reason, and nothing starts', async () => {
  writeProject('supervisors: { team: { children: [{ id: a, supervisor: team }] } }')
  expect(await reeve('run', '-d', '--supervisor', 'team')).toMatchObject({
    code: 125,
    stderr: expect.stringContaining('supervisors contain each other in a circle, or are nested too deeply: team > team') as string,
  })
  expect(await reeve('run', '-d', '--supervisor', 'other')).toMatchObject({
    code: 125,
    stderr: expect.stringContaining('there is no supervisor `other`') as string,
  })
  expect(await reeve('run', '--supervisor', 'team', 'do it')).toMatchObject({
    stderr: expect.stringContaining('takes no intent and no command') as string,
  })
  expect(await reeve('run', '--restart', 'sometimes', '--', 'true')).toMatchObject({
    stderr: expect.stringContaining('choose from no, on-failure, always') as string,
  })
  expect(await reeve('run', '-d', '--child-id', 'x', '--', 'true')).toMatchObject({
    stderr: expect.stringContaining('PID 0 is not one') as string,
  })
  expect((await reeve('ps', '-aq')).stdout).toBe('')
})

test('`run` follows its process over its restarts, and returns the code of the last incarnation', async () => {
  const { code, stdout } = await reeve(
    'run',
    '--restart',
    'on-failure',
    '--',
    'sh',
    '-c',
    'echo again >> tries; cat tries | wc -l | tr -d " "; test $(wc -l < tries) -ge 2',
  )
  expect([code, stdout]).toEqual([0, '1\n2\n'])
})
