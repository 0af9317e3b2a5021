// Compares the kernel's rows with those of the simple model, and the indexes with the rows.
import { fold } from '../../../src/kernel/state/fold.ts'
import { tallyWithBelow } from '../../../src/kernel/state/limits.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { LiveTable } from '../../../src/kernel/state/live-table.ts'
import type { Model, Proc } from './model.ts'
import type { World } from './world.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

/** Returns the first difference between a row and the model's process, as text; null if they agree. */
export function differenceFrom(row: Process | undefined, p: Proc): string | null {
  if (!row) return p.state === 'dead' ? null : `${p.uuid} is missing`
  const { life, progress } = row
  let difference: string | null = null
  const expectEqual = (name: string, found: unknown, expected: unknown): void => {
    if (found !== expected) difference ??= `${p.uuid}: ${name} is ${String(found)}, should be ${String(expected)}`
  }
  expectEqual('pid', row.pid, p.pid)
  expectEqual('state', life.state, p.state)
  expectEqual('name', row.spec.name, p.name)
  expectEqual('parent', p.state === 'dead' ? null : row.parent, p.state === 'dead' ? null : p.parent)
  expectEqual('step', progress.step, p.step)
  expectEqual('whole step', progress.wholeStep, p.whole)
  expectEqual('model call', progress.modelOpen, p.modelOpen)
  expectEqual('turn', progress.turn, p.turn)
  expectEqual('open turn', progress.turnOpen, p.turnOpen)
  expectEqual(
    'queue',
    row.queue.map(({ id, urgent }) => `${id === 'intent'}${urgent === true}`).join(),
    p.queue.map(({ what: name, urgent }) => `${name === 'intent'}${urgent}`).join(),
  )
  expectEqual('calls', progress.openCalls.length, p.calls.length)
  expectEqual('pending', row.signals.pending.length, p.pending.length)
  expectEqual('tokens', row.usage.inputTokens + row.usage.outputTokens, p.tokens)
  expectEqual('context', row.usage.contextTokens, p.context)
  expectEqual('session', row.sessionId !== null, p.session)
  expectEqual('session to fork', row.forkOf !== undefined, p.forkOf)
  expectEqual('origin', row.originUuid, p.origin)
  expectEqual('pinned', row.pinned, p.pinned)
  expectEqual('steps taken', row.usage.steps, p.steps)
  expectEqual('asks', asksOf(row), p.asks.map(({ id, answered }) => `${id}${answered ? '!' : ''}`).join())
  expectEqual('window', row.context?.window ?? null, p.window)
  expectEqual('compacting', row.context?.compacting ?? false, p.compacting)
  expectEqual('compacted step', row.context?.compactedStep ?? null, p.compactedStep)
  if (life.state === 'running') {
    expectEqual('activity', life.activity, p.activity)
    expectEqual('attached', life.attached, p.attached)
    expectEqual('drained', life.drained, p.drained)
    expectEqual('midway', life.midway, p.midway)
    expectEqual('holds', life.holds.length, p.holds.length)
    expectEqual('stopping', life.stopping?.exit.reason, p.stopping?.reason)
    expectEqual('wraps up until', life.stopping?.wrapUp?.dueMono ?? null, p.wrap)
    expectEqual('since', row.clock.since, p.since)
    for (const [index, hold] of p.holds.entries()) expectEqual('hold', holdOf(life.holds[index]), `${hold.reason} ${hold.root} ${hold.by}`)
  }
  if (life.state === 'zombie' || life.state === 'dead') {
    expectEqual('code', life.exit.code, p.exit?.code)
    expectEqual('reason', life.exit.reason, p.exit?.reason)
    expectEqual('cause', life.exit.cause, p.exit?.cause)
  }
  if (p.elapsed !== null && life.state !== 'created') expectEqual('elapsed', row.clock.elapsedMs, p.elapsed)
  for (const [index, pending] of p.pending.entries()) {
    expectEqual('pending', row.signals.pending[index]?.signal, pending.signal)
    expectEqual('due', row.signals.pending[index]?.dueMono, pending.due)
  }
  return difference
}

function asksOf({ asks = [] }: Process): string {
  return asks.map(({ id, answer }) => `${id}${answer ? '!' : ''}`).join()
}

function holdOf(hold: { readonly reason: string; readonly root?: string; readonly by: string } | undefined): string {
  return hold ? `${hold.reason} ${hold.root ?? null} ${hold.by}` : 'none'
}

/** Compares all rows with the model, and the counts and indexes of a view with its rows. */
export function compareWithModel(world: World, model: Model): string | null {
  for (const p of model.all.values()) {
    const difference = differenceFrom(world.row(p.uuid), p)
    if (difference) return difference
  }
  if (world.overlay.activeCount !== model.active()) return `${world.overlay.activeCount} are active, should be ${model.active()}`
  if (world.overlay.lastPid !== model.lastPid) return `the last PID is ${world.overlay.lastPid}, should be ${model.lastPid}`
  return compareSums(world, model) ?? compareIndexesWithRows(world.overlay)
}

/** Compares the usage of each subtree in the index with a recomputed sum. */
function compareSums({ overlay }: World, model: Model): string | null {
  for (const p of model.all.values()) {
    const row = p.state === 'dead' ? undefined : overlay.get(p.uuid)
    if (!row) continue
    const { inputTokens, outputTokens, steps } = tallyWithBelow(overlay, row)
    const used = model.usageOf(p)
    if (inputTokens + outputTokens !== used.tokens || steps !== used.steps)
      return `below ${p.uuid}: ${inputTokens + outputTokens} tokens and ${steps} steps, should be ${used.tokens} and ${used.steps}`
  }
  return null
}

export function compareIndexesWithRows(view: LiveTable): string | null {
  const uuids = [...view.all()]
  if (new Set(uuids).size !== uuids.length) return 'a row is listed twice'
  const rows = uuids.map((uuid) => view.get(uuid))
  for (const row of rows) {
    if (!row) return 'a listed row does not exist'
    const children = [...view.children(row.uuid)]
    const expected = rows.filter((child) => child?.parent === row.uuid).map((child) => child?.uuid)
    if (children.length !== expected.length || !children.every((uuid) => expected.includes(uuid)))
      return `the children of ${row.uuid} are ${children.join()}, should be ${expected.join()}`
    if (row.spec.name !== null && view.findByName(row.spec.name) !== row.uuid)
      return `the name of ${row.uuid} leads to ${view.findByName(row.spec.name)}`
  }
  const roots = [...view.children(null)]
  return roots.length === rows.filter((row) => row?.parent === null).length ? null : `the children of PID 0 are ${roots.join()}`
}

/** Compares a process with the fold of its whole journal. */
export function compareWithFold(world: World, uuid: Uuid): string | null {
  let folded: Process | undefined
  for (const fact of world.journal.get(uuid) ?? []) folded = fold(folded, fact)
  const row = world.row(uuid)
  return JSON.stringify(folded) === JSON.stringify(row)
    ? null
    : `the fold of ${uuid} is not its row: ${JSON.stringify(folded)} and ${JSON.stringify(row)}`
}
