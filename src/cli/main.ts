// The command line's entry: finds the verb, reads its flags, runs it, and gives its exit code. Errors end here.
// Must load nothing but the verb that was asked for: the time of `reeve ps` is a promise. Test: test/e2e/cli.test.ts.
import { connect } from '../index.ts'
import { nearest } from '../config/nearest.ts'
import { Args, parse } from './args.ts'
import { exitCode, UsageError } from './errors.ts'
import { endWithReader, errorText, Output } from './output.ts'
import { COMMON, VERBS, type Verb } from './verbs.ts'

async function main(argv: readonly string[]): Promise<number> {
  const { name, rest } = verbOf(argv)
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  try {
    if (!verb) throw new UsageError(`no verb "${name}"`, didYouMean(name))
    return await runVerb(name, verb, parse(rest, { ...COMMON, ...verb.flags }, verb.takesCommand === true))
  } catch (error) {
    const { told } = await import('./hints.ts')
    endWithReader(process.stderr).write(`${errorText(told(error, verb && name), isJson(rest, verb))}\n`)
    return exitCode(error, verb?.givesProcessCode === true)
  }
}

async function runVerb(name: string, verb: Verb, args: Args): Promise<number> {
  const out = new Output({ json: args.on('json'), quiet: args.on('quiet'), color: !args.on('no-color') })
  const call = { out, reeve: connect({ onStart: (started) => tellOfStart(out, started) }) }
  if (args.on('help')) return (await VERBS['help']!.load()).run({ ...call, args: new Args([name], null, new Map()) })
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

/** The verb is the first word; common flags may stand before it. */
function verbOf(argv: readonly string[]): { name: string; rest: string[] } {
  const at = argv.findIndex((word) => !word.startsWith('-'))
  if (at >= 0) return { name: argv[at] ?? '', rest: [...argv.slice(0, at), ...argv.slice(at + 1)] }
  const isVersion = argv.includes('--version') || argv.includes('-V')
  return { name: isVersion ? 'version' : 'help', rest: argv.filter((flag) => !['--version', '-V', '-h', '--help'].includes(flag)) }
}

function didYouMean(name: string): string {
  const near = nearest(name, Object.keys(VERBS))
  return near ? `Did you mean \`reeve ${near}\`?` : '`reeve help` lists all verbs.'
}

/** Also for a command line that could not be read. */
function isJson(rest: readonly string[], verb: Verb | undefined): boolean {
  const end = verb?.takesCommand ? rest.indexOf('--') : -1
  return rest.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** Ends now when all is written: waiting for the socket's last words would take 1.5 ms more. */
function end(code: number): void {
  process.exitCode = code
  if (process.stdout.writableLength === 0) process.exit()
}

// No top-level await: it is built as CommonJS, which starts 8 ms sooner. `main` does not reject.
main(process.argv.slice(2)).then(end)
