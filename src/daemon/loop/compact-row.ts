// Packs the row of a suspended process into little memory, as JSON in two parts: a shape and the row's own values. The shape has everything
// that many rows share, such as field names, states and the agent file. Each shape is stored once. The row's own values are one short
// string. Unpacking gives an equal process. A shape is removed with its last row. Knows no field of a process except the spec.
// Test: test/properties/compact-row.test.ts.
import { hash } from 'node:crypto'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** Separates values. JSON text contains no raw control character, so this cannot occur in a value. */
const SEPARATOR = '\u0000'

/** Matches a field name with its colon, a string or a number in JSON text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*":?|-?\d[\d.eE+-]*/g

/**
 * Values that stay in the shape, because most rows have them in the same place. Texts of users must not be here: each row would need its
 * own shape.
 */
const SHARED_VALUES: ReadonlySet<string> = new Set([
  '0',
  ...['running', 'starting', 'ready', 'working', 'user', 'subtree', 'budget', 'daemon-shutdown', 'SIGPAUSE', 'default'].map(
    (word) => `"${word}"`,
  ),
])

/** The fields of a spec that differ between processes of the same agent. */
type RowSpecFields = Pick<ProcessSpec, 'name' | 'intent' | 'cwd' | 'worktree' | 'childId' | 'member' | 'labels'>

interface Shape {
  readonly key: string
  /** the parts of the JSON between the row's own values */
  readonly fragments: readonly string[]
  /** the shared spec, with empty values for the row's own fields */
  readonly spec: ProcessSpec
  /** the number of rows with this shape */
  refCount: number
}

export class CompactRow {
  readonly shape: Shape
  /** the row's own values, joined by the separator */
  readonly values: string
  /** the number of the row's last fact */
  readonly seq: number

  constructor(shape: Shape, values: string, seq: number) {
    this.shape = shape
    this.values = values
    this.seq = seq
  }

  unpack(): Process {
    const { fragments, spec } = this.shape
    const values = this.values.split(SEPARATOR)
    let json = ''
    for (const [i, fragment] of fragments.entries()) json += i < values.length ? fragment + values[i] : fragment
    const process = JSON.parse(json) as Omit<Process, 'spec'> & { readonly spec: RowSpecFields }
    return Object.assign(process, { spec: { ...spec, ...process.spec } as ProcessSpec })
  }
}

/** Packs rows and stores their shapes. */
export class RowPacker {
  readonly #shapes = new Map<string, Shape>()
  /** the shape of the previously packed row, which the next row often shares */
  #last: { readonly content: string; readonly shape: Shape } | null = null

  get size(): number {
    return this.#shapes.size
  }

  pack(process: Process): CompactRow {
    const { worktree, childId, member, labels, ...spec } = process.spec
    const rowFields = { name: spec.name, intent: spec.intent, cwd: spec.cwd, worktree, childId, member, labels }
    const values: string[] = []
    const text = JSON.stringify({ ...process, spec: rowFields }).replaceAll(TOKEN, (token) => {
      if (token.endsWith('":') || SHARED_VALUES.has(token)) return token
      values.push(token)
      return SEPARATOR
    })
    const shape = this.#findOrAddShape(text, { ...spec, name: null, intent: '', cwd: '' })
    shape.refCount += 1
    return new CompactRow(shape, values.join(SEPARATOR), process.seq)
  }

  /** Must be called for each row that is removed or replaced: deletes its shape with the last row. */
  release({ shape }: CompactRow): void {
    shape.refCount -= 1
    if (shape.refCount === 0) this.#shapes.delete(shape.key)
  }

  #findOrAddShape(text: string, spec: ProcessSpec): Shape {
    const content = `${text}${SEPARATOR}${JSON.stringify(spec)}`
    if (this.#last?.content === content && this.#last.shape.refCount > 0) return this.#last.shape
    const key = hash('sha256', content, 'base64')
    const shape = this.#shapes.get(key) ?? { key, fragments: text.split(SEPARATOR), spec, refCount: 0 }
    this.#shapes.set(key, shape)
    this.#last = { content, shape }
    return shape
  }
}
