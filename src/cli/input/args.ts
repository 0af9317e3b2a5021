// Parses a command line by the flag table of its verb: flags in any order, `--flag=value` or `--flag value`, and `--` before a command.
// Refuses unknown flags, with a suggestion, before the verb does anything. Test: test/tables/cli/input/args.test.ts.
import { parseArgs } from 'node:util'
import { parseDuration } from '../../config/duration.ts'
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { UsageError } from '../errors.ts'

/** The kind of value of a flag. `on`: none; `count`: a whole number; `amount`: a number; `list`: repeated flags, or values with commas. */
export type FlagKind = 'on' | 'text' | 'count' | 'amount' | 'duration' | 'list'

export interface Flag {
  readonly kind: FlagKind
  readonly short?: string
  /** the name of the value in the help, such as `DIR` */
  readonly value?: string
  readonly help: string
}

export type FlagTable = Readonly<Record<string, Flag>>

/** The flags of every verb. */
export const COMMON_FLAGS: FlagTable = {
  json: { kind: 'on', help: 'print JSON (an object with "version": 1; streams are one object per line)' },
  quiet: { kind: 'on', short: 'q', help: 'print only errors on stderr' },
  'no-color': { kind: 'on', help: 'no colours (as with NO_COLOR, or without a terminal)' },
  help: { kind: 'on', short: 'h', help: 'show this help' },
}

type Token =
  | { kind: 'option'; index: number; name: string; rawName: string; value: string | undefined; inlineValue: boolean | undefined }
  | { kind: 'positional'; index: number; value: string }
  | { kind: 'option-terminator'; index: number }

/** The validated flags and words of a command line. */
export class Args {
  readonly words: readonly string[]
  /** the words after `--`; null without `--` */
  readonly command: readonly string[] | null
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(words: readonly string[], command: readonly string[] | null, values: ReadonlyMap<string, readonly string[]>) {
    this.words = words
    this.command = command
    this.#values = values
  }

  /** Whether the flag is given. */
  on(name: string): boolean {
    return this.#values.has(name)
  }

  /** The last value of a flag; undefined: the flag is not given. */
  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  /** All values of a repeated flag, not split at commas. */
  texts(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** All values of a repeated flag, split at commas; undefined: the flag is not given. */
  list(name: string): readonly string[] | undefined {
    return this.#values
      .get(name)
      ?.flatMap((value) => value.split(','))
      .filter((value) => value !== '')
  }

  number(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : Number(text)
  }

  /** The value of a duration flag, in ms; undefined: the flag is not given. */
  duration(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : (parseDuration(text) ?? undefined)
  }
}

/** Parses the words of a command. `takesCommand`: the words after `--` are the command line of a program. Errors: usage. */
export function parseCommandLine(argv: readonly string[], flags: FlagTable, takesCommand: boolean): Args {
  // A line without flags needs no parser, whose import would slow the start.
  if (argv.every((word) => !word.startsWith('-'))) return new Args(argv, null, new Map())
  const tokens = tokenize(argv, flags)
  const end = takesCommand ? tokens.find((token) => token.kind === 'option-terminator')?.index : undefined
  const words: string[] = []
  const values = new Map<string, string[]>()
  for (const token of tokens) {
    if (end !== undefined && token.index >= end) break
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined
    if (!flag) throw unknownFlag(token.rawName, flags)
    values.set(token.name, [...(values.get(token.name) ?? []), validValue(token, flag)])
  }
  return new Args(words, end === undefined ? null : argv.slice(end + 1), values)
}

function tokenize(argv: readonly string[], flags: FlagTable): readonly Token[] {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {}
  for (const [name, flag] of Object.entries(flags)) {
    options[name] = { type: flag.kind === 'on' ? 'boolean' : 'string', ...(flag.short ? { short: flag.short } : {}) }
  }
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true }).tokens
}

function validValue(token: Token & { kind: 'option' }, flag: Flag): string {
  const { rawName, value } = token
  if (flag.kind === 'on') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    return ''
  }
  if (value === undefined || value === '') throw new UsageError(`${rawName} needs a value`)
  const isText = flag.kind === 'text' || flag.kind === 'list'
  if (isText && !token.inlineValue && /^-./.test(value)) {
    throw new UsageError(
      `${rawName} needs a value, and "${value}" looks like a flag`,
      `Write a value that begins with a dash as --${token.name}=${value}.`,
    )
  }
  if (flag.kind === 'duration' && parseDuration(value) === null) {
    throw new UsageError(`${rawName}: "${value}" is not a duration`, 'Write it with its unit, as in 300ms, 10s, 5m or 2h.')
  }
  if (flag.kind === 'count' && !/^\d{1,15}$/.test(value)) throw new UsageError(`${rawName}: "${value}" is not a whole number`)
  if (flag.kind === 'amount' && !/^\d+(\.\d+)?$/.test(value)) throw new UsageError(`${rawName}: "${value}" is not a number`)
  return value
}

function unknownFlag(rawName: string, flags: FlagTable): UsageError {
  const known = Object.entries(flags).flatMap(([name, flag]) => [`--${name}`, ...(flag.short ? [`-${flag.short}`] : [])])
  const near = closestWord(rawName, known)
  return new UsageError(`unknown flag ${rawName}`, near && `Did you mean ${near}?`)
}
