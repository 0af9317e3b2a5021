// A program for tests: runs a daemon with its home on a small file system (TMPDIR), and three commands whose output fills it.
// The program ends the commands while the disk is full, stops the daemon, and prints its observations as one line of JSON.
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { LocalDaemon } from '../daemon/local-daemon.ts'

const fillerFile = join(process.env['TMPDIR'] ?? '', 'filler')
const PIECE_SIZES = [1_048_576, 65_536, 4_096]

/** Writes until not even a page fits. */
function fillDisk(): void {
  for (const bytes of PIECE_SIZES) {
    try {
      for (;;) appendFileSync(fillerFile, randomBytes(bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

const observations: Record<string, unknown> = {}
await using daemon = await LocalDaemon.start()
const endlessOutput = 'while :; do head -c 3000 /dev/urandom | od -An -tx1; done'
const [terminated, killed, suspended] = await Promise.all(
  ['a', 'b', 'c'].map((name) => daemon.spawnShell(endlessOutput, { name, containment: 'group' })),
)
fillDisk()
for (const process of [terminated, killed, suspended]) await daemon.waitForStatus(process?.uuid ?? '', 'suspended')
// Output of the other programs fills the space that was freed.
fillDisk()
await daemon.signal(terminated?.uuid ?? '', 'SIGTERM', { graceMs: 300 })
await daemon.signal(killed?.uuid ?? '', 'SIGKILL')
observations['ended'] = [(await daemon.waitForEnd(terminated?.uuid ?? '')).status, (await daemon.waitForEnd(killed?.uuid ?? '')).status]
observations['held'] = (await daemon.view(suspended?.uuid ?? '')).holds.map(({ reason }) => reason)
const stopBeganMs = performance.now()
await daemon.client.post('/v1/daemon/stop', { drainMs: 600_000 })
await daemon.stopped
observations['stopsAtOnce'] = performance.now() - stopBeganMs < 30_000
rmSync(fillerFile)
await daemon.start()
const { checks } = await daemon.client.get<{ checks: { name: string; detail: string }[] }>('/v1/doctor', { verify: true })
observations['store'] = checks.find(({ name }) => name === 'store')?.detail
observations['after'] = [(await daemon.view('a')).status, (await daemon.view('b')).status]
process.stdout.write(`${JSON.stringify(observations)}\n`)
