// The process table where there is no /proc (macOS, BSD): the output of `ps`, taken apart.
// Reads only. Start times are dates with their spaces replaced, so that they are one word.
// Tests: test/processes/contain-handle.test.ts (procps understands the same options).
import { spawnSync } from 'node:child_process'
import type { MarkedRow, ProcRow } from './proc.ts'

const COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart='
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

// The letter that adds the environment to the command: BSD's `E`; procps calls it `e`.
const ENV_LETTER = process.platform === 'linux' ? 'e' : 'E'

export function psRow(pid: number): ProcRow | null {
  return parse(ps(['-o', COLUMNS, '-p', String(pid)]))[0] ?? null
}

export function psCensus(): MarkedRow[] {
  return parse(ps([`ax${ENV_LETTER}ww`, '-o', `${COLUMNS},command=`]))
}

function ps(args: readonly string[]): string {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }
  return spawnSync('ps', args, { env, encoding: 'latin1', maxBuffer: MAX_OUTPUT_BYTES }).stdout
}

// `  501     1   501 Ss   Thu Nov 20 10:20:31 2025 command…`: lstart is always five words.
const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S)\S*\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)(.*)$/

function parse(output: string): MarkedRow[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, ppid, pgid, state, started, command] = LINE.exec(line) ?? []
    if (state === undefined || started === undefined) return []
    const marker = /\sREEVE_PROC=(\S+)/.exec(command ?? '')?.[1] ?? null
    return [{ pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid), state, startTime: started.replace(/\s+/g, '_'), marker }]
  })
}
