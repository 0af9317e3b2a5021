// Starts a daemon that must refuse to start, and returns its exit and its stderr.
import { readProcess, signalFound } from '../living-processes.ts'
import type { DaemonExit, DaemonHome } from './daemon-home.ts'

/** A daemon that is not refused within this time is killed; its exit code is then null. */
const REFUSAL_MS = 15_000

export async function startRefused(home: DaemonHome): Promise<DaemonExit & { readonly stderr: string }> {
  const child = home.launch()
  const tooLate = setTimeout(() => signalFound(readProcess(child.pid), 'SIGKILL'), REFUSAL_MS)
  const exit = await child.ended
  clearTimeout(tooLate)
  return { ...exit, stderr: child.stderr() }
}
