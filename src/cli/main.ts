// The command line's entry: finds the verb. What is done with it stands in command.ts.
// Must load nothing but the verb that was asked for. Test: test/e2e/cli.test.ts.
import { nearest } from '../config/nearest.ts'
import { command, end, type Typed } from './command.ts'
import { UsageError } from './errors.ts'
import { VERBS } from './verbs.ts'

/** The verb is the first word; common flags may stand before it. */
function typed(argv: readonly string[]): Typed {
  const at = argv.findIndex((word) => !word.startsWith('-'))
  if (at >= 0) return { ...verbOf(argv[at] ?? ''), rest: [...argv.slice(0, at), ...argv.slice(at + 1)] }
  const isVersion = argv.includes('--version') || argv.includes('-V')
  return { ...verbOf(isVersion ? 'version' : 'help'), rest: argv.filter((flag) => !['--version', '-V', '-h', '--help'].includes(flag)) }
}

function verbOf(name: string): Omit<Typed, 'rest'> {
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  return { name, verb: verb ?? new UsageError(`no verb "${name}"`, didYouMean(name)) }
}

function didYouMean(name: string): string {
  const near = nearest(name, Object.keys(VERBS))
  return near ? `Did you mean \`reeve ${near}\`?` : '`reeve help` lists all verbs.'
}

// No top-level await: it is built as CommonJS, which starts 8 ms sooner. `command` does not reject.
command(typed(process.argv.slice(2))).then(end)
