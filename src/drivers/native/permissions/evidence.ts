// The evidence of a question about a tool call: the call itself, and its change to a file. The kernel limits the size
// (src/kernel/decide/asks/ask-evidence.ts). Must never read a file that the agent itself may not read, because other processes can
// read the question. Test: test/e2e/native/ask-evidence.test.ts.
import { resolve } from 'node:path'
import { isMissing } from '../../../kernel/util/missing-file.ts'
import type { AskDiff, AskEvidence, AskToolKind } from '../../../kernel/model/asks.ts'
import { isToolAllowed } from '../../../kernel/state/tool-lists.ts'
import { NATIVE_TOOL_ACCESS } from '../../../kernel/model/words.ts'
import { lookUp } from '../../../kernel/util/lookup.ts'
import type { ToolCall } from '../context/context.ts'
import type { RunContext } from '../run-context.ts'
import { readText } from '../tools/text-files.ts'

/** The largest file whose old text is shown, in bytes. */
const MAX_OLD_BYTES = 256 * 1024

const KIND_BY_ACCESS: Readonly<Record<'read' | 'write' | 'shell', AskToolKind>> = { read: 'read', write: 'edit', shell: 'execute' }

export async function evidenceOf(run: RunContext, call: ToolCall): Promise<AskEvidence> {
  const access = lookUp(NATIVE_TOOL_ACCESS, call.name)
  const path = textOf(call.input, 'path')
  const tool = {
    name: call.name,
    kind: access === undefined ? ('other' as const) : KIND_BY_ACCESS[access],
    input: call.input,
    locations: access === undefined || path === null ? [] : [path],
  }
  return { source: 'recorded', tool, diff: await diffOf(run, call, path) }
}

/** The change that a call of `edit` or `write` makes; none for any other call, or for an invalid input. */
async function diffOf(run: RunContext, { name, input }: ToolCall, path: string | null): Promise<readonly AskDiff[]> {
  if (path === null) return []
  if (name === 'edit') {
    const [old, text] = [textOf(input, 'old_text'), textOf(input, 'new_text')]
    return old === null || text === null ? [] : [{ path, ...((await wholeEdit(run, path, { old, text, input })) ?? { old, new: text }) }]
  }
  const content = name === 'write' ? textOf(input, 'content') : null
  return content === null ? [] : [{ path, ...(await oldTextOf(run, path)), new: content }]
}

/** The whole text of a file before and after an edit. Null if the text is unknown, or if the edit does not apply to it. */
async function wholeEdit(
  run: RunContext,
  path: string,
  { old, text, input }: { readonly old: string; readonly text: string; readonly input: unknown },
): Promise<Pick<AskDiff, 'old' | 'new'> | null> {
  const { old: whole, isOldUnknown } = await oldTextOf(run, path)
  if (whole === null || isOldUnknown || old === '') return null
  const parts = whole.split(old)
  const mayRepeat = (input as { readonly replace_all?: unknown }).replace_all === true
  return parts.length === 2 || (parts.length > 2 && mayRepeat) ? { old: whole, new: parts.join(text) } : null
}

/** The text that a call replaces. */
async function oldTextOf(run: RunContext, path: string): Promise<Pick<AskDiff, 'old' | 'isOldUnknown'>> {
  const { cwd, capabilities, tools, deny } = run.launch.spec
  const read = { type: 'tool-call', callId: '', name: 'read', input: { path } } as const
  if (!isToolAllowed(read.name, { tools, deny }) || (await run.policy.decide(read)) === 'deny') return { old: '', isOldUnknown: true }
  try {
    return { old: await readText(resolve(cwd, path), MAX_OLD_BYTES, capabilities?.paths) }
  } catch (error) {
    // A file that is too large, binary or not readable is shown as unknown.
    return isMissing(error) ? { old: null } : { old: '', isOldUnknown: true }
  }
}

/** A text in the input of a call; null if it has none of this name. */
function textOf(input: unknown, key: string): string | null {
  const values: Readonly<Record<string, unknown>> = { ...(typeof input === 'object' ? input : {}) }
  const value = values[key]
  return typeof value === 'string' ? value : null
}
