// Finds the hint for an error: what the user can do next. The error table has a hint per code. This file has the hints that depend on the
// request. Every error of a verb passes through `toReportedError`. Test: test/tables/cli/print/hints.test.ts.
import { ERRORS, type ErrorCode } from '../../kernel/model/errors.ts'
import { Failure, UsageError } from '../errors.ts'
import { shortId } from '../../faces/format.ts'
import type { CandidateView } from '../../api/views/process.ts'
import { candidatesOf, candidateText } from '../input/which-process.ts'

export interface ReportedError {
  readonly message: string
  readonly code?: string
  readonly hint: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Returns the error as it is printed. `verb`: the verb that failed, if known. */
export function toReportedError(error: unknown, verb?: string, env: Env = process.env): ReportedError {
  const {
    message,
    code,
    hint = '',
    details,
    cause,
  } = missingDirectoryError(error) ??
  (error as { message: string; code?: string; hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown })
  const specificHint = hintFor({ error, message, code, hint, details, cause, env }, verb)
  return {
    message: withShortIds(withFlagNames(message, code), code),
    hint: specificHint ?? hint,
    ...(code === undefined ? {} : { code }),
    ...(details === undefined ? {} : { details }),
  }
}

/** Replaces the name of a limit in a request by its flag, which the user knows. */
function withFlagNames(message: string, code: string | undefined): string {
  if (code !== 'INVALID') return message
  return message.replace(
    /^limits\.(\w+?)(?:Ms)?: /,
    (_, name: string) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: `,
  )
}

/** Shortens the UUID in a message, as in the ID column. */
function withShortIds(message: string, code: string | undefined): string {
  return code === 'NOT_FOUND'
    ? message.replace(/^process ([0-9a-f-]{36}) has ended$/, (_, uuid: string) => `process ${shortId(uuid)} has ended`)
    : message
}

/** Returns a message about a removed working directory; undefined for other errors. */
function missingDirectoryError(
  error: unknown,
): { message: string; hint: string; code?: never; details?: never; cause?: never } | undefined {
  if ((error as NodeJS.ErrnoException).syscall !== 'uv_cwd') return undefined
  return { message: 'the working directory no longer exists', hint: 'Change to another directory.' }
}

type Env = Readonly<Record<string, string | undefined>>

interface ErrorContext {
  readonly env: Env
  readonly error: unknown
  readonly message: string
  readonly code: string | undefined
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly cause: unknown
}

function hintFor(context: ErrorContext, verb: string | undefined): string | null {
  const { error, code, hint, cause, details } = context
  const help = verb === undefined || verb === 'help' ? '`reeve help` lists all verbs.' : `See \`reeve help ${verb}\`.`
  if (error instanceof UsageError) return hint === '' ? (signalHint(context.message, verb) ?? help) : null
  // A hint other than that of the table is specific already.
  if (code !== undefined && Object.hasOwn(ERRORS, code) && hint !== ERRORS[code as ErrorCode].hint) return null
  switch (code) {
    case 'NOT_FOUND':
      return endedHint(context.message)
    case 'AMBIGUOUS':
      return candidatesHint(candidatesOf(details))
    case 'INVALID':
      return invalidHint(context, help)
    case 'AGENT_INVALID':
      return fileHint(context, verb)
    case 'PERMISSION':
      return context.message.startsWith('PID 0') ? 'PID 0 stands for the daemon: see `reeve daemon status`.' : null
    case 'UNAVAILABLE':
      return isPathUnusable(cause)
        ? 'Its state directory must be yours: `reeve config path` names it, and REEVE_HOME selects another one.'
        : null
    default:
      return hint === '' ? unknownErrorHint(error) : null
  }
}

const MAX_NAMED_CANDIDATES = 5

/** Returns the hint for a reference that fits several processes; it names the newest ones. */
function candidatesHint(candidates: readonly CandidateView[]): string | null {
  if (candidates.length === 0) return null
  const more = candidates.length - MAX_NAMED_CANDIDATES
  const named = candidates.slice(0, MAX_NAMED_CANDIDATES).map(candidateText).join(', ')
  return `Name one of them by its PID: ${named}${more > 0 ? `, and ${more} more; \`reeve ps -a\` lists all` : ''}.`
}

/** Returns the hint if a signal is given in the syntax of the shell command `kill`. */
function signalHint(message: string, verb: string | undefined): string | null {
  const signal = verb === 'kill' ? /^unknown flag -(\w+)$/.exec(message)?.[1] : undefined
  return signal === undefined ? null : `Give a signal with -s: \`reeve kill -s ${/^\d+$/.test(signal) ? signal : 'KILL'} P\`.`
}

/** Returns the hint for an unexpected error: the system has refused something, or reeve has a defect. */
function unknownErrorHint(error: unknown): string | null {
  if (error instanceof Failure) return null
  return (error as NodeJS.ErrnoException).syscall === undefined
    ? 'This is a defect of reeve. docs/guides/troubleshooting.md describes how to report it.'
    : '`reeve doctor` checks the system, `reeve config path` names the files of reeve.'
}

function endedHint(message: string): string | null {
  const uuid = /^process ([0-9a-f-]{36}) has ended$/.exec(message)?.[1]
  return uuid === undefined
    ? null
    : `\`reeve inspect ${shortId(uuid)}\` shows how it ended; \`reeve resume ${shortId(uuid)}\` continues it if possible (a command: \`--rerun\`).`
}

/** The keys of built-in providers, each with a model. The model of the first key that is set is proposed. */
export const PROPOSED_MODELS: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5',
  OPENAI_API_KEY: 'openai/gpt-5.5',
  GEMINI_API_KEY: 'google/gemini-3.8-flash',
  OPENROUTER_API_KEY: 'openrouter/NAME',
  DEEPSEEK_API_KEY: 'deepseek/NAME',
}

