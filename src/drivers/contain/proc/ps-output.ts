// Reads the process table through `ps` on systems without /proc (macOS, BSD). Reads only. Start times are dates with underscores
// instead of spaces, so that each is one word. Tests: test/processes/contain/handle.test.ts (procps understands the same options).
import { spawnSync } from 'node:child_process'
import type { MarkedRow, ProcRow } from './proc-row.ts'

const COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart='
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

// The option letter that adds the environment to the command: `E` on BSD, `e` in procps.
const ENV_LETTER = process.platform === 'linux' ? 'e' : 'E'

export function psRow(pid: number): ProcRow | null {
  return parse(runPs(['-o', COLUMNS, '-p', String(pid)]))[0] ?? null
}

export function psTable(): MarkedRow[] {
  return parse(runPs([`ax${ENV_LETTER}ww`, '-o', `${COLUMNS},command=`]))
}

function runPs(args: readonly string[]): string {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }
  return spawnSync('ps', args, { env, encoding: 'latin1', maxBuffer: MAX_OUTPUT_BYTES }).stdout
}

// Example: `  501     1   501 Ss   Thu Nov 20 10:20:31 2025 command…`. The column `lstart` always has five words.
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S)\S*\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)(.*)$/

function parse(output: string): MarkedRow[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, ppid, pgid, state, started, command] = PS_LINE.exec(line) ?? []
    if (state === undefined || started === undefined) return []
    const marker = /\sREEVE_PROC=(\S+)/.exec(command ?? '')?.[1] ?? null
    return [{ pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid), state, startTime: started.replace(/\s+/g, '_'), marker }]
  })
}
