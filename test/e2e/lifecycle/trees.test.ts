// Pauses of whole trees of real processes: native agents, external agents and commands together. Covers soft and immediate pauses
// and a restart of the daemon. tree-holds.test.ts has overlapping pauses, and tree-clocks.test.ts has stopped clocks.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { deep } from '../../support/deep.ts'
import { killRemaining } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { GatedTree } from '../../support/daemon/gated-tree.ts'

let daemon: LocalDaemon
let tree: GatedTree

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  tree = new GatedTree(daemon)
})
afterEach(async () => {
  try {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  } finally {
    killRemaining(tree.token)
  }
})

const NATIVE = deep(25, 90)
const EXTERNAL = deep(3, 5)
const ALL_COUNT = NATIVE + 2 * EXTERNAL

/** Starts native agents, external agents and commands: a hundred in the large size, all with work in flight. */
async function growTree(native = NATIVE, external = EXTERNAL): Promise<void> {
  // External agents have no children: they end while the rest of the tree is paused.
  await tree.grow('native', native)
  await tree.grow('acp', external)
  await tree.grow('command', external)
  await tree.waitForFacts(tree.membersOf('acp', 'command'), 'process.working')
  for (const member of tree.membersOf('native', 'command'))
    await waitUntil(() => tree.countNotes('begun', member) === 1, `${member.name} is at the gate`)
}

/** Expects of each process the last output and the number of tool calls that it would have without a pause. */
async function expectAllCompleted(): Promise<void> {
  for (const member of tree.members) {
    const { status, exit, lastText, usage } = await daemon.waitForEnd(member.uuid)
    const done = {
      status,
      code: exit?.code,
      output: member.kind === 'command' ? await daemon.readOutput(member.uuid) : lastText,
      calls: usage.toolCalls,
    }
    const output = member.kind === 'command' ? `after ${member.name}\n` : `${member.kind === 'acp' ? 'before' : ''}after ${member.name}`
    expect(done).toEqual({ status: 'completed', code: 0, output, calls: member.kind === 'native' ? 3 : 0 })
  }
}

const statusCounts = (views: ReadonlyMap<string, ProcessView>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status } of views.values()) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe(`a tree of ${ALL_COUNT}`, () => {
  test('is paused softly, drained, restarted and resumed: each process continues where it was, and repeats nothing', async () => {
    await growTree()
    expect((await daemon.pause(tree.root, { subtree: true })).affected).toBe(ALL_COUNT)
    // Commands are frozen; the work in flight of the others may end, and nothing new begins. A process without further work ends.
    await tree.waitForFacts(tree.membersOf('command'), 'process.frozen')
    await tree.openGate()
    for (const { uuid } of tree.membersOf('acp')) expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    await tree.waitForFacts(tree.membersOf('native'), 'process.drained', 'process.frozen')
    for (const member of tree.membersOf('native'))
      expect([tree.countNotes('passed', member), tree.countNotes('late', member)]).toEqual([1, 0])
    const viewsBefore = await tree.views()
    expect(statusCounts(viewsBefore)).toEqual({ suspended: ALL_COUNT - EXTERNAL, completed: EXTERNAL })
    const highestPid = Math.max(...[...viewsBefore.values()].map(({ pid }) => pid))
    await daemon.restart()
    const viewsAfter = await tree.views()
    expect(statusCounts(viewsAfter)).toEqual({ suspended: NATIVE, completed: EXTERNAL, interrupted: EXTERNAL })
    for (const { uuid, kind } of tree.members) {
      const [viewBefore, viewAfter] = [viewsBefore.get(uuid), viewsAfter.get(uuid)]
      if (kind === 'command') expect(viewAfter).toMatchObject({ exit: { code: 1, reason: 'interrupted' } })
      else if (kind === 'acp')
        expect([viewAfter?.status, viewAfter?.pid, viewAfter?.exit]).toEqual([viewBefore?.status, viewBefore?.pid, viewBefore?.exit])
      else
        expect([viewAfter?.elapsedMs, viewAfter?.step, viewAfter?.holds, (viewAfter?.pid ?? 0) > highestPid]).toEqual([
          viewBefore?.elapsedMs,
          viewBefore?.step,
          viewBefore?.holds,
          true,
        ])
    }
    expect((await daemon.resume(tree.root, { subtree: true })).affected).toBe(NATIVE)
    for (const { uuid } of tree.membersOf('command')) await daemon.resume(uuid, { rerun: true })
    await expectAllCompleted()
    for (const member of tree.membersOf('native'))
      expect([tree.countNotes('passed', member), tree.countNotes('late', member)]).toEqual([1, 1])
    expect((await tree.views()).size).toBe(ALL_COUNT)
  }, 400_000)

  test('is frozen with all work in flight by an immediate pause, and continues without a repetition', async () => {
    await growTree()
    expect((await daemon.pause(tree.root, { subtree: true, now: true })).affected).toBe(ALL_COUNT)
    await tree.waitForFacts(tree.members, 'process.frozen')
    const outsideProcess = await tree.spawn('command', 'outside', {})
    await tree.openGate()
    await daemon.waitForEnd(outsideProcess.uuid)
    for (const member of tree.membersOf('native', 'command')) expect(tree.countNotes('passed', member)).toBe(0)
    expect(statusCounts(await tree.views())).toEqual({ suspended: ALL_COUNT, completed: 1 })
    expect((await daemon.resume(tree.root, { subtree: true })).affected).toBe(ALL_COUNT)
    await expectAllCompleted()
    for (const member of tree.membersOf('native'))
      expect([tree.countNotes('begun', member), tree.countNotes('passed', member), tree.countNotes('late', member)]).toEqual([1, 1, 1])
  }, 400_000)
})
