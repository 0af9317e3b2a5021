// The time limit of a call without progress. A message that could not be read in time because the event loop was blocked still counts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CallTimeout } from '../../../../src/drivers/mcp/call-timeout.ts'
import { FreezableTimers } from '../../../../src/drivers/common/freezable-timers.ts'
import { tempDir } from '../../../support/tmp.ts'
import type { ToolContext } from '../../../../src/drivers/native/tools/tool.ts'

const CALL_MS = 50

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function newTimeout(): CallTimeout {
  const context = { timers: new FreezableTimers(), signal: new AbortController().signal, output: () => undefined } as Partial<ToolContext>
  return new CallTimeout(context as ToolContext, CALL_MS)
}

/** Waits for some turns of the event loop: more than the time limit grants to pending reads. */
async function waitForTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
}

test('progress that could not be read while the event loop was blocked keeps the call', async () => {
  await using dir = await tempDir()
  const written = join(dir.path, 'written')
  const server = spawn('sh', ['-c', 'echo progress; : > "$0"', written], { stdio: ['ignore', 'pipe', 'inherit'] })
  using timeout = newTimeout()
  server.stdout.on('data', () => timeout.onProgress('progress'))
  while (!existsSync(written)) blockFor(10)
  blockFor(2 * CALL_MS)
  await waitForTurns()
  expect(timeout.reason).toBeNull()
})

test('a call without progress ends after the event loop was blocked', async () => {
  using timeout = newTimeout()
  blockFor(2 * CALL_MS)
  if (!timeout.signal.aborted) await once(timeout.signal, 'abort')
  expect(timeout.reason).toContain(`sent nothing for ${CALL_MS} ms`)
})
