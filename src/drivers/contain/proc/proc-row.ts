// One row of the operating system's process table. Types only. Test: test/processes/contain/handle.test.ts.

export interface ProcRow {
  readonly pid: number
  readonly ppid: number
  readonly pgid: number
  /** the state as one letter, as `ps` shows it: R, S, D, T, Z, … */
  readonly state: string
  /** the start time, in clock ticks since the boot (Linux) or as a date. With the PID it identifies the process */
  readonly startTime: string
}

export interface MarkedRow extends ProcRow {
  /** the value of REEVE_PROC in the environment; null if unset or unreadable */
  readonly marker: string | null
}
