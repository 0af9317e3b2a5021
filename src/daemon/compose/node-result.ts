// Reads the result of a completed process, for the compose nodes that depend on it. The result is the agent's last answer, or the output of
// a command. It is read from the journal, so that it is the same after any restart. The length of a result is limited.
// Test: test/e2e/compose/compose.test.ts.
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** maximum length of a result, in characters */
const MAX_RESULT_CHARS = 32_768
/** facts per page */
const FACTS_PER_PAGE = 50

type JournalReader = Pick<Store, 'tail'>

export async function readResult(store: JournalReader, process: Process): Promise<string> {
  return isPlainCommand(process.spec)
    ? keepEnd(await readLastOutput(store, process.uuid))
    : keepBeginning(await readLastAnswer(store, process))
}

/** The answer of the last turn that ended well. */
async function readLastAnswer(store: JournalReader, { uuid, progress }: Process): Promise<string> {
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await store.tail(uuid, FACTS_PER_PAGE, ['process.ready'], before)
    for (const { body } of page.toReversed())
      if (body.type === 'process.ready' && body.outcome === 'ok') return body.result ?? progress.lastText ?? ''
    if (page.length < FACTS_PER_PAGE) return progress.lastText ?? ''
    before = page[0]?.seq ?? 0
  }
}

/** The output of the last incarnation. Output of earlier, failed incarnations is left out. */
async function readLastOutput(store: JournalReader, uuid: Uuid): Promise<string> {
  let text = ''
  for (let before = Number.MAX_SAFE_INTEGER; text.length <= MAX_RESULT_CHARS;) {
    const page = await store.tail(uuid, FACTS_PER_PAGE, ['process.output', 'process.started'], before)
    for (const { body } of page.toReversed()) {
      if (body.type === 'process.started') return text
      if (body.type === 'process.output' && body.stream === 'stdout') text = body.text + text
    }
    if (page.length < FACTS_PER_PAGE) break
    before = page[0]?.seq ?? 0
  }
  return text
}

function keepBeginning(text: string): string {
  const trimmed = text.trim()
  return trimmed.length <= MAX_RESULT_CHARS
    ? trimmed
    : `${trimmed.slice(0, MAX_RESULT_CHARS)}\n[${trimmed.length - MAX_RESULT_CHARS} more characters]`
}

function keepEnd(text: string): string {
  const trimmed = text.trim()
  return trimmed.length <= MAX_RESULT_CHARS ? trimmed : `[earlier output is left out]\n${trimmed.slice(-MAX_RESULT_CHARS)}`
}
