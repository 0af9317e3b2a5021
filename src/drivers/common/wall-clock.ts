// The wall clock with which a driver reads the time and waits. Types only. Test: test/processes/acp/turns.test.ts.

/** Measures wall-clock time in ms, like the timestamps in an agent's own files. */
export interface WallClock {
  now(): number
  /** resolves after `ms`; rejects when the signal aborts */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
