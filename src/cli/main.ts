// The command line's entry: finds the verb. What is done with it stands in command.ts.
// Must load nothing but the verb that was asked for. Test: test/e2e/cli.test.ts.
import { command, end, type Typed } from './command.ts'
import { nameIn, noVerb, verbNamed } from './verb-names.ts'

/** The verb is the first word (of a family the first two); common flags may stand before it. */
function typed(argv: readonly string[]): Typed {
  const found = nameIn(argv)
  if (found) return { ...verbOf(found.name), rest: argv.filter((_, index) => !found.at.includes(index)) }
  const isVersion = argv.includes('--version') || argv.includes('-V')
  return { ...verbOf(isVersion ? 'version' : 'help'), rest: argv.filter((flag) => !['--version', '-V', '-h', '--help'].includes(flag)) }
}

function verbOf(name: string): Omit<Typed, 'rest'> {
  return { name, verb: verbNamed(name) ?? noVerb(name) }
}

// No top-level await: it is built as CommonJS, which starts 8 ms sooner. `command` does not reject.
command(typed(process.argv.slice(2))).then(end)
