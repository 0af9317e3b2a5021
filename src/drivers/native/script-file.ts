// The format of a script file, checked with its line numbers. Apart from script.ts so that the YAML and schema libraries
// are loaded only when a script is. Test: test/e2e/native-script.test.ts.
import { LineCounter, isNode, parseDocument } from 'yaml'
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'

/** Longest pause of an item, in ms. */
const MAX_DELAY_MS = 86_400_000

const item = z.strictObject({
  text: z.string().optional(),
  tools: z.array(z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()).default({}) })).nonempty().optional(),
  usage: z.strictObject({ input: z.int().nonnegative(), output: z.int().nonnegative() }).optional(),
  delay_ms: z.int().nonnegative().max(MAX_DELAY_MS).optional(),
  error: z.union([
    z.string(),
    z.strictObject({ message: z.string(), status: z.int().optional(), retryable: z.boolean().optional() }),
  ]).optional(),
})

export type ScriptItem = z.output<typeof item>

/** Errors: `AGENT_INVALID` with the file and the line of the first mistake. */
export function parseScript(text: string, file: string): readonly ScriptItem[] {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const bad = (what: string, offset: number): KernelError => {
    const { line } = lines.linePos(offset)
    return new KernelError('AGENT_INVALID', `${file}:${line}: ${what}`, { file, line })
  }
  const [mistake] = document.errors
  if (mistake !== undefined) throw bad(mistake.message.split('\n')[0] ?? mistake.code, mistake.pos[0])
  const result = z.array(item).safeParse(document.toJS())
  if (result.success) return result.data
  const [issue] = result.error.issues
  const where = issue?.path.filter((key) => typeof key !== 'symbol') ?? []
  throw bad(`${where.join('.') || 'a script is a list'}: ${issue?.message}`, offsetOf(document, where))
}

/** The place of the node at a path, or of the nearest node above it. */
function offsetOf(document: ReturnType<typeof parseDocument>, where: readonly (string | number)[]): number {
  for (let length = where.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(where.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}
