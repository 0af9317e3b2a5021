// `reeve web` as a user calls it: it prints or opens a link, watches it, lists and ends sessions, and closes the page.
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../../../src/index.ts'
import { isSandboxed } from '../../../../src/cli/actions/open-browser.ts'
import { runCli, startCli } from '../../../support/daemon/cli.ts'
import { LocalDaemon } from '../../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../../support/daemon/terminal.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, ['web', ...args])

/** Starts a session by a link, as the page does. Returns the status. */
async function redeem(link: string): Promise<number> {
  const { origin, hash } = new URL(link)
  const response = await fetch(`${origin}/v1/web/session`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ code: hash.slice('#k='.length) }),
  })
  await response.body?.cancel()
  return response.status
}

describe('a link', () => {
  test('is printed without a screen, and starts a session with the given right', async () => {
    const { code, stdout, stderr } = await reeve('--right', 'steer', '--label', 'phone')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#k=[\w-]{22}\n$/)
    expect(await redeem(stdout.trim())).toBe(201)
    const listed = await reeve('--sessions')
    expect(listed.stdout).toMatch(/^ID +RIGHT +SINCE/)
    expect(listed.stdout).toMatch(/steer .* all +loopback +127\.0\.0\.1 +phone/)
  })

  test('is in the output of `--json`; with `--share` its session is read-only and redacted, and expires after the given time', async () => {
    await daemon.spawnShell('sleep 600', { name: 'fix' })
    const { stdout } = await reeve('--share', '--read-only', '--only', 'fix', '--for', '2h', '--redact', '--json')
    const { link } = JSON.parse(stdout) as { link: string }
    expect(await redeem(link)).toBe(201)
    const [session] = (JSON.parse((await reeve('--sessions', '--json')).stdout) as { sessions: Record<string, unknown>[] }).sessions
    expect(session).toMatchObject({ right: 'read', redact: true, label: null })
    expect(Date.parse(String(session?.['expiresAt'])) - Date.parse(String(session?.['createdAt']))).toBe(7_200_000)
    await daemon.client.post('/v1/processes/fix/signal', { signal: 'SIGKILL' })
  })

  test('of `reeve open` leads to the process', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600', { name: 'fix' })
    const { code, stdout } = await runCli(daemon.home, ['open', 'fix'])
    expect([code, new URL(stdout.trim()).pathname]).toEqual([0, `/p/${uuid}`])
    expect(await redeem(stdout.trim())).toBe(201)
    expect((await fetch(new URL(stdout.trim()))).status).toBe(200)
    expect((await runCli(daemon.home, ['open', 'fix'], { env: { REEVE_PROC: 'x' } })).code).toBe(1)
    await daemon.client.post('/v1/processes/fix/signal', { signal: 'SIGKILL' })
  })

  test.runIf(HAS_TERMINAL)('is watched on a terminal: its first use is reported, and the second one as a warning', async () => {
    using terminal = new Terminal(daemon.home, ['web', '--no-open'], { columns: 120 })
    await terminal.waitForText('this link works once')
    const link = /http:\/\/127\.0\.0\.1:\d+\/#k=[\w-]{22}/.exec(terminal.raw)?.[0] ?? ''
    expect(await redeem(link)).toBe(201)
    await terminal.waitForText('your session has begun')
    expect(await redeem(link)).toBe(403)
    await terminal.waitForText('the link was used twice: it may have been seen. `reeve web --revoke` ends all sessions')
    terminal.type('\x03')
    await terminal.exitCode
    expect((await reeve('--sessions')).stderr).toContain('used twice')
  })

  test('goes to a browser by a private file, which its use removes; its command line has no code', async () => {
    const bin = join(daemon.work, 'bin')
    const runtime = join(daemon.work, 'runtime')
    await mkdir(bin)
    await mkdir(runtime, { mode: 0o700 })
    for (const [name, text] of [
      ['xdg-open', `#!/bin/sh\necho "$@" > ${daemon.work}/opened\n`],
      ['xdg-settings', '#!/bin/sh\necho firefox.desktop\n'],
    ] as const) {
      await writeFile(join(bin, name), text)
      await chmod(join(bin, name), 0o755)
    }
    const env = { DISPLAY: ':9', XDG_RUNTIME_DIR: runtime, PATH: `${bin}:${process.env['PATH'] ?? ''}` }
    const running = startCli(daemon.home, ['web'], { env })
    await expect.poll(() => readFile(join(daemon.work, 'opened'), 'utf8').catch(() => ''), { timeout: 100_000 }).not.toBe('')
    const [name = ''] = await readdir(join(runtime, 'reeve'))
    const file = join(runtime, 'reeve', name)
    expect(await readFile(join(daemon.work, 'opened'), 'utf8')).toBe(`file://${file}\n`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(runtime, 'reeve'))).mode & 0o777).toBe(0o700)
    const link = /url=(\S+?)"/.exec(await readFile(file, 'utf8'))?.[1] ?? ''
    expect(await redeem(link)).toBe(201)
    const { code, stdout, stderr } = await running.result
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toContain('the page opens in your browser')
    expect(stderr).not.toContain('#k=')
    expect(await readdir(join(runtime, 'reeve'))).toEqual([])
  })

  test.each([
    ['firefox.desktop', false],
    ['google-chrome.desktop', false],
    ['chromium.desktop', false],
    ['firefox_firefox.desktop', true],
    ['org.mozilla.firefox.desktop', true],
    ['com.google.Chrome.desktop', true],
  ])('for the browser %s: whether it is in a sandbox, and cannot read the file: %s', (name, expected) => {
    expect(isSandboxed(name)).toBe(expected)
  })
})

