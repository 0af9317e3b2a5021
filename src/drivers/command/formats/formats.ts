// The known formats by name, and the detection of a command line's format. Pure.
// Test: test/tables/drivers/command/formats/formats.test.ts.
import { findProgram, parseCommand } from './args.ts'
import { CLAUDE_OPTIONS, claude } from './claude.ts'
import { CODEX_OPTIONS, codex } from './codex.ts'
import { GEMINI_OPTIONS, gemini } from './gemini.ts'
import { OPENCODE_OPTIONS, opencode } from './opencode.ts'
import type { ParsedCommand, Options } from './args.ts'
import type { AgentFormat } from './format.ts'
import type { OutputFormat } from '../../../kernel/model/words.ts'

interface KnownFormat {
  readonly format: AgentFormat
  /** names of the program and of its npm package */
  readonly names: readonly string[]
  readonly options: Options
}

const KNOWN_FORMATS: Readonly<Record<OutputFormat, KnownFormat>> = {
  claude: { format: claude, names: ['claude', '@anthropic-ai/claude-code'], options: CLAUDE_OPTIONS },
  codex: { format: codex, names: ['codex', '@openai/codex'], options: CODEX_OPTIONS },
  gemini: { format: gemini, names: ['gemini', '@google/gemini-cli'], options: GEMINI_OPTIONS },
  opencode: { format: opencode, names: ['opencode', 'opencode-ai'], options: OPENCODE_OPTIONS },
}

export interface KnownCommand {
  readonly format: AgentFormat
  readonly command: ParsedCommand
}

/** Parses a command line whose format is known, whatever its program is called. */
export function parseKnownCommand(argv: readonly string[], name: OutputFormat): KnownCommand {
  const { format, names, options } = KNOWN_FORMATS[name]
  return { format, command: parseCommand(argv, Math.max(0, findProgram(argv, names)), options) }
}

/** Detects the format of any command line. Null for an unknown program, or for one that is not asked for JSON lines. */
export function recognizeFormat(argv: readonly string[]): OutputFormat | null {
  const found = (Object.entries(KNOWN_FORMATS) as [OutputFormat, KnownFormat][]).find(([, { format, names, options }]) => {
    const at = findProgram(argv, names)
    return at >= 0 && format.printsJsonLines(parseCommand(argv, at, options))
  })
  return found?.[0] ?? null
}
