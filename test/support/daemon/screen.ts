// An output of the command line whose streams tests read.
import { PassThrough } from 'node:stream'
import { Output } from '../../../src/cli/print/output.ts'

export interface Screen {
  out: Output
  text(): { stdout: string; stderr: string }
}

/** An output whose streams can be read. `tty`: both streams are terminals. */
export function makeScreen(
  options: { tty?: boolean; columns?: number; color?: boolean; quiet?: boolean; env?: Record<string, string> } = {},
): Screen {
  const makeStream = (): NodeJS.WriteStream =>
    Object.assign(new PassThrough({ encoding: 'utf8' }), {
      isTTY: options.tty ?? false,
      columns: options.columns ?? 80,
    }) as unknown as NodeJS.WriteStream
  const streams = { stdout: makeStream(), stderr: makeStream() }
  const out = new Output(
    { json: false, quiet: options.quiet ?? false, color: options.color ?? false },
    { LANG: 'C.UTF-8', ...options.env },
    streams,
  )
  return {
    out,
    text: () => ({ stdout: (streams.stdout.read() as string | null) ?? '', stderr: (streams.stderr.read() as string | null) ?? '' }),
  }
}
