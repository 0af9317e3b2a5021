// Runs one command: parses the flags of its verb, runs the verb, prints errors and returns the exit code. Both entries, main.ts and
// ps-main.ts, use this file. Must import statically only what `reeve ps` needs. Test: test/e2e/cli/cli.test.ts.
import { withAbsoluteHome } from '../config/paths.ts'
import { connect } from '../index.ts'
import { Args, COMMON_FLAGS, parseCommandLine } from './input/args.ts'
import { exitCode, UsageError } from './errors.ts'
import { exitOnBrokenPipe, errorText, Output } from './print/output.ts'
import type { Verb } from './table/verb.ts'

/** A command line, split into its verb and the rest. */
export interface ParsedLine {
  /** the name of the verb: one word, or two */
  readonly name: string
  /** the verb, or the error if no verb has this name */
  readonly verb: Verb | UsageError
  /** all flags, and the words after the verb */
  readonly rest: readonly string[]
}

/** Runs a command to its end, and resolves to its exit code. Never rejects. */
export async function runCommand({ name, verb, rest }: ParsedLine): Promise<number> {
  const knownVerb = verb instanceof UsageError ? undefined : verb
  try {
    if (verb instanceof UsageError) throw verb
    // The daemon, the systemd unit and agents inherit this environment, but run in other directories.
    const env = withAbsoluteHome(process.env)
    if (env !== process.env) process.env['REEVE_HOME'] = env['REEVE_HOME']
    return await runVerb(name, verb, parseCommandLine(rest, { ...COMMON_FLAGS, ...verb.flags }, verb.takesCommand === true))
  } catch (error) {
    const { toReportedError } = await import('./print/hints.ts')
    const { withDocsPaths } = await import('./print/docs-pages.ts')
    const reported = toReportedError(error, knownVerb && name)
    const shown = { ...reported, message: withDocsPaths(reported.message), hint: withDocsPaths(reported.hint) }
    exitOnBrokenPipe(process.stderr).write(`${errorText(shown, isJson(rest, knownVerb))}\n`)
    return exitCode(error, knownVerb?.exitsWithProcessCode === true)
  }
}

async function runVerb(name: string, verb: Verb, args: Args): Promise<number> {
  const out = new Output({ json: args.on('json'), quiet: args.on('quiet'), color: !args.on('no-color') })
  const call = {
    out,
    reeve: connect({
      client: 'cli',
      onStart: (started) => reportStart(out, started),
      onOtherBuild: () => warnOfOtherBuild(out, name),
      onPresentPid: (retiredPid, pid) => reportNewPid(out, retiredPid, pid),
      onSlow: (answered) => {
        // The command must not fail because this line cannot be written.
        reportSlow(out, name, answered).catch(() => {})
      },
    }),
    loadVerbs: async () => (await import('./table/verbs.ts')).VERBS,
  }
  if (args.on('help')) return (await import('./verbs/system/help.ts')).run({ ...call, args: new Args(name.split(' '), null, new Map()) })
  const [minWords, maxWords] = verb.wordRange
  if (args.words.length < minWords) throw new UsageError(`${name} needs more arguments`, `Usage: ${verb.usage.join('\n              ')}`)
  if (args.words.length > maxWords)
    throw new UsageError(`${name} does not take "${args.words[maxWords]}"`, `Usage: ${verb.usage.join('\n              ')}`)
  return (await verb.load()).run({ ...call, args })
}

/** Warns that the daemon runs another build. `reeve daemon` needs no warning: it reports the build itself, or replaces the daemon. */
function warnOfOtherBuild(out: Output, name: string): void {
  if (name !== 'daemon')
    // The command must not fail because this line cannot be written.
    out.message('the daemon runs another build than this command, as after an upgrade: `reeve daemon upgrade`').catch(() => {})
}

/** Reports the current PID of a process if the user named an outdated PID, which the process had before a resume. */
function reportNewPid(out: Output, retiredPid: number, pid: number): void {
  // The command must not fail because this line cannot be written.
  out.message(out.paintMessage('dim', `${retiredPid} is now ${pid}`)).catch(() => {})
}

/**
 * States that the daemon has not answered yet, unless the verb itself states what it waits for. The verb reports an error of the answer.
 */
async function reportSlow(out: Output, name: string, answered: Promise<unknown>): Promise<void> {
  const { WaitNote } = await import('./follow/wait-note.ts')
  await using note = new WaitNote(out, { isFallback: true })
  note.set({ key: 'answer', what: `the daemon to answer \`reeve ${name}\``, ends: 'Ctrl+C ends only this command' })
  // The verb reports this error.
  await answered.catch(() => {})
}

/** Shows that the daemon is starting. The caller that waits for the daemon reports an error of the start. */
async function reportStart(out: Output, started: Promise<void>): Promise<void> {
  const { withWaitNote } = await import('./follow/wait-note.ts')
  await withWaitNote(
    out,
    () => ({ key: 'start', what: 'the daemon to start', ends: '`reeve daemon logs` shows what it does' }),
    // The same error reaches the caller that waits for the daemon.
    started.catch(() => {}),
    { isFallback: true },
  )
}

/** Whether `--json` was given. Reads the unparsed words, because the error to print may be that they cannot be parsed. */
function isJson(rest: readonly string[], verb: Verb | undefined): boolean {
  const end = verb?.takesCommand ? rest.indexOf('--') : -1
  return rest.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** Exits at once if all output is written. A regular exit would first wait 1.5 ms for the socket to close. */
export function exitWhenWritten(code: number): void {
  process.exitCode = code
  if (process.stdout.writableLength === 0) process.exit()
}
