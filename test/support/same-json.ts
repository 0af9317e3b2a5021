// Equality of values as JSON: the order of keys is ignored, and `undefined` counts as absent.
import { isDeepStrictEqual } from 'node:util'

export function isSameJson(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(plainJson(a), plainJson(b))
}

function plainJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null')
}
