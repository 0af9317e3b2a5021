// The payer of a process: its nearest living ancestor in the spawn lineage. When a process ends, its usage passes to the payer, which then
// pays for its children. Calls with an unknown end are charged before that. If there is no other payer, the children keep the ended one,
// which pays again when it is resumed. Tests: test/tables/kernel/decide/limits/payer.test.ts, test/properties/budgets.test.ts.
import { payerOf } from '../../state/accounts.ts'
import { unsettledUsage } from '../../model/usage-totals.ts'
import { isLiving } from '../../model/status.ts'
import type { Process } from '../../model/process.ts'
import type { LiveTable } from '../../state/live-table.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Uuid } from '../../model/ids.ts'

/** Passes the uncounted usage of a process to its payer, at its end. The caller adds the result to its next fact about the process. */
export function settleUsage(draft: DecisionDraft, uuid: Uuid): { readonly settled?: true } {
  const process = draft.mustGet(uuid)
  const payer = payerInTable(draft, process)
  const spent = payer === null ? null : unsettledUsage(process)
  if (payer === null || spent === null) return {}
  draft.emit(payer, { type: 'child.spent', child: uuid, spent })
  return { settled: true }
}

/**
 * Moves the children of an ending process to PID 0, and the processes that it paid for to its own payer. First the usage
 * of all these processes is passed up, lowest first. The ending process therefore keeps their past usage, even if it is
 * resumed later and they are not.
 */
export function orphanChildren(draft: DecisionDraft, process: Process): void {
  const payer = payerInTable(draft, process)
  const newPayer = payer === null ? {} : { payer }
  const paid = new Set(draft.accounts.payees(process.uuid))
  for (const uuid of paidSubtree(draft, process.uuid).slice(1).toReversed()) {
    const settled = settleUsage(draft, uuid)
    const { parent } = draft.mustGet(uuid)
    const isOrphan = parent === process.uuid
    const changes = { ...(paid.has(uuid) ? newPayer : {}), ...settled }
    if (isOrphan || Object.keys(changes).length > 0)
      draft.emit(uuid, { type: 'process.reparented', parent: isOrphan ? null : parent, ...changes })
  }
  for (const child of draft.children(process.uuid)) draft.emit(child, { type: 'process.reparented', parent: null })
}

/** A process and all processes that it pays for, directly or indirectly; each payer comes before those that it pays for. */
export function paidSubtree(draft: DecisionDraft, root: Uuid): readonly Uuid[] {
  const found = [root]
  for (const uuid of found) found.push(...draft.accounts.payees(uuid))
  return found
}

/** The payer of a process; null: none, or it has ended. */
function payerInTable(table: LiveTable, process: Process): Uuid | null {
  const payer = payerOf(process)
  return payer !== null && table.get(payer) ? payer : null
}

/** The payer of a new incarnation: its spawner if that lives, else its last payer if that lives. */
export function findPayer(draft: DecisionDraft, uuid: Uuid): Uuid | null {
  const process = draft.mustGet(uuid)
  const candidates = [process.parentUuid, process.payer ?? null]
  return candidates.find((candidate) => candidate !== null && canPay(draft.get(candidate))) ?? null
}

function canPay(process: Process | undefined): boolean {
  return process !== undefined && isLiving(process)
}

/**
 * Makes a resumed process the parent of its living children again, which moved to PID 0 when it ended. The process pays
 * for them again, and for late usage of ended children.
 */
export function readoptChildren(draft: DecisionDraft, uuid: Uuid): void {
  for (const child of draft.children(null)) {
    const process = draft.get(child)
    if (process?.parentUuid !== uuid) continue
    const changesPayer = payerOf(process) !== uuid
    if (isLiving(process)) draft.emit(child, { type: 'process.reparented', parent: uuid, ...(changesPayer ? { payer: uuid } : {}) })
    else if (changesPayer) draft.emit(child, { type: 'process.reparented', parent: process.parent, payer: uuid })
  }
}
