// `reeve web --ssh BOX` with a program that replaces ssh and records its arguments: one call makes the link, the other one forwards the
// port.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, startCli } from '../../../support/daemon/cli.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'
import { waitUntil } from '../../../support/wait-until.ts'

let dir: TempDir
let home: string

beforeEach(async () => {
  dir = await tempDir()
  home = join(dir.path, 'home')
  await mkdir(home, { mode: 0o700 })
})
afterEach(() => dir[Symbol.asyncDispose]())

/**
 * Writes a program `ssh` that prints `link`, and with `-N` listens. Returns the environment to find it, and a reader of its calls'
 * arguments.
 */
async function fakeSsh(
  link: object | string,
): Promise<{ readonly env: Record<string, string>; readonly readCalls: () => Promise<string[][]> }> {
  const bin = join(dir.path, 'bin')
  const log = join(dir.path, 'calls')
  await mkdir(bin)
  const program = `#!${process.execPath}
const { appendFileSync } = require('node:fs')
const args = process.argv.slice(2)
appendFileSync(${JSON.stringify(log)}, JSON.stringify(args) + '\\n')
if (!args.includes('-N')) console.log(${JSON.stringify(typeof link === 'string' ? link : JSON.stringify(link))})
else require('node:net').createServer().listen(Number(args[args.indexOf('-L') + 1].split(':')[1]), '127.0.0.1')
`
  await writeFile(join(bin, 'ssh'), program)
  await chmod(join(bin, 'ssh'), 0o755)
  const readCalls = async (): Promise<string[][]> =>
    (await readFile(log, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as string[])
  return { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` }, readCalls }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('makes a link on the other machine, forwards its port, prints the link, and holds the connection until a signal', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const { env, readCalls } = await fakeSsh({ version: 1, link: `${url}#k=AAAAAAAAAAAAAAAAAAAAAA`, url })
  const running = startCli(home, ['web', '--ssh', 'me@build', '--right', 'steer', '--label', "it's mine"], { env })
  await running.waitForText(`${url}#k=AAAAAAAAAAAAAAAAAAAAAA`)
  await running.waitForText('this command holds the connection')
  const tunnel = ['-N', '-T', '-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=15', '-L', `127.0.0.1:${port}:127.0.0.1:${port}`]
  expect(await readCalls()).toEqual([
    ['-T', '--', 'me@build', "reeve web --no-open --json --right steer --label 'it'\\''s mine'"],
    [...tunnel, '--', 'me@build'],
  ])
  running.child.kill('SIGINT')
  expect((await running.result).code).toBe(130)
  await waitUntil(() => canListen(port), 'the tunnel has ended, too')
})

test.each([
  ['an address of another machine', { link: 'http://evil.test/#k=AAAA', url: 'http://evil.test/' }],
  ['a link that is not at its address', { link: 'http://evil.test/#k=AAAA', url: 'http://127.0.0.1:7338/' }],
  ['more than a code', { link: 'http://127.0.0.1:7338/#k=AAAA"><script>', url: 'http://127.0.0.1:7338/' }],
  ['text that is not JSON', 'reeve: command not found'],
])('opens nothing if the other machine prints %s', async (_, printed) => {
  const { env, readCalls } = await fakeSsh(printed)
  const { code, stdout, stderr } = await runCli(home, ['web', '--ssh', 'build'], { env })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('printed no link')
  expect(await readCalls()).toHaveLength(1)
})

test('reports the command that helps if the port is in use here', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  const { env, readCalls } = await fakeSsh({ link: `${url}#k=AAAA`, url })
  const { code, stderr } = await runCli(home, ['web', '--ssh', 'build'], { env })
  expect(code).toBe(1)
  expect(stderr).toContain(`needs the port ${port} here, too`)
  expect(stderr).toContain('reeve web --stop')
  expect(await readCalls()).toHaveLength(1)
  await new Promise((resolve) => server.close(resolve))
})

function canListen(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
