// A row that rests, as little as it can be: its JSON in two parts. What many rows have alike (the names of the fields, words of the
// kernel, what the agent's file says) is their shape and stands once; what is its own is one short text.
// Owns how a process is packed and unpacked, which gives an equal one, and that a shape goes with its last row.
// It reads no field but the spec's. Test: test/properties/packed.test.ts.
import { hash } from 'node:crypto'
import type { Process, ProcessSpec } from '../kernel/types.ts'

/** A raw control character stands in no JSON text. */
const GAP = '\u0000'

/** A name with its colon, a text or a number. */
const LEAVES = /"[^"\\]*(?:\\.[^"\\]*)*":?|-?\d[\d.eE+-]*/g

/** Values that most rows have in the same places: they stay in the shape. A text of a person among them would make a shape for each row. */
const ALIKE: ReadonlySet<string> = new Set(['0', ...['running', 'starting', 'ready', 'working', 'user', 'subtree', 'budget', 'daemon-shutdown', 'SIGPAUSE', 'default'].map((word) => `"${word}"`)])

/** Of a spec: what each process has for itself. */
type Own = Pick<ProcessSpec, 'name' | 'intent' | 'cwd' | 'worktree' | 'childId' | 'member'>

interface Shape {
  readonly key: string
  /** the JSON, cut where a value of the row comes in */
  readonly texts: readonly string[]
  /** with nothing in place of what is a process's own */
  readonly spec: ProcessSpec
  /** rows that have it */
  uses: number
}

export class Packed {
  readonly shape: Shape
  /** what comes in, with gaps between */
  readonly values: string
  /** its last fact */
  readonly seq: number

  constructor(shape: Shape, values: string, seq: number) {
    this.shape = shape
    this.values = values
    this.seq = seq
  }

  unpack(): Process {
    const { texts, spec } = this.shape
    const values = this.values.split(GAP)
    let whole = ''
    for (const [i, text] of texts.entries()) whole += i < values.length ? text + values[i] : text
    const process = JSON.parse(whole) as Omit<Process, 'spec'> & { readonly spec: Own }
    return Object.assign(process, { spec: { ...spec, ...process.spec } })
  }
}

/** All shapes that rows have. */
export class Packer {
  readonly #shapes = new Map<string, Shape>()
  /** that of the row before, which is mostly that of the next */
  #last: { readonly whole: string; readonly shape: Shape } | null = null

  get size(): number {
    return this.#shapes.size
  }

  pack(process: Process): Packed {
    const { worktree, childId, member, ...spec } = process.spec
    const own = { name: spec.name, intent: spec.intent, cwd: spec.cwd, worktree, childId, member }
    const values: string[] = []
    const text = JSON.stringify({ ...process, spec: own }).replaceAll(LEAVES, (leaf) => {
      if (leaf.endsWith('":') || ALIKE.has(leaf)) return leaf
      values.push(leaf)
      return GAP
    })
    const shape = this.#shape(text, { ...spec, name: null, intent: '', cwd: '' })
    shape.uses += 1
    return new Packed(shape, values.join(GAP), process.seq)
  }

  /** Its row is no more, or is packed no more. */
  drop({ shape }: Packed): void {
    shape.uses -= 1
    if (shape.uses === 0) this.#shapes.delete(shape.key)
  }

  #shape(text: string, spec: ProcessSpec): Shape {
    const whole = `${text}${GAP}${JSON.stringify(spec)}`
    if (this.#last?.whole === whole && this.#last.shape.uses > 0) return this.#last.shape
    const key = hash('sha256', whole, 'base64')
    const shape = this.#shapes.get(key) ?? { key, texts: text.split(GAP), spec, uses: 0 }
    this.#shapes.set(key, shape)
    this.#last = { whole, shape }
    return shape
  }
}
