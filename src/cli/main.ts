// The entry of the command line: finds the verb, and passes it to command.ts. Must load no verb but the one that runs. Test:
// test/e2e/cli/cli.test.ts.
import { runCommand, exitWhenWritten, type ParsedLine } from './command.ts'
import { findVerb, findVerbName, unknownVerb } from './table/verb-names.ts'
import { VERBS } from './table/verbs.ts'

const VERSION_FLAGS = ['--version', '-V', '-v']

/** Splits a command line. The verb is its first word, or its first two (`crew up`). Common flags may precede the verb. */
function parseLine(argv: readonly string[]): ParsedLine {
  const found = findVerbName(VERBS, argv)
  if (found) return { ...lookUpVerb(found.name), rest: argv.filter((_, index) => !found.indexes.includes(index)) }
  const isVersion = argv.some((flag) => VERSION_FLAGS.includes(flag))
  return { ...lookUpVerb(isVersion ? 'version' : 'help'), rest: argv.filter((flag) => ![...VERSION_FLAGS, '-h', '--help'].includes(flag)) }
}

function lookUpVerb(name: string): Omit<ParsedLine, 'rest'> {
  return { name, verb: findVerb(VERBS, name) ?? unknownVerb(VERBS, name) }
}

// No top-level await: the build is CommonJS, which starts 8 ms sooner.
// oxlint-disable-next-line typescript/no-floating-promises -- `runCommand` never rejects
runCommand(parseLine(process.argv.slice(2))).then(exitWhenWritten)
