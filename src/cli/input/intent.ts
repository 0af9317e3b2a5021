// Reads an intent from stdin or a file: a command line cannot hold a long one (Linux: 128 KiB per argument). The length is limited, so
// that a wrong file is refused instead of sent. Test: test/e2e/cli/intent.test.ts.
import { createReadStream } from 'node:fs'
import type { Args } from './args.ts'
import { UsageError } from '../errors.ts'

/** the longest intent that the daemon accepts, in characters */
const MAX_CHARS = 1_000_000

/** Returns the intent from the command line, from stdin (`-`) or from a file; undefined if none is given. Errors: usage. */
export async function readIntent(args: Args, file: string | undefined): Promise<string | undefined> {
  const [word] = args.words
  if (word !== undefined && file !== undefined) throw new UsageError('an intent and --intent-file exclude each other')
  const source = file ?? (word === '-' ? '-' : undefined)
  if (source === undefined) return word
  if (args.command) throw new UsageError('an intent and a command exclude each other')
  if (source === '-' && args.on('interactive') && process.stdin.isTTY)
    throw new UsageError('--interactive and an intent on stdin exclude each other')
  const text = (await readText(source)).replace(/\r?\n$/, '')
  if (text === '') throw new UsageError(`${source === '-' ? 'stdin' : source} is empty`, 'It should contain the intent.')
  return text
}

async function readText(source: string): Promise<string> {
  const stream = source === '-' ? process.stdin : createReadStream(source)
  let text = ''
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      text += String(chunk)
      if (text.length > MAX_CHARS)
        throw new UsageError(`an intent has at most ${MAX_CHARS} characters; ${source === '-' ? 'stdin' : source} has more`)
    }
    return text
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`the intent cannot be read from ${source}: ${(error as Error).message}`)
  }
}
