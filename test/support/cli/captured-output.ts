// An output of the command line whose text a test reads, in place of stdout and stderr.
import { PassThrough } from 'node:stream'
import { Output } from '../../../src/cli/print/output.ts'

export interface CapturedOutput {
  out: Output
  text(): { stdout: string; stderr: string }
}

/** Makes an output and a reader of its text. `tty`: both streams are terminals. */
export function captureOutput(
  options: { tty?: boolean; columns?: number; color?: boolean; quiet?: boolean; env?: Record<string, string> } = {},
): CapturedOutput {
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
