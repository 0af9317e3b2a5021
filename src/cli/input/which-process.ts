// Resolves a name that several ended processes share, which the daemon refuses as ambiguous. Verbs that only read take the newest process,
// and print a note. `crew stop`, `crew pause` and `compose down` report that all have ended. Other commands to a crew are sent to the
// newest, and fail with its error. Test: test/e2e/naming/names.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { CandidateView } from '../../api/views/process.ts'
import { Failure } from '../errors.ts'
import { formatMoment } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { oneLine } from '../print/text.ts'

/** Calls `send` with a reference. If several ended processes share the name, calls it again with the newest, and prints a note. */
export async function resolveForRead<T>(ref: string, out: Output, send: (ref: string) => Promise<T>): Promise<T> {
  try {
    return await send(ref)
  } catch (error) {
    const newest = newestOf(error, ref)
    if (!newest) throw error
    await out.message(out.paintMessage('dim', `"${oneLine(ref)}" names several ended processes; the newest is ${candidateText(newest)}`))
    return await send(newest.uuid)
  }
}

/** Calls `send`, which acts on a living process. If several ended processes share the name, the error and its hint name the newest. */
export async function resolveForAction<T>(ref: string, send: (ref: string) => Promise<T>): Promise<T> {
  try {
    return await send(ref)
  } catch (error) {
    const newest = newestOf(error, ref)
    if (!newest) throw error
    return await send(newest.uuid)
  }
}

/** Calls `send`, which ends or pauses a process. Errors: exit 3 if all processes with the name have ended. */
export async function resolveForEnd<T>(ref: string, send: (ref: string) => Promise<T>): Promise<T> {
  try {
    return await send(ref)
  } catch (error) {
    const newest = newestOf(error, ref)
    if (!newest) throw error
    throw new Failure(
      3,
      `all processes named "${oneLine(ref)}" have ended; the newest is ${candidateText(newest)}`,
      `\`reeve inspect ${newest.pid}\` shows how it ended.`,
    )
  }
}

/** Returns the newest candidate of an error `AMBIGUOUS`; undefined unless all candidates have ended and have exactly this name. */
function newestOf(error: unknown, ref: string): CandidateView | undefined {
  const candidates = error instanceof ApiError && error.code === 'AMBIGUOUS' ? candidatesOf(error.details) : []
  return candidates.every(({ name, exitedAt }) => name === ref && exitedAt !== null) ? candidates[0] : undefined
}

/** Returns the candidates in the details of an error, newest first. */
export function candidatesOf(details: Readonly<Record<string, unknown>> | undefined): CandidateView[] {
  const found = details?.['candidates']
  return Array.isArray(found) ? (found as CandidateView[]).toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)) : []
}

/** Describes a candidate: `PID 12 (completed 2026-11-20 13:36:55, 3 min ago)`. */
export function candidateText({ pid, status, exitedAt, createdAt }: CandidateView): string {
  return `PID ${pid} (${status} ${exitedAt === null ? `since ${formatMoment(createdAt, Date.now())}` : formatMoment(exitedAt, Date.now())})`
}
