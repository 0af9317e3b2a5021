// A verb that takes several processes: each is tried, a failure does not keep the others from it, the first one gives the
// exit code. Test: test/e2e/cli.test.ts.
import { ApiError } from '../api/client.ts'
import { exitCode } from './errors.ts'
import { told } from './hints.ts'
import { errorText } from './output.ts'
import type { Call } from './verbs.ts'

/** What was done to one process: for people, and as the fields of its JSON result. */
export interface Done {
  readonly words: string
  readonly fields: object
  /** 0 unless it was done in part */
  readonly exit?: number
}

export async function forEach({ args, out }: Call, act: (ref: string) => Promise<Done>): Promise<number> {
  const results: object[] = []
  let exit = 0
  for (const ref of args.words) {
    try {
      const done = await act(ref)
      results.push({ ref, ...done.fields })
      if (!out.json) await out.words(done.words)
      exit ||= done.exit ?? 0
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { code, message, hint } = told(error)
      results.push({ ref, error: { code, message, hint } })
      if (!out.json) await out.raw('stderr', `${errorText({ message, hint }, false)}\n`)
      exit ||= exitCode(error, false)
      if (code === 'UNAVAILABLE') break
    }
  }
  if (out.json) await out.value({ results })
  return exit
}
