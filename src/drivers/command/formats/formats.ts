// The formats by name, and which of them a command line makes. Pure. Test: test/tables/command-formats.test.ts.
import { findProgram, takeApart } from './args.ts'
import { CLAUDE_OPTIONS, claude } from './claude.ts'
import { CODEX_OPTIONS, codex } from './codex.ts'
import { GEMINI_OPTIONS, gemini } from './gemini.ts'
import { OPENCODE_OPTIONS, opencode } from './opencode.ts'
import type { OutputFormat } from '../../../kernel/types.ts'
import type { Command, Options } from './args.ts'
import type { Format } from './format.ts'

interface Known {
  readonly format: Format
  /** what the program, or the package that has it, is called */
  readonly names: readonly string[]
  readonly options: Options
}

const KNOWN: Readonly<Record<OutputFormat, Known>> = {
  claude: { format: claude, names: ['claude', '@anthropic-ai/claude-code'], options: CLAUDE_OPTIONS },
  codex: { format: codex, names: ['codex', '@openai/codex'], options: CODEX_OPTIONS },
  gemini: { format: gemini, names: ['gemini', '@google/gemini-cli'], options: GEMINI_OPTIONS },
  opencode: { format: opencode, names: ['opencode', 'opencode-ai'], options: OPENCODE_OPTIONS },
}

export interface Spoken {
  readonly format: Format
  readonly command: Command
}

/** A command line that is known to speak this format, whatever its program is called. */
export function spokenBy(argv: readonly string[], name: OutputFormat): Spoken {
  const { format, names, options } = KNOWN[name]
  return { format, command: takeApart(argv, Math.max(0, findProgram(argv, names)), options) }
}

/** The format of a command line that anybody wrote; null is any other program, or one of these without its JSON lines. */
export function recognise(argv: readonly string[]): OutputFormat | null {
  const found = (Object.entries(KNOWN) as [OutputFormat, Known][]).find(([, { format, names, options }]) => {
    const at = findProgram(argv, names)
    return at >= 0 && format.makesLines(takeApart(argv, at, options))
  })
  return found?.[0] ?? null
}
