// The next step for an error: the table of errors has one for each code, and here stand those that depend on what was asked.
// Every error that a verb ends with goes through this. Test: test/tables/cli-hints.test.ts.
import { ERRORS, type ErrorCode } from '../kernel/errors.ts'
import { Failure, UsageError } from './errors.ts'
import { shortId } from './format.ts'

export interface Told {
  readonly message: string
  readonly code?: string
  readonly hint: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** What is told of an error; `verb` is the one that was asked, if it is known. */
export function told(error: unknown, verb?: string): Told {
  const { message, code, hint = '', details, cause } = withoutDirectory(error) ?? error as { message: string; code?: string; hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown }
  const better = hintFor({ error, message, code, hint, details, cause }, verb)
  return { message: shortened(flagged(message, code), code), hint: better ?? hint, ...(code === undefined ? {} : { code }), ...(details === undefined ? {} : { details }) }
}

/** A limit is called by its flag: who typed it knows no field of a request. */
function flagged(message: string, code: string | undefined): string {
  if (code !== 'INVALID') return message
  return message.replace(/^limits\.(\w+?)(?:Ms)?: /, (_, name: string) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: `)
}

/** As the ID column has it. */
function shortened(message: string, code: string | undefined): string {
  return code === 'NOT_FOUND' ? message.replace(/^process ([0-9a-f-]{36}) has ended$/, (_, uuid: string) => `process ${shortId(uuid)} has ended`) : message
}

/** Node's own words for a working directory that was removed help nobody. */
function withoutDirectory(error: unknown): { message: string; hint: string; code?: never; details?: never; cause?: never } | undefined {
  if ((error as NodeJS.ErrnoException).syscall !== 'uv_cwd') return undefined
  return { message: 'the working directory is not there any more', hint: 'Change to another one.' }
}

interface Known {
  readonly error: unknown
  readonly message: string
  readonly code: string | undefined
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly cause: unknown
}

function hintFor(known: Known, verb: string | undefined): string | null {
  const { error, code, hint, cause } = known
  const help = verb === undefined || verb === 'help' ? '`reeve help` lists all verbs.' : `See \`reeve help ${verb}\`.`
  if (error instanceof UsageError) return hint === '' ? forSignal(known.message, verb) ?? help : null
  // A hint of somebody who knew more is left alone.
  if (code !== undefined && Object.hasOwn(ERRORS, code) && hint !== ERRORS[code as ErrorCode].hint) return null
  switch (code) {
    case 'NOT_FOUND': return hasEnded(known.message)
    case 'INVALID': return forInvalid(known.message, help)
    case 'AGENT_INVALID': return forFile(known, verb)
    case 'PERMISSION': return known.message.startsWith('PID 0') ? 'It stands for the daemon: `reeve daemon status` shows that.' : null
    case 'UNAVAILABLE': return isUnusable(cause) ? 'Its state directory must be yours: `reeve config path` names it, and REEVE_HOME chooses another one.' : null
    default: return hint === '' ? forUnknown(error) : null
  }
}

/** As the shell's own `kill` takes them. */
function forSignal(message: string, verb: string | undefined): string | null {
  const signal = verb === 'kill' ? /^unknown flag -(\w+)$/.exec(message)?.[1] : undefined
  return signal === undefined ? null : `A signal stands behind -s: \`reeve kill -s ${/^\d+$/.test(signal) ? signal : 'KILL'} P\`.`
}

/** What nobody has foreseen: the system refused something, or it is our fault. */
function forUnknown(error: unknown): string | null {
  if (error instanceof Failure) return null
  return (error as NodeJS.ErrnoException).syscall === undefined ? 'This is a defect of reeve: please report it, with what you typed.' : '`reeve doctor` looks at what reeve needs, `reeve config path` names its files.'
}

function hasEnded(message: string): string | null {
  const uuid = /^process ([0-9a-f-]{36}) has ended$/.exec(message)?.[1]
  return uuid === undefined ? null : `\`reeve inspect ${shortId(uuid)}\` says how it ended; \`reeve resume ${shortId(uuid)}\` goes on with it, where it can (a command: \`--rerun\`).`
}

function forInvalid(message: string, help: string): string {
  if (message.startsWith('no model')) return '`reeve config set defaultModel PROVIDER/NAME` sets one for good; `reeve help models` says more.'
  if (message.startsWith('model ')) return '`reeve help models` says how a model is named; `reeve config show providers` lists the providers.'
  if (message.startsWith('REEVE_')) return 'Correct that variable of the environment, or unset it.'
  return help
}

/** A file with a mistake has a line; else there is no such agent, or what it wants is not there. */
function forFile({ message, details }: Known, verb = ''): string | null {
  const file = details?.['file']
  if (typeof file !== 'string') return '`reeve agents` lists those that can be run here.'
  if (message.endsWith(': it is not there')) return 'Is the path right? One that does not begin with / is looked for from the working directory.'
  if (file.endsWith('/credentials.yaml')) return 'Correct the file: lines of `NAME: value`, which nobody but you can read (mode 0600).'
  const page = file.endsWith('/config.yaml') || file.includes('/agents/') ? undefined : /^(compose|crew)\b/.exec(verb)?.[1]
  if (page !== undefined) return `Correct the file; docs/${page === 'crew' ? 'crews' : page}.md says what stands where.`
  if (file.endsWith('/reeve.yaml')) return "Correct the file: it is the project's, and `reeve config set` changes your own alone."
  if (file.endsWith('/config.yaml')) return 'Correct the file, or take the key away with `reeve config unset KEY`; `reeve help config` says more.'
  return file.endsWith('.md') && file.includes('/agents/') ? 'Correct the file; `reeve help agent-files` says what stands where.' : null
}

function isUnusable(cause: unknown): boolean {
  return ['ENOTDIR', 'EACCES', 'EPERM', 'ENOTSOCK', 'EROFS'].includes(String((cause as NodeJS.ErrnoException | undefined)?.code))
}
