// A page with thousands of processes without running any. A script in the browser takes the place of the shared worker: it sends the
// rows, and changes some of them on demand. The rest of the page, its session and its requests are real.
import type { Page } from 'playwright-core'
import { rowOf } from '../faces/rows.ts'

/** Puts the stand-in into a tab; must be called before its page is opened. The rows are trees of 100 processes each. */
export async function sendManyRows(page: Page, count: number): Promise<void> {
  const row = rowOf({ kind: 'agent', model: 'anthropic/claude', about: 'Find out why the tests of the parser fail.', step: 12 })
  await page.addInitScript(`(${installStandIn.toString()})(${JSON.stringify(row)}, ${count})`)
}

/** Sends changes of `changed` rows in one message. */
export function changeRows(page: Page, changed: number): Promise<void> {
  return page.evaluate(`sendChanges(${changed})`)
}

/** Takes the place of the shared worker. Runs in the browser as a text, so it must use nothing from outside. */
function installStandIn(row: Record<string, unknown>, count: number): void {
  const TREE_SIZE = 100
  const uuidOf = (index: number): string => `01a20000-0000-7000-8000-${String(index).padStart(12, '0')}`
  const rows = Array.from({ length: count }, (_, index) => ({
    ...row,
    uuid: uuidOf(index),
    pid: index + 1,
    parent: index % TREE_SIZE === 0 ? null : uuidOf(index - (index % TREE_SIZE)),
    name: `n${index}`,
    why: { kind: 'tool', text: `bash npm test -- ${index}`, since: row['since'] },
  }))
  const sums = { live: count, working: count, asking: 0, held: 0, failed: 0, todayUsd: 0, reservedUsd: 0 }
  const state = { cursor: '1', seq: 1 }
  const channel = new MessageChannel()
  const open = (): void => channel.port2.postMessage({ type: 'link', link: { state: 'open', lastByteAt: Date.now() } })
  let next = 0
  channel.port2.addEventListener('message', (event) => {
    if ((event as unknown as { data: { type: string } }).data.type !== 'hello') return
    open()
    channel.port2.postMessage({ type: 'rows', event: { ...state, type: 'reset', now: new Date().toISOString(), rows, sums } })
  })
  channel.port2.start()
  setInterval(open, 1_000)
  const page = globalThis as unknown as { SharedWorker: unknown; sendChanges: unknown }
  page.SharedWorker = class extends EventTarget {
    port = channel.port1
  }
  page.sendChanges = (changed: number): void => {
    const up = Array.from({ length: changed }, () => {
      // A prime step spreads the changes over all trees.
      next = (next + 7_919) % count
      return { uuid: uuidOf(next), step: 13 + (next % 7), seq: next }
    })
    channel.port2.postMessage({ type: 'rows', event: { ...state, type: 'rows', up, gone: [] } })
  }
}
