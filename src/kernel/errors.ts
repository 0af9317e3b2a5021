// The one closed table of errors: code, what it means, the hint, the HTTP status, the command line's exit code.
// docs/errors.md is generated from it (npm run docs). Test: test/ratchet.test.ts.

interface ErrorRow {
  readonly meaning: string
  readonly hint: string
  readonly http: number
  readonly exit: number
}

export const ERRORS = {
  INTERNAL: { meaning: 'A broken invariant: a transition or a request that cannot happen.', hint: 'This is a defect of reeve; `reeve daemon logs` has the details.', http: 500, exit: 125 },
  INVALID: { meaning: 'The request does not make sense for this process or has a wrong value.', hint: 'See `reeve help` for the verb, or `reeve inspect` for the process.', http: 400, exit: 64 },
  NOT_FOUND: { meaning: 'No such process, or it has ended.', hint: '`reeve ps -a` lists all processes, also the ended ones.', http: 404, exit: 3 },
  AMBIGUOUS: { meaning: 'More than one process fits the name or number.', hint: 'Use more digits of the ID; the candidates are listed.', http: 409, exit: 3 },
  COLLECTED: { meaning: 'The process existed and was removed.', hint: 'Only an export of it can bring it back (`reeve import`); `reeve ps -a` lists what is there.', http: 410, exit: 3 },
  CONFLICT: { meaning: 'Something with that name is already there, or a process that must have ended has not.', hint: 'Choose another name, or end the process that is in the way (`reeve stop`).', http: 409, exit: 1 },
  PERMISSION: { meaning: 'The sender, or the process that was asked for, may not do this.', hint: '`reeve inspect` says what a process may do; PID 0 and one\'s own supervisor cannot be signalled.', http: 403, exit: 1 },
  RESOURCE_EXHAUSTED: { meaning: 'The table of live processes or a queue is full.', hint: 'Wait for processes to end, suspend some, or raise `maxProcesses` in the configuration.', http: 429, exit: 125 },
  NOT_RESUMABLE: { meaning: 'The driver cannot resume this process in that way.', hint: '`reeve list-resumable` says what each can do; a command can be run again with `--rerun`, from its beginning.', http: 409, exit: 1 },
  LATE: { meaning: 'A report of an incarnation or turn that is over.', hint: 'Nothing to do: it was ignored.', http: 409, exit: 125 },
  DISK_FULL: { meaning: 'The disk is full; nothing was written and nothing acknowledged is lost.', hint: 'Free some space: held processes go on by themselves.', http: 507, exit: 125 },
  READ_ONLY: { meaning: 'The state directory cannot be written.', hint: 'Check the permissions of the state directory (`reeve config path` names it).', http: 500, exit: 125 },
  STORE_LOCKED: { meaning: 'Another daemon owns this state directory.', hint: '`reeve daemon status` shows it; set REEVE_HOME for a second one.', http: 503, exit: 4 },
  STORE_DAMAGED: { meaning: 'The store is damaged; nothing was skipped or repaired in silence.', hint: 'Restore store.db from a backup, or save what can be read: `sqlite3 store.db .recover`. With another REEVE_HOME reeve works meanwhile.', http: 500, exit: 125 },
  STORE_NEWER: { meaning: 'The store was written by a newer reeve.', hint: 'Install the newer version, or set REEVE_HOME to another directory.', http: 500, exit: 125 },
  UNAVAILABLE: { meaning: 'The daemon is stopping, or cannot be reached.', hint: '`reeve daemon status` and `reeve daemon logs` say why.', http: 503, exit: 4 },
  NOT_RUNNABLE: { meaning: 'The command was found but could not be run.', hint: 'Check that it is executable and that the working directory exists.', http: 400, exit: 126 },
  COMMAND_NOT_FOUND: { meaning: 'The command was not found.', hint: 'Check the spelling and the PATH that was recorded (`reeve inspect`).', http: 400, exit: 127 },
  AGENT_INVALID: { meaning: 'An agent file or a configuration file cannot be used.', hint: '`reeve agents` lists the agents, and the files that cannot be used; `reeve config path` says where the configuration is.', http: 400, exit: 64 },
  CREDENTIALS_MISSING: { meaning: 'A key that the model needs is not there.', hint: 'Set it in the environment, or in credentials.yaml (mode 0600).', http: 400, exit: 1 },
  MODEL_FAILED: { meaning: 'The model could not be called, after all retries.', hint: '`reeve logs` has the answer of the provider.', http: 502, exit: 1 },
  TIMED_OUT: { meaning: 'It took longer than was allowed.', hint: 'Give more time with `--timeout`.', http: 408, exit: 124 },
  FORBIDDEN: { meaning: 'The request did not come from where it may come from (Host, Origin, token or content type).', hint: 'Use the command line or the library; see docs/security.md.', http: 403, exit: 1 },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** An operating error with a code of the table. `details` are JSON and go to the client. */
export class KernelError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly hint: string
  /** `hint` where there is a better one than the table's */
  constructor(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>, hint: string = ERRORS[code].hint) {
    super(message)
    this.name = 'KernelError'
    this.code = code
    this.details = details
    this.hint = hint
  }
}
