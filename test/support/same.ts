// Equality of values as JSON: the order of keys is ignored, and `undefined` counts as absent.
import { isDeepStrictEqual } from 'node:util'

export function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(json(a), json(b))
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null')
}
