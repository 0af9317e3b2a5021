// The view of an ask, with the evidence that its fact recorded, and the hash of what it shows. An answer that names the hash counts only
// for an ask that shows the same. The hash covers all that the user decides on: kind, text, options, call and diff. Pure.
// Tests: test/tables/daemon/views/ask-view.test.ts, test/properties/ask-evidence.test.ts.
import { hash } from 'node:crypto'
import type { Ask } from '../../kernel/model/asks.ts'
import type { AskView } from '../../api/views/process.ts'
import { isoTime } from './format-times.ts'

/** The length of a hash in hexadecimal digits. */
const HASH_DIGITS = 32

export function askView(ask: Ask): AskView {
  const { id, kind, text, options, callId, at, evidence, step = null, message = null } = ask
  return {
    id,
    kind,
    text,
    options: [...options],
    at: isoTime(at),
    callId,
    step,
    message,
    source: evidence?.source ?? null,
    tool: evidence ? toolView(evidence.tool) : null,
    diff: (evidence?.diff ?? []).map(diffView),
    moreFiles: evidence?.moreFiles ?? 0,
    hash: askHash(ask),
  }
}

/** The hash of what an ask shows: its kind, text and options, the call and the diff. Two asks that show the same have the same hash. */
export function askHash({ kind, text, options, evidence }: Ask): string {
  const shown = [
    kind,
    text,
    options.map(({ id, name, kind: optionKind }) => [id, name, optionKind]),
    evidence ? [evidence.source, toolView(evidence.tool), evidence.diff.map(diffView), evidence.moreFiles ?? 0] : null,
  ]
  return hash('sha256', JSON.stringify(shown)).slice(0, HASH_DIGITS)
}

type Evidence = NonNullable<Ask['evidence']>

function toolView({ name, kind, input, isCut, locations }: Evidence['tool']): NonNullable<AskView['tool']> {
  return { name, kind, input, cut: isCut === true, locations: [...locations] }
}

function diffView({ path, old, new: text, isOldUnknown, equal, cut = 0 }: Evidence['diff'][number]): AskView['diff'][number] {
  return { path, old, new: text, oldKnown: isOldUnknown !== true, equalBefore: equal?.before ?? 0, equalAfter: equal?.after ?? 0, cut }
}
