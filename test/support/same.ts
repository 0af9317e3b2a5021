// Equality of values as JSON keeps them: the order of keys says nothing, and `undefined` is not there.
import { isDeepStrictEqual } from 'node:util'

export function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(json(a), json(b))
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null')
}
