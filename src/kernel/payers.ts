// Who pays for a process: the nearest one above it in the lineage of the spawns that lives. Owns what passes to a payer at an
// end, and who pays from then on. What nobody has seen the end of is charged its estimate before that, once.
// Who has no payer keeps the name of its last one: it pays again when it is resumed.
// Tests: test/tables/payers.test.ts, test/properties/budgets.test.ts.
import { payerOf } from './accounts.ts'
import { unsettled } from './spent.ts'
import { isLiving } from './status.ts'
import type { Process, Uuid } from './types.ts'
import type { View } from './view.ts'
import type { Work } from './work.ts'

/** At its end: what its payer does not know yet. The fact of its own that follows says with this that all is settled. */
export function settleUp(work: Work, uuid: Uuid): { readonly settled?: true } {
  const process = work.need(uuid)
  const payer = payerInTable(work, process)
  const spent = payer === null ? null : unsettled(process)
  if (payer === null || spent === null) return {}
  work.emit(payer, { type: 'child.spent', child: uuid, spent })
  return { settled: true }
}

/**
 * Its children go to PID 0, and whom it paid for to its own payer. Before that all below it is settled, from the lowest up: what
 * was used until now stays with it, also when it is resumed and they are not.
 */
export function orphan(work: Work, process: Process): void {
  const payer = payerInTable(work, process)
  const change = payer === null ? {} : { payer }
  const paid = new Set(work.accounts.members(process.uuid))
  for (const uuid of paidSubtree(work, process.uuid).slice(1).toReversed()) {
    const settled = settleUp(work, uuid)
    const { parent } = work.need(uuid)
    const isOrphan = parent === process.uuid
    const says = { ...(paid.has(uuid) ? change : {}), ...settled }
    if (isOrphan || Object.keys(says).length > 0) work.emit(uuid, { type: 'process.reparented', parent: isOrphan ? null : parent, ...says })
  }
  for (const child of work.children(process.uuid)) work.emit(child, { type: 'process.reparented', parent: null })
}

/** The process and all that it pays for, who pays before who is paid for. */
export function paidSubtree(work: Work, root: Uuid): readonly Uuid[] {
  const found = [root]
  for (const uuid of found) found.push(...work.accounts.members(uuid))
  return found
}

function payerInTable(view: View, process: Process): Uuid | null {
  const payer = payerOf(process)
  return payer !== null && view.get(payer) ? payer : null
}

/** Who pays for a new incarnation, or for a fork: who spawned it, if that lives, or who has paid since that ended. */
export function findPayer(work: Work, uuid: Uuid): Uuid | null {
  const process = work.need(uuid)
  const candidates = [process.parentUuid, process.payer ?? null]
  return candidates.find((each) => each !== null && isPayer(work.get(each))) ?? null
}

function isPayer(process: Process | undefined): boolean {
  return process !== undefined && isLiving(process)
}

/** Whom it spawned, and who lives on, it pays for again: they went to PID 0 when it ended. */
export function payAgain(work: Work, uuid: Uuid): void {
  for (const each of work.children(null)) {
    const process = work.get(each)
    if (process?.parentUuid === uuid && payerOf(process) !== uuid) work.emit(each, { type: 'process.reparented', parent: process.parent, payer: uuid })
  }
}