test('sessions are ended one by one or all, and the page is closed', async () => {
  for (let count = 0; count < 3; count += 1) expect(await redeem((await reeve()).stdout.trim())).toBe(201)
  await using client = connect({ home: daemon.home, start: false })
  const { url, sessions } = await client.web.get()
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
  expect(await reeve('--revoke', sessions[0]?.id ?? '')).toMatchObject({ code: 0, stderr: `session ${sessions[0]?.id} has ended\n` })
  expect(await reeve('--revoke', 'none')).toMatchObject({ code: 3 })
  expect(await reeve('--revoke')).toMatchObject({ code: 0, stderr: '2 sessions have ended\n' })
  expect((await reeve('--sessions')).stderr).toBe(`the page is open at ${url}, without a session\n`)
  expect(await reeve('--stop')).toMatchObject({ code: 0, stderr: 'the page is closed\n' })
  expect((await reeve('--sessions')).stderr).toBe('the page is closed\n')
  expect(await reeve('--stop', '--json')).toMatchObject({ code: 0, stdout: '{\n  "version": 1,\n  "wasOpen": false\n}\n' })
})

test.each([
  [['--share'], '--share needs --read-only'],
  [['--redact'], '--redact needs --read-only'],
  [['--read-only', '--right', 'all'], '--read-only does not go with --right all'],
  [['--right', 'root'], 'there is no right "root"'],
  [['--stop', '--revoke'], 'does not go with'],
  [['--sessions', '--no-open'], 'does not go with'],
  [['fix'], 'web does not take "fix"'],
  [['--listen', '0.0.0.0'], '--listen needs --tls-cert and --tls-key'],
  [['--listen', '127.0.0.1:7443', '--tls-cert', 'c.pem'], '--listen needs --tls-cert and --tls-key'],
  [['--listen', 'box.example', '--tls-cert', 'c.pem', '--tls-key', 'k.pem'], 'is not an address'],
  [['--tls-cert', 'c.pem', '--tls-key', 'k.pem'], 'belong to --listen'],
  [['--remember'], '--remember needs --allow-host or --listen'],
  [['--allow-host', 'box.example', '--listen', '::', '--tls-cert', 'c', '--tls-key', 'k'], '--allow-host does not go with --listen'],
  [['--ssh', 'build', '--allow-host', 'box.example'], '--ssh does not go with'],
  [['--ssh=-oProxyCommand=touch x'], 'is not the name of a machine'],
  [['--ssh', 'a b'], 'is not the name of a machine'],
])('%j is refused: %s', async (args, text) => {
  const { code, stderr } = await reeve(...args)
  expect([code, stderr]).toEqual([64, expect.stringContaining(text)])
})

test('a process of reeve cannot open the page', async () => {
  const { code, stdout, stderr } = await runCli(daemon.home, ['web'], { env: { REEVE_PROC: '0198c1a2.x' } })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('an agent is not the user')
})
