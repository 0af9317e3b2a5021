// `reeve web --ssh BOX`: the page of another machine, by the user's own ssh. One ssh makes a link there. Another one forwards the port of
// the page to this machine, until Ctrl+C or until the connection ends. Programs start without a shell here, and BOX is never read as an
// option. Test: test/e2e/web/access/ssh.test.ts.
import { spawn, type ChildProcess } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { shellLine } from '../../api/text/shell-quote.ts'
import { Failure, SIGINT_EXIT, UsageError } from '../errors.ts'

/** the time limit until the port is open, including the time to type a password */
const CONNECT_MS = 120_000
const POLL_MS = 50

export interface PageOverSsh {
  readonly link: string
  readonly url: string
  /** Resolves with the exit code when the user leaves or the connection has ended. */
  readonly ended: Promise<number>
}

/** Makes a link on the other machine, and forwards the port of its page to this machine. `flags`: those of `reeve web` there. */
export async function openBySsh(box: string, flags: readonly string[]): Promise<PageOverSsh> {
  if (!/^[\w@%:.[\]/][^\s\p{Cc}]*$/u.test(box))
    throw new UsageError(`"${box}" is not the name of a machine`, 'Give what you give to ssh: `reeve web --ssh build`.')
  const { link, url } = await makeLink(box, flags)
  const port = Number(new URL(url).port)
  if (!(await isFree(port)))
    throw new Failure(
      1,
      `the page of ${box} needs the port ${port} here, too, and another program has it`,
      `If it is your own page, \`reeve web --stop\` closes it. Or choose another port there: \`ssh ${box} reeve web --stop\`, then \`reeve web --ssh ${box} --port 7399\`.`,
    )
  const forward = `127.0.0.1:${port}:127.0.0.1:${port}`
  const options = ['-N', '-T', '-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=15', '-L', forward]
  const tunnel = spawn('ssh', [...options, '--', box], { stdio: ['inherit', 'ignore', 'inherit'] })
  await waitForPort(tunnel, port, box)
  return { link, url, ended: waitForEnd(tunnel, box) }
}

async function makeLink(box: string, flags: readonly string[]): Promise<{ readonly link: string; readonly url: string }> {
  // ssh gives its words to a shell of the other machine as one line.
  const line = shellLine(['reeve', 'web', '--no-open', '--json', ...flags])
  const child = spawn('ssh', ['-T', '--', box, line], { stdio: ['inherit', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const code = await exitOf(child)
  if (code !== 0) throw new Failure(1, `\`ssh ${box}\` made no link: exit code ${code}`, `Does \`ssh ${box} reeve version\` work?`)
  const { link, url } = parseLink(text)
  // What the other machine prints must not lead the browser elsewhere.
  if (!/^http:\/\/127\.0\.0\.1:\d{1,5}\/$/.test(url) || !link.startsWith(`${url}#k=`) || !/^[\w-]+$/.test(link.slice(url.length + 3)))
    throw new Failure(1, `\`ssh ${box} reeve web\` printed no link`, `Does \`ssh ${box} reeve version\` work?`)
  return { link, url }
}

function parseLink(text: string): { readonly link: string; readonly url: string } {
  try {
    const { link, url } = JSON.parse(text) as Record<string, unknown>
    return { link: String(link), url: String(url) }
  } catch {
    // The caller reports that there is no link.
    return { link: '', url: '' }
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', () => reject(new Failure(1, 'ssh cannot be started', 'Install an OpenSSH client.')))
    child.once('close', (code) => resolve(code ?? 1))
  })
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

async function waitForPort(tunnel: ChildProcess, port: number, box: string): Promise<void> {
  const failed = exitOf(tunnel).then((code): never => {
    throw new Failure(1, `the connection to ${box} has ended: exit code ${code}`)
  })
  const deadline = performance.now() + CONNECT_MS
  const opened = (async (): Promise<void> => {
    while (!(await isListening(port))) {
      if (performance.now() > deadline) throw new Failure(1, `the port of ${box} did not open within ${CONNECT_MS / 1_000} s`)
      await delay(POLL_MS)
    }
  })()
  try {
    await Promise.race([opened, failed])
  } catch (error) {
    tunnel.kill()
    throw error
  }
  // The caller handles a later end of the connection.
  failed.catch(() => undefined)
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const settle = (isConnected: boolean): void => {
      socket.destroy()
      resolve(isConnected)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}

async function waitForEnd(tunnel: ChildProcess, box: string): Promise<number> {
  let hasLeft = false
  const leave = (): void => {
    hasLeft = true
    tunnel.kill()
  }
  process.once('SIGINT', leave).once('SIGTERM', leave)
  const code = tunnel.exitCode ?? (await exitOf(tunnel))
  process.off('SIGINT', leave).off('SIGTERM', leave)
  if (hasLeft) return SIGINT_EXIT
  throw new Failure(
    1,
    `the connection to ${box} has ended: exit code ${code}`,
    `The page stays open there; \`reeve web --ssh ${box}\` connects again.`,
  )
}
