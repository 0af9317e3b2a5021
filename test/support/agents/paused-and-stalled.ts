// Starts two equal agents with a short stall timeout, for tests of paused agents. Both wait for a model that never answers; one of
// them is paused. When the monitor reports the other as stalled, it has also had the time to report the paused one.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { LocalDaemon } from '../daemon/local-daemon.ts'

const AGENT = 'impatient'

/** Returns the paused agent when its twin was reported as stalled and has ended. */
export async function startPausedBesideStalled(
  daemon: LocalDaemon,
): Promise<{ readonly uuid: string; readonly readLivenessChanges: () => Promise<readonly unknown[]> }> {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(join(daemon.paths.agentsDir, `${AGENT}.md`), '---\nliveness: { silent: 2s, stalled: 3s }\n---\n')
  const silent = [{ text: 'late', delay_ms: 120_000 }]
  const isModelCall = ({ fact }: EventView): boolean => fact === 'model.started'
  const { uuid } = await daemon.spawnScripted(silent, { agent: AGENT })
  await daemon.waitForEvent(uuid, isModelCall)
  await daemon.pause(uuid)
  const twin = await daemon.spawnScripted(silent, { agent: AGENT })
  await daemon.waitForView(twin.uuid, ({ liveness }) => liveness?.word === 'stalled')
  await daemon.signal(twin.uuid, 'SIGKILL')
  return { uuid, readLivenessChanges: async () => (await daemon.readHistory(uuid)).filter(({ fact }) => fact === 'liveness.changed') }
}
