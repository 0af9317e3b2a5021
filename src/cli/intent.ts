// An intent that is too long for a command line (Linux takes 128 KiB per argument), or stands in a file: read from there.
// Bounded, so that a wrong file is refused instead of sent. Test: test/e2e/cli-intent.test.ts.
import { createReadStream } from 'node:fs'
import type { Args } from './args.ts'
import { UsageError } from './errors.ts'

/** Characters that the daemon takes. */
const MAX_TEXT = 1_000_000

/** The intent, from the word, from stdin (`-`) or from a file; undefined if none is given. */
export async function intentOf(args: Args, file: string | undefined): Promise<string | undefined> {
  const [word] = args.words
  if (word !== undefined && file !== undefined) throw new UsageError('an intent and --intent-file do not go together')
  const from = file ?? (word === '-' ? '-' : undefined)
  if (from === undefined) return word
  if (args.command) throw new UsageError('an intent and a command do not go together')
  if (from === '-' && args.on('interactive') && process.stdin.isTTY) throw new UsageError('--interactive and an intent on stdin do not go together')
  const text = (await read(from)).replace(/\r?\n$/, '')
  if (text === '') throw new UsageError(`${from === '-' ? 'stdin' : from} is empty`, 'It is where the intent should be.')
  return text
}

async function read(from: string): Promise<string> {
  const stream = from === '-' ? process.stdin : createReadStream(from)
  let text = ''
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      text += String(chunk)
      if (text.length > MAX_TEXT) throw new UsageError(`an intent has at most ${MAX_TEXT} characters; ${from === '-' ? 'stdin' : from} has more`)
    }
    return text
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`the intent cannot be read from ${from}: ${(error as Error).message}`)
  }
}
