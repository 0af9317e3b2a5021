// Homes that earlier versions left behind, killed in the middle of work: this version opens, verifies and resumes each of them.
// A release adds one (test/support/homes/make-home.ts).
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { unpackStore } from '../../support/homes/pack.ts'

const HOMES = join(import.meta.dirname, '../../support/homes')

test.each(readdirSync(HOMES).filter((name) => name.endsWith('.home')))(
  'the home of reeve %s opens, is sound, and its processes can be resumed and forked',
  async (name) => {
    await using home = await DaemonHome.create()
    unpackStore(readFileSync(join(HOMES, name)), home.paths.state)
    await home.start()
    const listStatuses = async (): Promise<string[]> =>
      (await home.listProcesses()).map((view) => `${view.name ?? ''} ${view.status} ${view.step}`).toSorted()
    expect(await listStatuses()).toEqual([
      'command completed 0',
      'cut interrupted 4',
      'done completed 4',
      'forked completed 4',
      'paused suspended 4',
    ])
    expect(await home.view('done')).toMatchObject({ pinned: true, usage: { toolCalls: 3 } })
    await expect(home.view('removed')).rejects.toMatchObject({ code: 'COLLECTED' })
    const { checks } = await home.client.get<{ checks: { name: string; detail: string }[] }>('/v1/doctor', { verify: true })
    expect(checks.find((check) => check.name === 'store')?.detail).toBe('every page, fact and blob is sound')

    // The folder and the script of that time do not exist here.
    const processOptions = { cwd: home.work, model: home.writeScript([{ text: 'here again' }]) }
    for (const processName of ['cut', 'done']) {
      const { pid } = await home.view(processName)
      await home.resume(processName, { ...processOptions, message: 'go on' })
      expect(await home.view(String(pid))).toMatchObject({ name: processName })
      expect(
        await home.waitForView(processName, ({ step, status }) => step === 5 && (status === 'ready' || status === 'completed')),
      ).toMatchObject({
        name: processName,
      })
    }
    const fork = await home.resume('forked', { ...processOptions, fork: true, fromStep: 1 })
    expect(await home.waitForEnd(fork.uuid)).toMatchObject({ status: 'completed', originStep: 1 })
    expect(Math.max(...(await home.listProcesses()).map(({ pid }) => pid))).toBe(fork.pid)
  },
)
