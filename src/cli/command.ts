// One command: reads the flags of its verb, runs it, and gives the exit code. Errors end here.
// Shared by the two entries, main.ts and ps-main.ts: it must import nothing that `reeve ps` does not need, unless dynamically.
// Test: test/e2e/cli.test.ts.
import { fromHere } from '../config/paths.ts'
import { connect } from '../index.ts'
import { Args, COMMON, parse } from './args.ts'
import { exitCode, UsageError } from './errors.ts'
import { endWithReader, errorText, Output } from './output.ts'
import type { Verb } from './verbs.ts'

/** What was typed: the verb, or why there is none, and the words and flags besides. */
export interface Typed {
  readonly name: string
  readonly verb: Verb | UsageError
  readonly rest: readonly string[]
}

/** Runs it to its end, and gives its exit code. It does not reject. */
export async function command({ name, verb, rest }: Typed): Promise<number> {
  const row = verb instanceof UsageError ? undefined : verb
  try {
    if (verb instanceof UsageError) throw verb
    // The daemon, a unit and agents are elsewhere, and have this environment from here.
    const env = fromHere(process.env)
    if (env !== process.env) process.env['REEVE_HOME'] = env['REEVE_HOME']
    return await runVerb(name, verb, parse(rest, { ...COMMON, ...verb.flags }, verb.takesCommand === true))
  } catch (error) {
    const { told } = await import('./hints.ts')
    endWithReader(process.stderr).write(`${errorText(told(error, row && name), isJson(rest, row))}\n`)
    return exitCode(error, row?.givesProcessCode === true)
  }
}

async function runVerb(name: string, verb: Verb, args: Args): Promise<number> {
  const out = new Output({ json: args.on('json'), quiet: args.on('quiet'), color: !args.on('no-color') })
  const call = { out, reeve: connect({ client: 'cli', onStart: (started) => tellOfStart(out, started) }) }
  if (args.on('help')) return (await import('./verbs/help.ts')).run({ ...call, args: new Args(name.split(' '), null, new Map()) })
  const [least, most] = verb.words
  if (args.words.length < least) throw new UsageError(`${name} needs more than that`, `Usage: ${verb.usage.join('\n              ')}`)
  if (args.words.length > most) throw new UsageError(`${name} does not take "${args.words[most]}"`, `Usage: ${verb.usage.join('\n              ')}`)
  return (await verb.load()).run({ ...call, args })
}

/** How it ended is told where it is waited for. */
async function tellOfStart(out: Output, started: Promise<void>): Promise<void> {
  const { patiently } = await import('./patience.ts')
  await patiently(out, () => 'the daemon is starting', started.catch(() => {}))
}

/** Also for a command line that could not be read. */
function isJson(rest: readonly string[], verb: Verb | undefined): boolean {
  const end = verb?.takesCommand ? rest.indexOf('--') : -1
  return rest.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** Ends now when all is written: waiting for the socket's last words would take 1.5 ms more. */
export function end(code: number): void {
  process.exitCode = code
  if (process.stdout.writableLength === 0) process.exit()
}
