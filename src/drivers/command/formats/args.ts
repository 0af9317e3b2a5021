// Command lines of known agents, taken apart: which program, its words, its options with their values. Only as far as it
// takes to find the prompt and to put another in its place; what is unknown stays where it was.
// Pure. Test: test/tables/command-formats.test.ts.
import { basename } from 'node:path'

/** What an option takes: `one` value, all that follow up to the next option (`many`), or one that may be absent (`maybe`). */
export type Takes = 'one' | 'many' | 'maybe'
export type Options = Readonly<Record<string, Takes>>

interface Option {
  readonly name: string
  readonly values: readonly string[]
  readonly raw: readonly string[]
}

export interface Command {
  /** all up to the program itself, it included */
  readonly program: readonly string[]
  readonly options: readonly Option[]
  /** what is no option, in order */
  readonly words: readonly string[]
  /** all after the program, as it was */
  readonly args: readonly string[]
}

/** Programs that start another one. */
const WRAPPERS = new Set(['env', 'npx', 'bunx', 'pnpx', 'nice', 'nohup', 'timeout', 'stdbuf'])
/** A wrapper's own words before the program it starts. */
const WRAPPER_WORDS = 6

/** Where in the command line the program stands; -1 if it is none of them. */
export function findProgram(argv: readonly string[], names: readonly string[]): number {
  const isIt = (arg: string): boolean => names.includes(arg.replace(/(?<=.)@[^/@]*$/, '')) || names.includes(basename(arg).replace(/\.(m?js|exe)$/, ''))
  const [first] = argv
  if (first === undefined || isIt(first)) return first === undefined ? -1 : 0
  return WRAPPERS.has(basename(first)) ? argv.slice(0, WRAPPER_WORDS).findIndex(isIt) : -1
}

export function takeApart(argv: readonly string[], at: number, options: Options): Command {
  const args = argv.slice(at + 1)
  const found: Option[] = []
  const words: string[] = []
  for (let index = 0; index < args.length;) {
    const arg = args[index] ?? ''
    if (arg === '--') {
      words.push(...args.slice(index + 1))
      break
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      index += 1
      continue
    }
    const option = optionAt(args, index, options)
    found.push(option)
    index += option.raw.length
  }
  return { program: argv.slice(0, at + 1), options: found, words, args }
}

function optionAt(args: readonly string[], at: number, options: Options): Option {
  const arg = args[at] ?? ''
  const equals = arg.startsWith('--') ? arg.indexOf('=') : -1
  if (equals > 0) return { name: arg.slice(0, equals), values: [arg.slice(equals + 1)], raw: [arg] }
  const takes = options[arg]
  const values = takes === undefined ? [] : valuesAfter(args.slice(at + 1), takes)
  return { name: arg, values, raw: [arg, ...values] }
}

function valuesAfter(rest: readonly string[], takes: Takes): readonly string[] {
  if (takes === 'one') return rest.slice(0, 1)
  const end = rest.findIndex((arg) => arg.startsWith('-'))
  const values = end < 0 ? rest : rest.slice(0, end)
  return takes === 'many' ? values : values.slice(0, 1)
}

export function has(command: Command, ...names: readonly string[]): boolean {
  return command.options.some(({ name }) => names.includes(name))
}

/** The last value of an option that may be given more than once. */
export function valueOf(command: Command, ...names: readonly string[]): string | null {
  return command.options.findLast(({ name }) => names.includes(name))?.values[0] ?? null
}

/** All options but these, as they were written. */
export function optionsWithout(command: Command, ...names: readonly string[]): string[] {
  return command.options.filter(({ name }) => !names.includes(name)).flatMap(({ raw }) => raw)
}
