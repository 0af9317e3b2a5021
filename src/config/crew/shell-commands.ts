// The commands of a crew (verify, setup), as files and requests give them. In a file: `npm test`, a list of words, or
// `{ command, timeout }`; false means no command. Test: test/tables/config/crew/crews.test.ts.
import { z } from 'zod'
import { parseDuration } from '../duration.ts'
import type { CrewShellCommand } from '../../kernel/model/crew/words.ts'

export const DEFAULT_COMMAND_MS = 600_000
export const MAX_COMMAND_MS = 86_400_000
/** maximum length of a command line, or of one of its words, in characters */
const MAX_COMMAND_CHARS = 8_000
const MAX_COMMAND_WORDS = 200

export const commandLine = z.string().trim().min(1).max(MAX_COMMAND_CHARS)
/** A command as a list of words. */
export const commandArgv = z
  .array(z.string().max(MAX_COMMAND_CHARS))
  .min(1)
  .max(MAX_COMMAND_WORDS)
  .refine(([program]) => program !== undefined && program.trim() !== '', 'names no program')

const EXPECTED_COMMAND = 'expected a command such as npm test, a list of words, { command: …, timeout: 10m }, or false'
const EXPECTED_DURATION = 'expected a duration such as 90s, 10m or 1h30m, at most one day'
const timeout = z.string(EXPECTED_DURATION).transform((text, context) => {
  const ms = parseDuration(text)
  if (ms === null || ms < 1 || ms > MAX_COMMAND_MS) context.addIssue(EXPECTED_DURATION)
  return ms ?? DEFAULT_COMMAND_MS
})
const commandWithTimeout = z.strictObject({
  command: z.union([commandLine, commandArgv], 'expected a command such as npm test, or a list of words'),
  timeout: timeout.optional(),
})

export const COMMAND_KEYS: readonly string[] = Object.keys(commandWithTimeout.shape)

/** The rule for a command. It parses by hand, because a zod union would only report that no alternative matches. */
export const commandRule = z.unknown().transform((value, context): CrewShellCommand | false => {
  if (value === false) return false
  if (typeof value === 'string' || Array.isArray(value)) {
    const read = typeof value === 'string' ? commandLine.safeParse(value) : commandArgv.safeParse(value)
    if (read.success) return { command: read.data, timeoutMs: DEFAULT_COMMAND_MS }
    return addIssues(read.error, context)
  }
  if (typeof value !== 'object' || value === null) {
    context.addIssue(EXPECTED_COMMAND)
    return false
  }
  const read = commandWithTimeout.safeParse(value)
  return read.success ? { command: read.data.command, timeoutMs: read.data.timeout ?? DEFAULT_COMMAND_MS } : addIssues(read.error, context)
})

/** Returns the command of a request, with the default timeout if the request has none. */
export function toCrewCommand({
  command,
  timeoutMs = DEFAULT_COMMAND_MS,
}: {
  readonly command: string | readonly string[]
  readonly timeoutMs?: number
}): CrewShellCommand {
  return { command, timeoutMs }
}

/** Adds the issues, and returns a value that zod ignores because of them. */
function addIssues(error: z.ZodError, context: { readonly issues: unknown[] }): false {
  for (const issue of error.issues) context.issues.push({ ...issue, input: undefined })
  return false
}
