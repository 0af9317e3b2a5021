// The closed table of errors: code, meaning, hint, HTTP status, exit code of the command line. `npm run docs` generates
// docs/reference/errors.md from this table. Test: test/ratchet.test.ts.

interface ErrorRow {
  readonly meaning: string
  /** what to do; `KernelError` may replace it */
  readonly hint: string
  /** the HTTP status */
  readonly http: number
  /** the exit code of the command line */
  readonly exit: number
}

export const ERRORS = {
  INTERNAL: {
    meaning: 'A broken invariant: a transition or a request that cannot happen.',
    hint: 'This is a defect of reeve; `reeve daemon logs` has the details.',
    http: 500,
    exit: 125,
  },
  INVALID: {
    meaning: 'The request does not make sense for this process or has a wrong value.',
    hint: 'Correct the request; `reeve inspect` shows the settings of a process.',
    http: 400,
    exit: 64,
  },
  NOT_FOUND: {
    meaning: 'No such process exists, or it has ended. The request may also name a part of a process, such as a task, a node or a step.',
    hint: '`reeve ps -a` lists all processes, also the ended ones.',
    http: 404,
    exit: 3,
  },
  AMBIGUOUS: {
    meaning: 'More than one process fits the name or number.',
    hint: 'Use more digits of the ID; the candidates are listed.',
    http: 409,
    exit: 3,
  },
  COLLECTED: {
    meaning: 'The process existed and was removed.',
    hint: 'Only an import of its export restores it (`reeve import`). `reeve ps -a` lists the existing processes.',
    http: 410,
    exit: 3,
  },
  CONFLICT: {
    meaning: 'The request contradicts the present state: a name, directory or branch is in use, or something must end first.',
    hint: 'Choose another name, or end the process that has it (`reeve stop`).',
    http: 409,
    exit: 1,
  },
  PERMISSION: {
    meaning: 'The sender, or the requested process, does not have this permission.',
    hint: '`reeve inspect` shows the permissions of a process. PID 0 and the supervisor of the sender cannot be signalled.',
    http: 403,
    exit: 1,
  },
  RESOURCE_EXHAUSTED: {
    meaning: 'The table of live processes or a queue is full.',
    hint: 'Wait for processes to end, suspend some, or raise `maxProcesses` in the configuration.',
    http: 429,
    exit: 125,
  },
  NOT_RESUMABLE: {
    meaning: 'The driver cannot resume this process in that way.',
    hint: '`reeve list-resumable` shows the modes of each process. `--rerun` runs a command again from its beginning.',
    http: 409,
    exit: 1,
  },
  LATE: { meaning: 'A report of an incarnation or turn that is over.', hint: 'Nothing to do: it was ignored.', http: 409, exit: 125 },
  DISK_FULL: {
    meaning: 'The disk is full; nothing was written and nothing acknowledged is lost.',
    hint: 'Free some space. Held processes then continue automatically.',
    http: 507,
    exit: 125,
  },
  DISK_FAILED: {
    meaning: 'The disk could not be written or synced; nothing was written and nothing acknowledged is lost.',
    hint: "Read the system's log (`dmesg`), and check the disk. Running processes wait, and continue automatically when writing works again.",
    http: 500,
    exit: 125,
  },
  READ_ONLY: {
    meaning: 'The state directory cannot be written.',
    hint: 'Check the permissions of the state directory (`reeve config path` names it).',
    http: 500,
    exit: 125,
  },
  STORE_LOCKED: {
    meaning: 'Another daemon owns this state directory.',
    hint: '`reeve daemon status` shows it; set REEVE_HOME for a second one.',
    http: 503,
    exit: 4,
  },
  FENCED: {
    meaning: 'The store is no longer that of this daemon: its file was replaced or removed, or another daemon has taken over its database.',
    hint: 'The daemon stops. The next start compares `store.db` with the last state that was recorded for it, and refuses an older file.',
    http: 503,
    exit: 4,
  },
  STORE_REGRESSED: {
    meaning: 'The database has lost writes that it had acknowledged, as after a failover to a standby that was behind.',
    hint: 'The daemon stops. Check the failover; the next start continues with what the database has.',
    http: 503,
    exit: 4,
  },
  STORE_UNREACHABLE: {
    meaning: 'The database of the store cannot be reached; nothing was written.',
    hint: 'Check the server, its address and the user. Running processes wait, and continue automatically.',
    http: 503,
    exit: 4,
  },
  STORE_UNSUITABLE: {
    meaning: 'The database cannot keep the store safely.',
    hint: 'docs/guides/postgresql.md lists what the server needs.',
    http: 500,
    exit: 125,
  },
  STORE_DAMAGED: {
    meaning: 'The store is damaged; nothing was skipped or repaired silently.',
    hint: 'Restore store.db from a backup, or save its readable parts: `sqlite3 store.db .recover`. Until then, reeve works with another REEVE_HOME.',
    http: 500,
    exit: 125,
  },
  STORE_NEWER: {
    meaning: 'The store was written by a newer reeve.',
    hint: 'Install the newer version, or set REEVE_HOME to another directory.',
    http: 500,
    exit: 125,
  },
  UNAVAILABLE: {
    meaning: 'The daemon is stopping, or cannot be reached.',
    hint: '`reeve daemon status` and `reeve daemon logs` show why.',
    http: 503,
    exit: 4,
  },
  HANGS: {
    meaning: 'The daemon is running but does not answer.',
    hint: '`reeve daemon restart --now` kills it and starts a new one. Running processes are interrupted, and can be resumed.',
    http: 503,
    exit: 4,
  },
  NOT_RUNNABLE: {
    meaning: 'The command was found but could not be run.',
    hint: 'Check that it is executable and that the working directory exists.',
    http: 400,
    exit: 126,
  },
  COMMAND_NOT_FOUND: {
    meaning: 'The command was not found.',
    hint: 'Check the spelling and the PATH that was recorded (`reeve inspect`).',
    http: 400,
    exit: 127,
  },
  AGENT_INVALID: {
    meaning: 'An agent file or a configuration file cannot be used.',
    hint: '`reeve agents` lists the agents and the invalid files; `reeve config path` prints the path of the configuration.',
    http: 400,
    exit: 64,
  },
  CREDENTIALS_MISSING: {
    meaning: 'A key that the model needs is missing.',
    hint: 'Set it in the environment, or in credentials.yaml (mode 0600).',
    http: 400,
    exit: 1,
  },
  MODEL_FAILED: {
    meaning: 'The model could not be called, after all retries.',
    hint: "`reeve logs` has the provider's answer.",
    http: 502,
    exit: 1,
  },
  TIMED_OUT: { meaning: 'The time limit was exceeded.', hint: 'Allow more time with `--timeout`.', http: 408, exit: 124 },
  FORBIDDEN: {
    meaning: 'The origin of the request is not allowed (Host, Origin, token or content type).',
    hint: 'Use the command line or the library; see docs/trust/security.md.',
    http: 403,
    exit: 1,
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** An operating error with a code of the table. */
export class KernelError extends Error {
  readonly code: ErrorCode
  /** JSON data for the client */
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly hint: string
  /** `hint` replaces the hint of the table */
  constructor(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>, hint: string = ERRORS[code].hint) {
    super(message)
    this.name = 'KernelError'
    this.code = code
    this.details = details
    this.hint = hint
  }
}
