// The response header with the current PID of a process. The daemon sends the header if the request contains an outdated PID, which the
// process had before a resume. Test: test/e2e/naming/names.test.ts.

/** The name of the header. The value `12=13` means: the process with the old PID 12 now has the PID 13. */
export const CURRENT_PID_HEADER = 'x-reeve-present-pid'

/** Parses the value of the header. Null if the header is missing or malformed. */
export function parseCurrentPid(value: string | null | undefined): { readonly requestedPid: number; readonly pid: number } | null {
  const match = /^(\d+)=(\d+)$/.exec(value ?? '')
  return match ? { requestedPid: Number(match[1]), pid: Number(match[2]) } : null
}
