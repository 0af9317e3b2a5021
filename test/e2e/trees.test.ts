// Pausing whole trees of real processes: native agents, agents of others and plain commands together; soft and at once,
// across a restart of the daemon, with pauses that overlap, children that are born meanwhile and time that stands still.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views.ts'
import { eventually, killLeft } from '../support/living.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Tree } from '../support/trees.ts'

let daemon: LocalDaemon
let tree: Tree

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  tree = new Tree(daemon)
})
afterEach(async () => {
  try {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  } finally {
    killLeft(tree.token)
  }
})

const NATIVE = 90
const OF_OTHERS = 5
const ALL = NATIVE + 2 * OF_OTHERS

/** Ninety native agents and ten of others, all with something in flight. */
async function grown(native = NATIVE, others = OF_OTHERS): Promise<void> {
  await tree.grow('native', 4)
  await tree.grow('acp', others)
  await tree.grow('command', others)
  await tree.grow('native', native - 4)
  await tree.allHad(tree.of('acp', 'command'), 'process.working')
  for (const member of tree.of('native', 'command')) await eventually(() => tree.times('begun', member) === 1, `${member.name} is at the gate`)
}

/** What each said last, with the steps that it took; all as if nobody had paused it. */
async function allEnd(): Promise<void> {
  for (const member of tree.members) {
    const { status, exit, lastText, usage } = await daemon.ended(member.uuid)
    const done = { status, code: exit?.code, said: member.kind === 'command' ? await daemon.output(member.uuid) : lastText, calls: usage.toolCalls }
    const said = member.kind === 'command' ? `after ${member.name}\n` : `${member.kind === 'acp' ? 'before' : ''}after ${member.name}`
    expect(done).toEqual({ status: 'completed', code: 0, said, calls: member.kind === 'native' ? 3 : 0 })
  }
}

const statuses = (views: ReadonlyMap<string, ProcessView>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status } of views.values()) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('a tree of a hundred', () => {
  test('paused softly, drained, restarted and resumed: each goes on where it was, and does nothing twice', async () => {
    await grown()
    expect((await daemon.pause(tree.root, { subtree: true })).affected).toBe(ALL)
    // Commands stand still as a whole; what the others have in flight may come to its end, and nothing begins.
    await tree.allHad(tree.of('command'), 'process.frozen')
    await tree.openGate()
    await tree.allHad(tree.of('native', 'acp'), 'process.drained', 'process.frozen')
    for (const member of tree.of('native')) expect([tree.times('passed', member), tree.times('late', member)]).toEqual([1, 0])
    const before = await tree.views()
    expect(statuses(before)).toEqual({ suspended: ALL })
    const highest = Math.max(...[...before.values()].map(({ pid }) => pid))
    await daemon.restart()
    const after = await tree.views()
    expect(statuses(after)).toEqual({ suspended: ALL - OF_OTHERS, interrupted: OF_OTHERS })
    for (const { uuid, kind } of tree.members) {
      const [old, now] = [before.get(uuid), after.get(uuid)]
      if (kind === 'command') expect(now).toMatchObject({ exit: { code: 1, reason: 'interrupted' } })
      else expect([now?.elapsedMs, now?.step, now?.holds, (now?.pid ?? 0) > highest]).toEqual([old?.elapsedMs, old?.step, old?.holds, true])
    }
    expect((await daemon.resume(tree.root, { subtree: true })).affected).toBe(ALL - OF_OTHERS)
    for (const { uuid } of tree.of('command')) await daemon.resume(uuid, { rerun: true })
    await allEnd()
    for (const member of tree.of('native')) expect([tree.times('passed', member), tree.times('late', member)]).toEqual([1, 1])
    expect((await tree.views()).size).toBe(ALL)
  }, 400_000)

  test('paused at once stands still with all that is in flight, and goes on as if nothing had been', async () => {
    await grown()
    expect((await daemon.pause(tree.root, { subtree: true, now: true })).affected).toBe(ALL)
    await tree.allHad(tree.members, 'process.frozen')
    const outside = await tree.spawn('command', 'outside', {})
    await tree.openGate()
    await daemon.ended(outside.uuid)
    for (const member of tree.of('native', 'command')) expect(tree.times('passed', member)).toBe(0)
    expect(statuses(await tree.views())).toEqual({ suspended: ALL, completed: 1 })
    expect((await daemon.resume(tree.root, { subtree: true })).affected).toBe(ALL)
    await allEnd()
    for (const member of tree.of('native')) expect([tree.times('begun', member), tree.times('passed', member), tree.times('late', member)]).toEqual([1, 1, 1])
  }, 400_000)
})
