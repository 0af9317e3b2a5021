// Reads stdin of `reeve run` as the input of a command. Must not wait for an idle pipe that a parent program left open, and must not read
// a terminal. Test: test/e2e/lifecycle/command-input.test.ts.
import { isUtf8 } from 'node:buffer'
import { fstatSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import type { Output } from '../print/output.ts'

/** the largest input of a command that the daemon accepts */
const MAX_BYTES = 1_000_000
/** how long stdin may be silent before its first byte */
const FIRST_BYTE_MS = 3_000

const FILE_HINT = "Let the command read a file (`-- sh -c 'CMD < FILE'`), or give it no input (`< /dev/null`)."

/**
 * Reads stdin to its end. Returns undefined if stdin is a terminal or /dev/null, if it is empty, or if it stays silent. Errors: usage, for
 * an input that is too long or is no text.
 */
export async function readInput(out: Output): Promise<string | undefined> {
  if (!canHaveInput()) return undefined
  const bytes = await readBytes(out)
  if (!isUtf8(bytes)) throw new UsageError('the input of the command is not text in UTF-8', FILE_HINT)
  return bytes.length === 0 ? undefined : bytes.toString('utf8')
}

/** Whether stdin is a pipe, a socket or a file. Programs of Node start their children with a socket. */
function canHaveInput(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isSocket() || stat.isFile()
  } catch {
    // A closed stdin has no input.
    return false
  }
}

/** Reads all bytes. On a terminal, a line reports that the command starts only at their end. */
async function readBytes(out: Output): Promise<Buffer> {
  const { stdin } = process
  const { promise, resolve, reject } = Promise.withResolvers<'end' | 'silent'>()
  const chunks: Buffer[] = []
  let size = 0
  const takeChunk = (chunk: Buffer): void => {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_BYTES)
      reject(new UsageError(`the input of the command has more than ${MAX_BYTES.toLocaleString('en')} bytes`, FILE_HINT))
  }
  const takeError = ({ message }: Error): void => reject(new UsageError(`the input of the command cannot be read: ${message}`, FILE_HINT))
  const timer = setTimeout(() => {
    if (size === 0) resolve('silent')
    else reportWait(out).catch(reject)
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
          `nothing came from stdin within ${FIRST_BYTE_MS / 1_000} s, so the command has no input; \`< /dev/null\` skips the wait`,
        ),
      )
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
    // A stream that is still read would keep this command alive.
    stdin.off('data', takeChunk).destroy()
  }
}

async function reportWait(out: Output): Promise<void> {
  if (out.isTerminal('stderr')) await out.message(out.paintMessage('dim', 'reading the input of the command until stdin ends'))
}
