// An ACP agent that reports that it is not logged in has not failed. Its process is held, names the command that logs in,
// and continues when the user has logged in.
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SpawnBody } from '../../../src/api/views/process.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
const ADVICE = /it is not logged in: Authentication required\. Log in with `claude \/login`, or set ANTHROPIC_API_KEY in the environment/

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const logIn = (): void => writeFileSync(join(daemon.work, 'login'), '')
const promptCount = (): number =>
  readFileSync(join(daemon.work, 'log'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('prompt ')).length

/** Claude Code's adapter, which demands a login when it opens a session (`auth`) or at a prompt. */
function claudeBody(option: 'auth' | 'auth-prompt'): Pick<SpawnBody, 'agent' | 'env' | 'permissions' | 'gateway'> {
  writeFileSync(
    join(daemon.work, 'claude-agent-acp'),
    `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' 'log=${daemon.work}/log' 'sessions=${daemon.work}' '${option}=${daemon.work}/login' modes\n`,
    { mode: 0o755 },
  )
  const env = testEnv(daemon.work)
  return { agent: 'claude', permissions: 'allow', gateway: 'off', env: { ...env, PATH: [daemon.work, env['PATH']].join(delimiter) } }
}

test('an agent that demands a login at a prompt is held; resumed after the login, it does its work', async () => {
  const { uuid } = await daemon.spawn({ ...claudeBody('auth-prompt'), intent: 'say done' })
  const heldView = await daemon.waitForStatus(uuid, 'suspended')
  expect(heldView).toMatchObject({ holds: [{ reason: 'credentials', by: 'system' }], note: expect.stringMatching(ADVICE) })
  await daemon.resume(uuid)
  await expect
    .poll(async () => (await daemon.readFactTypes(uuid)).filter((fact) => fact === 'process.held').length, { timeout: 60_000 })
    .toBe(2)
  logIn()
  await daemon.resume(uuid)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'done' })
  expect(promptCount()).toBe(1)
})

test.each<[string, Partial<SpawnBody>]>([
  ['without restarts', {}],
  ['with restarts', { restart: 'on-failure' }],
])('an agent that demands a login before its session is held, %s; resumed after the login, it does its work', async (_, options) => {
  const { uuid } = await daemon.spawn({ ...claudeBody('auth'), intent: 'say done', ...options })
  const heldView = await daemon.waitForStatus(uuid, 'suspended')
  expect(heldView).toMatchObject({ holds: [{ reason: 'credentials', by: 'system' }], note: expect.stringMatching(ADVICE) })
  await daemon.resume(uuid)
  await expect
    .poll(async () => (await daemon.readFactTypes(uuid)).filter((fact) => fact === 'process.held').length, { timeout: 60_000 })
    .toBe(2)
  logIn()
  await daemon.resume(uuid)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'done' })
  expect(promptCount()).toBe(1)
})

test('an agent that waits for a login stays stopped when the user stops it', async () => {
  const { uuid } = await daemon.spawn({ ...claudeBody('auth'), intent: 'say done' })
  await daemon.waitForStatus(uuid, 'suspended')
  await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGTERM' })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
})
