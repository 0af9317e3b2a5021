// What a process that has completed gives to who depends on it: what its agent said last, or what a command printed. Owns how much
// of it is passed on. Read from the journal, so that it is the same after any restart. Test: test/e2e/compose.test.ts.
import { isPlainCommand } from '../kernel/capabilities.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'

/** characters of a result */
const MAX_CHARS = 32_768
/** facts that are looked at in one go */
const PAGE = 50

type Journal = Pick<Store, 'tail'>

export async function resultOf(store: Journal, process: Process): Promise<string> {
  return isPlainCommand(process.spec) ? end(await printed(store, process.uuid)) : beginning(await said(store, process))
}

/** The answer of its last turn that ended well. */
async function said(store: Journal, { uuid, progress }: Process): Promise<string> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await store.tail(uuid, PAGE, ['process.ready'], before)
    for (const { body } of page.toReversed()) if (body.type === 'process.ready' && body.outcome === 'ok') return body.result ?? progress.lastText ?? ''
    if (page.length < PAGE) return progress.lastText ?? ''
    before = page[0]?.seq ?? 0
  }
}

/** Of its last incarnation alone: what it printed before it failed is no result. */
async function printed(store: Journal, uuid: Uuid): Promise<string> {
  let text = ''
  for (let before = Number.MAX_SAFE_INTEGER; text.length <= MAX_CHARS;) {
    const page = await store.tail(uuid, PAGE, ['process.output', 'process.started'], before)
    for (const { body } of page.toReversed()) {
      if (body.type === 'process.started') return text
      if (body.type === 'process.output' && body.stream === 'stdout') text = body.text + text
    }
    if (page.length < PAGE) break
    before = page[0]?.seq ?? 0
  }
  return text
}

function beginning(text: string): string {
  const whole = text.trim()
  return whole.length <= MAX_CHARS ? whole : `${whole.slice(0, MAX_CHARS)}\n[${whole.length - MAX_CHARS} characters more]`
}

function end(text: string): string {
  const whole = text.trim()
  return whole.length <= MAX_CHARS ? whole : `[what was printed before is left out]\n${whole.slice(-MAX_CHARS)}`
}
