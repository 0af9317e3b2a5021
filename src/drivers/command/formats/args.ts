// Parses command lines of known agents: the program, its positional arguments, and its options with their values. Parses only
// enough to find and replace the prompt; unknown arguments stay in place. Pure.
// Test: test/tables/drivers/command/formats/formats.test.ts.
import { basename } from 'node:path'

/** The number of an option's values: `one`, `many` (all arguments up to the next option), or `maybe` (none or one). */
export type ValueCount = 'one' | 'many' | 'maybe'
export type Options = Readonly<Record<string, ValueCount>>

interface Option {
  readonly name: string
  readonly values: readonly string[]
  readonly raw: readonly string[]
}

export interface ParsedCommand {
  /** all arguments up to and including the program */
  readonly program: readonly string[]
  readonly options: readonly Option[]
  /** the positional arguments, in order */
  readonly words: readonly string[]
  /** all arguments after the program, unchanged */
  readonly args: readonly string[]
}

/** Programs that start another program. */
const WRAPPERS = new Set(['env', 'npx', 'bunx', 'pnpx', 'nice', 'nohup', 'timeout', 'stdbuf'])
/** The maximum number of a wrapper's arguments that are searched for the program. */
const MAX_WRAPPER_WORDS = 6

/** Returns the index of the first program with one of these names in the command line; -1 if there is none. */
export function findProgram(argv: readonly string[], names: readonly string[]): number {
  const hasName = (arg: string): boolean =>
    names.includes(arg.replace(/(?<=.)@[^/@]*$/, '')) || names.includes(basename(arg).replace(/\.(m?js|exe)$/, ''))
  const [first] = argv
  if (first === undefined || hasName(first)) return first === undefined ? -1 : 0
  return WRAPPERS.has(basename(first)) ? argv.slice(0, MAX_WRAPPER_WORDS).findIndex(hasName) : -1
}

/** Parses a command line whose program is at index `at`. */
export function parseCommand(argv: readonly string[], at: number, options: Options): ParsedCommand {
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
  const valueCount = options[arg]
  const values = valueCount === undefined ? [] : valuesAfter(args.slice(at + 1), valueCount)
  return { name: arg, values, raw: [arg, ...values] }
}

function valuesAfter(following: readonly string[], valueCount: ValueCount): readonly string[] {
  if (valueCount === 'one') return following.slice(0, 1)
  const end = following.findIndex((arg) => arg.startsWith('-'))
  const values = end < 0 ? following : following.slice(0, end)
  return valueCount === 'many' ? values : values.slice(0, 1)
}

export function hasFlag(command: ParsedCommand, ...names: readonly string[]): boolean {
  return command.options.some(({ name }) => names.includes(name))
}

/** Returns the first value of the last occurrence of an option. */
export function valueOf(command: ParsedCommand, ...names: readonly string[]): string | null {
  return command.options.findLast(({ name }) => names.includes(name))?.values[0] ?? null
}

/** Returns all options except these, as they were written. */
export function optionsWithout(command: ParsedCommand, ...names: readonly string[]): string[] {
  return command.options.filter(({ name }) => !names.includes(name)).flatMap(({ raw }) => raw)
}