function missingModelHint(env: Env): string {
  const key = Object.keys(PROPOSED_MODELS).find((name) => env[name])
  const setCommand = (model: string): string => `\`reeve config set defaultModel ${model}\``
  if (key === undefined) return `${setCommand('PROVIDER/NAME')} sets a default; see \`reeve help keys\`.`
  const model = PROPOSED_MODELS[key] ?? ''
  return `${key} is set: \`--model ${model}\` uses it, and ${setCommand(model)} makes it the default; \`reeve models\` lists all.`
}

function invalidHint({ message, env }: ErrorContext, help: string): string {
  if (message.startsWith('no model')) return missingModelHint(env)
  if (message.startsWith('model '))
    return '`reeve help keys` explains the names of models; `reeve config show providers` lists the providers.'
  if (message.startsWith('REEVE_')) return 'Correct that variable of the environment, or unset it.'
  return help
}

/** Returns the hint for an invalid file, a missing file, or an unknown agent. */
function fileHint({ message, details }: ErrorContext, verb = ''): string | null {
  const file = details?.['file']
  if (typeof file !== 'string') return '`reeve agents` lists the available agents.'
  if (message.endsWith(': the file does not exist'))
    return 'Check the path. A path without a leading / is relative to the working directory.'
  if (file.endsWith('/credentials.yaml')) return 'Correct the file: lines of `NAME: value`, readable only by you (mode 0600).'
  const page = file.endsWith('/config.yaml') || file.includes('/agents/') ? undefined : /^(compose|crew)\b/.exec(verb)?.[1]
  if (page !== undefined) return `Correct the file; docs/reference/${page === 'crew' ? 'crews' : page}.md describes it.`
  if (file.endsWith('/reeve.yaml')) return 'Correct the file of the project; `reeve config set` changes only your own file.'
  if (file.endsWith('/config.yaml')) return 'Correct the file, or remove the key with `reeve config unset KEY`; see `reeve help config`.'
  return file.endsWith('.md') && file.includes('/agents/') ? 'Correct the file; see `reeve help agent-files`.' : null
}

/** Whether the cause is that the socket or its directory cannot be used. */
function isPathUnusable(cause: unknown): boolean {
  return ['ENOTDIR', 'EACCES', 'EPERM', 'ENOTSOCK', 'EROFS'].includes(String((cause as NodeJS.ErrnoException | undefined)?.code))
}
