// `reeve top` on a terminal whose reader takes 1 KB a second while all rows change: frames are dropped, not queued. When the reader is
// quick again, the screen is that of a fresh frame.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import xterm from '@xterm/headless'
import { expect, test } from 'vitest'
import { applyRowEvent } from '../../../src/api/row-events.ts'
import { frameOf } from '../../../src/cli/top/frame-lines.ts'
import { TopModel } from '../../../src/cli/top/model.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { ManyRowsDaemon } from '../../support/faces/many-rows-daemon.ts'
import { BIRTH, manyChanges, manyRows, rowMap, sumsOf } from '../../support/faces/rows.ts'
import { readBytesOf } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** a large screen, so that few frames fill the buffers on the way */
const SIZE = { columns: 400, rows: 100 } as const
const ROW_COUNT = 200
const SLOW_CHARS = 1_000
const ROUNDS = 40
/** more than the shortest time between two frames */
const ROUND_MS = 120
/** less than the bytes of a change of all rows */
const CHANGE_BYTES = ROW_COUNT * 100
/** The most bytes of all frames: two sockets and the terminal hold some 300 KB on their way. All frames would have 1.4 MB. */
const MOST_BYTES = 600_000

const END_OF_FRAME = '\x1b[?2026l'
const STYLE = { ascii: false, ellipsis: '…', pauseMark: '⏸', paint: (_: string, text: string) => text }
// Without clocks, the lines of a frame depend on the rows alone.
const ROWS = manyRows(ROW_COUNT).map((row) => ({ ...row, elapsedMs: 60_000, runsSince: null }))

async function screenOf(bytes: string): Promise<string[]> {
  const terminal = new xterm.Terminal({ cols: SIZE.columns, rows: SIZE.rows, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(bytes, resolve))
  return Array.from({ length: SIZE.rows }, (_, row) => terminal.buffer.active.getLine(row)?.translateToString(true).trimEnd() ?? '')
}

/** The lines of the first frame of a program that starts after all changes. */
function freshLines(): string[] {
  const model = new TopModel()
  const rows = rowMap(...ROWS)
  for (let round = 1; round <= ROUNDS; round += 1) {
    applyRowEvent(rows, { type: 'rows', cursor: '', seq: round, up: manyChanges(ROW_COUNT, ROW_COUNT, round), gone: [] })
  }
  const reset = { type: 'reset', cursor: '', seq: 0, now: BIRTH, rows: [...rows.values()], sums: sumsOf(ROW_COUNT), needs: [] } as const
  model.onRows(reset, 0, Date.parse(BIRTH))
  const { lines } = frameOf(model, SIZE, { wall: Date.parse(BIRTH), mono: 0 }, STYLE)
  return lines.map((line) => line.trimEnd())
}

test.runIf(HAS_TERMINAL)('a terminal that is read at 1 KB a second gets fewer frames, and the last one is right', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reeve-top-'))
  await using daemon = await ManyRowsDaemon.start(home, ROWS)
  using terminal = new Terminal(home, ['top'], SIZE)
  await terminal.waitFor(() => terminal.raw.includes(END_OF_FRAME) && terminal.raw.includes('worker-0'), 'the first frame')
  const top = terminal.process
  {
    using _ = terminal.readSlowly(SLOW_CHARS)
    for (let round = 1; round <= ROUNDS; round += 1) {
      const before = readBytesOf(top)
      daemon.change(ROW_COUNT)
      await waitUntil(() => readBytesOf(top) >= before + CHANGE_BYTES, 'top has read the change')
      await delay(ROUND_MS)
    }
  }
  const lastChange = `parser-${ROUNDS}.ts`
  const isComplete = (bytes: string): boolean =>
    bytes.includes(lastChange) && bytes.lastIndexOf(END_OF_FRAME) > bytes.lastIndexOf(lastChange)
  await terminal.waitFor(() => isComplete(terminal.raw), 'a frame with the last change')
  const { raw } = terminal
  // The head line has clocks.
  expect((await screenOf(raw)).slice(1)).toEqual(freshLines().slice(1))
  expect(raw.length).toBeLessThan(MOST_BYTES)
  terminal.type('q')
  expect([await terminal.exitCode, terminal.isRestored]).toEqual([0, true])
  rmSync(home, { recursive: true })
})
