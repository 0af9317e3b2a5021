// Two agents of short patience, both in a model call that says nothing: one that is paused, and its twin that is not. When the
// twin is stalled the monitor has looked at the paused one for as long. For tests of what it passes over.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventView } from '../../src/api/views.ts'
import type { LocalDaemon } from './local-daemon.ts'

const AGENT = 'impatient'

/** Gives the one that is paused, once its twin is stalled and gone. */
export async function pausedBesideStalled(daemon: LocalDaemon): Promise<{ readonly uuid: string; readonly words: () => Promise<readonly unknown[]> }> {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(join(daemon.paths.agentsDir, `${AGENT}.md`), '---\nliveness: { silent: 2s, stalled: 3s }\n---\n')
  const silent = [{ text: 'late', delay_ms: 120_000 }]
  const isAsking = ({ fact }: EventView): boolean => fact === 'model.started'
  const { uuid } = await daemon.play(silent, { agent: AGENT })
  await daemon.event(uuid, isAsking)
  await daemon.pause(uuid)
  const twin = await daemon.play(silent, { agent: AGENT })
  await daemon.untilSo(twin.uuid, ({ liveness }) => liveness?.word === 'stalled')
  await daemon.signal(twin.uuid, 'SIGKILL')
  return { uuid, words: async () => (await daemon.history(uuid)).filter(({ fact }) => fact === 'liveness.changed') }
}
