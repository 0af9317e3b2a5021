// Credentials. Their values are in memory and in the environment of the program that needs them, and nowhere else. A process without
// its key waits. Each test makes up its values, so that a search of every byte of the home and of /proc is meaningful.
import { randomBytes } from 'node:crypto'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

let daemon: LocalDaemon
let server: ModelServer
let secret: string

const ANSWERS: readonly ServedAnswer[] = [
  { tools: [{ name: 'bash', input: { command: 'printenv SERVED_API_KEY OTHER_TOKEN || echo none of them' } }] },
  { text: 'first done' },
  { text: 'second done' },
  { text: 'third done' },
]

beforeEach(async () => {
  secret = `value-${randomBytes(12).toString('hex')}`
  server = await startModelServer(ANSWERS)
  daemon = await LocalDaemon.start({
    config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1", apiKeyEnv: SERVED_API_KEY }]\n`,
  })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact
const env = (extraEnv: Readonly<Record<string, string>> = {}): Record<string, string> => testEnv(daemon.work, extraEnv)

/** Every file below the home that has the text. When the daemon removes a file meanwhile, all are read again. */
async function findFilesWith(text: string): Promise<string[]> {
  for (;;) {
    try {
      const entries = await readdir(daemon.home, { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
      const matches = await Promise.all(files.map(async (file) => ((await readFile(file)).includes(text) ? [file] : [])))
      return matches.flat()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function findCommandLinesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text)
      } catch {
        return false
      }
    })
}

/** Checks that nothing stored or shown has the value. */
async function expectUnseen(uuid: string): Promise<void> {
  expect(await findFilesWith(secret)).toEqual([])
  expect(findCommandLinesWith(secret)).toEqual([])
  expect(JSON.stringify(await daemon.readHistory(uuid))).not.toContain(secret)
  expect(JSON.stringify(await daemon.view(uuid))).not.toContain(secret)
  expect(daemon.logMessages.join('\n') + daemon.errors.join('\n')).not.toContain(secret)
}

describe('a value that looks secret', () => {
  test('reaches the command and is written nowhere', async () => {
    const { uuid } = await daemon.spawnShell(
      'test "$GITHUB_TOKEN" = "$EXPECTED_SECRET" && printenv GITHUB_TOKEN | wc -c; read -r line < /dev/null; sleep 600',
      {
        env: env({ GITHUB_TOKEN: secret, EXPECTED_SECRET: secret, PLAIN: 'recorded' }),
      },
    )
    const output = await daemon.waitForEvent(uuid, isFact('process.output'))
    expect(Number(output['text'])).toBe(secret.length + 1)
    await expectUnseen(uuid)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(await findFilesWith('recorded')).not.toEqual([])
    await expectUnseen(uuid)
    await daemon.stop()
    expect(await findFilesWith(secret)).toEqual([])
    const db = new DatabaseSync(join(daemon.home, 'store.db'), { readOnly: true })
    expect(JSON.stringify(db.prepare('SELECT * FROM journal').all())).toContain('GITHUB_TOKEN')
    db.close()
  })

  test('is not given to a later run of the command by a client without it', async () => {
    const { uuid } = await daemon.spawnShell('echo "token=$MY_TOKEN"', { env: env({ MY_TOKEN: secret }) })
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { rerun: true })
    await daemon.waitForEnd(uuid)
    expect((await daemon.readOutput(uuid)).split('\n')).toEqual([`token=${secret}`, 'token=', ''])
    await daemon.resume(uuid, { rerun: true, env: env({ MY_TOKEN: 'another one' }) })
    await daemon.waitForEnd(uuid)
    expect((await daemon.readOutput(uuid)).split('\n').at(-2)).toBe('token=another one')
  })

  test('of a refused spawn is forgotten and named nowhere', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600', { name: 'taken' })
    const error = await daemon.spawnShell('true', { name: 'taken', env: env({ API_KEY: secret }) }).catch((reason: Error) => reason)
    expect(error).toMatchObject({ code: 'CONFLICT' })
    expect(JSON.stringify(error)).not.toContain(secret)
    await daemon.signal('taken', 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(await findFilesWith(secret)).toEqual([])
  })
})

describe('the key of a model', () => {
  const run = (body: Parameters<LocalDaemon['spawn']>[0] = {}): ReturnType<LocalDaemon['spawn']> =>
    daemon.spawn({ model: 'served/small', ...body })

  test('from the client is sent to the provider, not to the tools, and written nowhere', async () => {
    const { uuid } = await run({ env: env({ SERVED_API_KEY: secret, OTHER_TOKEN: `${secret}-other` }) })
    await daemon.waitForEnd(uuid)
    expect(server.requests.map((request) => request.headers.authorization)).toEqual([`Bearer ${secret}`, `Bearer ${secret}`])
    expect(await daemon.view(uuid)).toMatchObject({ status: 'completed', lastText: 'first done' })
    expect(await daemon.waitForEvent(uuid, isFact('tool.finished'))).toMatchObject({ content: expect.stringContaining('none of them') })
    await expectUnseen(uuid)
  })

  test('is a secret under any name, also for a fallback and for a process that does not use it', async () => {
    const plain = secret.replace('value-', '')
    await writeFile(
      daemon.paths.configFile,
      `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1", apiKeyEnv: SERVED_ACCOUNT }]\n`,
    )
    const { uuid } = await run({ env: env({ SERVED_ACCOUNT: plain }) })
    expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${plain}`)
    await daemon.waitForEnd(
      (await daemon.spawnScripted([{ text: 'x' }], { env: env({ SERVED_ACCOUNT: plain }), fallback: ['served/small'] })).uuid,
    )
    expect(
      (await daemon.waitForEnd((await daemon.spawnShell('test "$SERVED_ACCOUNT"', { env: env({ SERVED_ACCOUNT: plain }) })).uuid)).status,
    ).toBe('completed')
    expect(await findFilesWith(plain)).toEqual([])
  })

  test('that is missing everywhere is CREDENTIALS_MISSING, with its name', async () => {
    await expect(run()).rejects.toMatchObject({
      code: 'CREDENTIALS_MISSING',
      message: expect.stringContaining('SERVED_API_KEY'),
      details: { missing: ['SERVED_API_KEY'] },
    })
    expect(server.requests).toEqual([])
  })

  test('comes from credentials.yaml, if no other user can read that file', async () => {
    await writeFile(daemon.paths.credentialsFile, `SERVED_API_KEY: ${secret}\n`, { mode: 0o644 })
    await chmod(daemon.paths.credentialsFile, 0o644)
    await expect(run()).rejects.toMatchObject({ code: 'AGENT_INVALID', message: expect.stringContaining('chmod 600') })
    await chmod(daemon.paths.credentialsFile, 0o600)
    const { uuid } = await run()
    expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    expect(await findFilesWith(secret)).toEqual([daemon.paths.credentialsFile])
  })

  test("comes from the user's command, which gets the key's name", async () => {
    await writeFile(
      daemon.paths.configFile,
      `${await readFile(daemon.paths.configFile, 'utf8')}keyCommand: [sh, -c, 'test "$0" = SERVED_API_KEY && cat', '{name}']\n`,
    )
    await expect(run()).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING' })
    const file = join(daemon.work, 'vault')
    await writeFile(file, `${secret}\n`)
    await writeFile(daemon.paths.configFile, (await readFile(daemon.paths.configFile, 'utf8')).replace('&& cat', `&& cat ${file}`))
    const { uuid } = await run()
    expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    await expectUnseen(uuid)
  })

  test('that is gone after a restart holds the process, until a client sends it', async () => {
    const { uuid } = await run({ interactive: true, intent: 'go', env: env({ SERVED_API_KEY: secret }) })
    await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.restart()
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({ holds: [{ reason: 'credentials', by: 'system' }] })
    await daemon.waitForView(uuid, (view) => view.note?.includes('credentials') ?? false)
    expect(await daemon.resume(uuid)).toMatchObject({
      affected: 0,
      note: 'still suspended: credentials; needs SERVED_API_KEY',
      missing: ['SERVED_API_KEY'],
      process: { status: 'suspended', note: 'paused: credentials (needs SERVED_API_KEY)' },
    })
    await daemon.send(uuid, 'are you there')
    const woken = await daemon.resume(uuid, { env: env({ SERVED_API_KEY: secret }) })
    expect(woken).toMatchObject({ affected: 1, process: { holds: [] } })
    expect(woken).not.toHaveProperty('note')
    expect(await daemon.waitForView(uuid, (view) => view.turn === 2 && view.status === 'ready')).toMatchObject({ lastText: 'second done' })
    await expectUnseen(uuid)
  })

  test('that is missing at the resume of an ended process holds the process as well', async () => {
    const { uuid } = await run({ env: env({ SERVED_API_KEY: secret }) })
    await daemon.waitForEnd(uuid)
    expect(await daemon.resume(uuid, { message: 'once more' })).toMatchObject({ missing: ['SERVED_API_KEY'], note: 'needs SERVED_API_KEY' })
    expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ holds: [{ reason: 'credentials' }], queueCount: 1 })
    await writeFile(daemon.paths.credentialsFile, `SERVED_API_KEY: ${secret}\n`, { mode: 0o600 })
    expect((await daemon.resume(uuid)).affected).toBe(1)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'second done' })
  })

  test('of another provider is taken from the client with the override that needs it', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'by script' }])
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { model: 'served/small', message: 'now you', env: env({ SERVED_API_KEY: secret }) })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', model: 'served/small' })
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`)
  })
})
