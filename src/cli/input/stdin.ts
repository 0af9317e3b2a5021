// Reads stdin of `reeve run`: the input of a command, or text that belongs to an intent. Must not wait long for an idle pipe, which a
// parent program may have left open. Must not read a terminal.
// Tests: test/e2e/lifecycle/command-input.test.ts, test/e2e/cli/intent.test.ts.
import { isUtf8 } from 'node:buffer'
import { fstatSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import type { Output } from '../print/output.ts'

/** the largest input that the daemon accepts */
const MAX_BYTES = 1_000_000
/** how long stdin may be silent before its first byte */
const FIRST_BYTE_MS = 3_000

/** What stdin is read for, in the words of messages. */
interface StdinUse {
  /** such as `the input of the command` */
  readonly what: string
  /** what a silent stdin means, such as `the command has no input` */
  readonly without: string
  readonly hint: string
}

const COMMAND: StdinUse = {
  what: 'the input of the command',
  without: 'the command has no input',
  hint: "Let the command read a file (`-- sh -c 'CMD < FILE'`), or give it no input (`< /dev/null`).",
}
const INTENT: StdinUse = {
  what: 'the text on stdin',
  without: 'the agent gets only the intent',
  hint: 'Let the agent read a file itself, or give it no text (`< /dev/null`).',
}

/** Reads the input of a command. Returns the same as `readStdin`, with the same errors. */
export const readCommandInput = (out: Output): Promise<string | undefined> => readStdin(out, COMMAND)

/** Adds the text on stdin to the intent, as in `git diff | reeve run "review this"`. Errors: those of `readStdin`. */
export async function withTextOfStdin(intent: string, out: Output): Promise<string> {
  const text = await readStdin(out, INTENT)
  return text === undefined ? intent : `${intent}\n\n${text.replace(/\r?\n$/, '')}`
}

/**
 * Reads stdin to its end. Returns undefined if stdin is a terminal or /dev/null, if it is empty, or if it stays silent. Errors: usage, for
 * an input that is too long or is not text.
 */
async function readStdin(out: Output, use: StdinUse): Promise<string | undefined> {
  if (!canHaveInput()) return undefined
  const bytes = await readBytes(out, use)
  if (!isUtf8(bytes)) throw new UsageError(`${use.what} is not text in UTF-8`, use.hint)
  return bytes.length === 0 ? undefined : bytes.toString('utf8')
}

/** Whether stdin is a pipe, a socket or a file. Node programs start their children with a socket. */
function canHaveInput(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isSocket() || stat.isFile()
  } catch {
    // A closed stdin has no input.
    return false
  }
}

/** Reads all bytes. If that takes long, a line on a terminal reports that they are being read. */
async function readBytes(out: Output, { what, without, hint }: StdinUse): Promise<Buffer> {
  const { stdin } = process
  const { promise, resolve, reject } = Promise.withResolvers<'end' | 'silent'>()
  const chunks: Buffer[] = []
  let size = 0
  const takeChunk = (chunk: Buffer): void => {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_BYTES) reject(new UsageError(`${what} has more than ${MAX_BYTES.toLocaleString('en')} bytes`, hint))
  }
  const takeError = ({ message }: Error): void => reject(new UsageError(`${what} cannot be read: ${message}`, hint))
  const timer = setTimeout(() => {
    if (size === 0) resolve('silent')
    else reportWait(out, what).catch(reject)
  }, FIRST_BYTE_MS)
  stdin
    .on('data', takeChunk)
    .once('end', () => resolve('end'))
    .once('error', takeError)
  try {
    if ((await promise) === 'silent')
      await out.message(
        out.paintMessage(
          'yellow',
          `nothing came from stdin within ${FIRST_BYTE_MS / 1_000} s, so ${without}; \`< /dev/null\` skips the wait`,
        ),
      )
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
    // A stream that is still read would keep this command alive.
    stdin.off('data', takeChunk).destroy()
  }
}

async function reportWait(out: Output, what: string): Promise<void> {
  if (out.isTerminal('stderr')) await out.message(out.paintMessage('dim', `reading ${what} until it ends`))
}
