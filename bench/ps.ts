// Measures `reeve ps` with 100 rows from exec to exit, in turns with `node -e 0`.
// Run: `npm run bench ps` (it needs the build).
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { spawnWaiting, startDaemon } from './support/daemon.ts'
import { inFolder, interleave, median, percentile, printTable } from './support/measure.ts'

const REEVE = resolve(import.meta.dirname, '../bin/reeve')
const ROWS = 100
const RUNS = 60

async function benchPs(): Promise<void> {
  await inFolder(async (dir) => {
    await using daemon = await startDaemon(join(dir, 'home'))
    await spawnWaiting(daemon, dir, ROWS)
    const run = (command: string, ...argv: readonly string[]): void => {
      const { status } = spawnSync(command, argv, { env: daemon.env, stdio: 'ignore' })
      if (status !== 0) throw new Error(`${command} ${argv.join(' ')} ended with ${status}`)
    }
    const { floor, ours } = await interleave(
      RUNS,
      () => run(process.execPath, '-e', '0'),
      () => run(REEVE, 'ps'),
    )
    const cell = (times: readonly number[]): string => `${median(times).toFixed(1)} ms (p90 ${percentile(times, 0.9).toFixed(1)})`
    const ratio = median(ours) / median(floor)
    printTable(`reeve ps with ${ROWS} rows, the whole command, ${RUNS} runs each`, [
      { what: 'against node -e 0', floor: cell(floor), ours: cell(ours), ratio, bar: '<= 1.4', ok: ratio <= 1.4 },
    ])
  })
}

await benchPs()
