// What was typed, read by a verb's flag table: flags in any order, `--flag=value` or `--flag value`, `--` before a command.
// Must refuse what it does not know, with a suggestion, before anything is done. Test: test/tables/cli-args.test.ts.
import { parseArgs } from 'node:util'
import { parseDuration } from '../config/duration.ts'
import { nearest } from '../config/nearest.ts'
import { UsageError } from './errors.ts'

/** `on` takes no value; `list` may be given more than once, or with commas. */
export type FlagKind = 'on' | 'text' | 'count' | 'amount' | 'duration' | 'list'

export interface Flag {
  readonly kind: FlagKind
  readonly short?: string
  /** what the value is called in the help */
  readonly value?: string
  readonly help: string
}

export type Flags = Readonly<Record<string, Flag>>

/** Flags of every verb. */
export const COMMON: Flags = {
  json: { kind: 'on', help: 'print JSON (an object with "version": 1; streams are one object per line)' },
  quiet: { kind: 'on', short: 'q', help: 'say nothing on stderr but errors' },
  'no-color': { kind: 'on', help: 'no colours (as with NO_COLOR, or without a terminal)' },
  help: { kind: 'on', short: 'h', help: 'show this help' },
}

type Token =
  | { kind: 'option'; index: number; name: string; rawName: string; value: string | undefined; inlineValue: boolean | undefined }
  | { kind: 'positional'; index: number; value: string }
  | { kind: 'option-terminator'; index: number }

/** The flags and words of one command line, all checked. */
export class Args {
  readonly words: readonly string[]
  /** what stands behind `--`; null without it */
  readonly command: readonly string[] | null
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(words: readonly string[], command: readonly string[] | null, values: ReadonlyMap<string, readonly string[]>) {
    this.words = words
    this.command = command
    this.#values = values
  }

  on(name: string): boolean {
    return this.#values.has(name)
  }

  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  list(name: string): readonly string[] | undefined {
    return this.#values.get(name)?.flatMap((value) => value.split(',')).filter((value) => value !== '')
  }

  number(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : Number(text)
  }

  /** in ms */
  duration(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : (parseDuration(text) ?? undefined)
  }
}

export function parse(argv: readonly string[], flags: Flags, takesCommand: boolean): Args {
  // Words alone need no reader, and loading it takes a moment at each start.
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
    values.set(token.name, [...(values.get(token.name) ?? []), checked(token, flag)])
  }
  return new Args(words, end === undefined ? null : argv.slice(end + 1), values)
}

function tokenize(argv: readonly string[], flags: Flags): readonly Token[] {
  const options: Record<string, { type: 'boolean' | 'string'; short?: string }> = {}
  for (const [name, flag] of Object.entries(flags)) {
    options[name] = { type: flag.kind === 'on' ? 'boolean' : 'string', ...(flag.short ? { short: flag.short } : {}) }
  }
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true }).tokens as readonly Token[]
}

function checked(token: Token & { kind: 'option' }, flag: Flag): string {
  const { rawName, value } = token
  if (flag.kind === 'on') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    return ''
  }
  if (value === undefined || value === '') throw new UsageError(`${rawName} needs a value`)
  const isText = flag.kind === 'text' || flag.kind === 'list'
  if (isText && !token.inlineValue && /^-./.test(value)) {
    throw new UsageError(`${rawName} needs a value, and "${value}" looks like a flag`, `A value that begins with a dash is written --${token.name}=${value}.`)
  }
  if (flag.kind === 'duration' && parseDuration(value) === null) {
    throw new UsageError(`${rawName}: "${value}" is no duration`, 'Write it with its unit, as in 300ms, 10s, 5m or 2h.')
  }
  if (flag.kind === 'count' && !/^\d{1,15}$/.test(value)) throw new UsageError(`${rawName}: "${value}" is not a whole number`)
  if (flag.kind === 'amount' && !/^\d+(\.\d+)?$/.test(value)) throw new UsageError(`${rawName}: "${value}" is not a number`)
  return value
}

function unknownFlag(rawName: string, flags: Flags): UsageError {
  const known = Object.entries(flags).flatMap(([name, flag]) => [`--${name}`, ...(flag.short ? [`-${flag.short}`] : [])])
  const near = nearest(rawName, known)
  return new UsageError(`unknown flag ${rawName}`, near && `Did you mean ${near}?`)
}
