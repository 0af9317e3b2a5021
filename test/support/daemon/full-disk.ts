// A program for tests: runs a daemon with its home on a small file system (TMPDIR), and three commands whose output fills it.
// The program ends the commands while the disk is full, stops the daemon, and prints its observations as one line of JSON.
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { LocalDaemon } from './local-daemon.ts'

const filler = join(process.env['TMPDIR'] ?? '', 'filler')
const PIECES = [1_048_576, 65_536, 4_096]

/** Writes until not even a page fits. */
function fill(): void {
  for (const bytes of PIECES) {
    try {
      for (;;) appendFileSync(filler, randomBytes(bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

const seen: Record<string, unknown> = {}
await using daemon = await LocalDaemon.start()
const chatty = 'while :; do head -c 3000 /dev/urandom | od -An -tx1; done'
const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => daemon.spawnShell(chatty, { name, containment: 'group' })))
fill()
for (const process of [a, b, c]) await daemon.waitForStatus(process?.uuid ?? '', 'suspended')
// Output of the other programs fills the space that was freed.
fill()
await daemon.signal(a?.uuid ?? '', 'SIGTERM', { graceMs: 300 })
await daemon.signal(b?.uuid ?? '', 'SIGKILL')
seen['ended'] = [(await daemon.waitForEnd(a?.uuid ?? '')).status, (await daemon.waitForEnd(b?.uuid ?? '')).status]
seen['held'] = (await daemon.view(c?.uuid ?? '')).holds.map(({ reason }) => reason)
const before = performance.now()
await daemon.client.post('/v1/daemon/stop', { drainMs: 600_000 })
await daemon.stopped
seen['stopsAtOnce'] = performance.now() - before < 30_000
rmSync(filler)
await daemon.start()
const { checks } = await daemon.client.get<{ checks: { name: string; detail: string }[] }>('/v1/doctor', { verify: true })
seen['store'] = checks.find(({ name }) => name === 'store')?.detail
seen['after'] = [(await daemon.view('a')).status, (await daemon.view('b')).status]
process.stdout.write(`${JSON.stringify(seen)}\n`)
