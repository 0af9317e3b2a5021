// Serializes a long response in time slices of the event loop: serializing thousands of rows at once would block all other work.
// The text equals that of `JSON.stringify`. Test: test/tables/daemon/http/sliced-json.test.ts.
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'

/** The largest number of items of a list that is serialized in one turn of the event loop. */
const MAX_SHORT = 50

/** True if the response has a list that is too long to be serialized in one turn. */
export function hasLongList(answer: unknown): answer is object {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    !Array.isArray(answer) &&
    Object.values(answer).some((value) => Array.isArray(value) && value.length > MAX_SHORT)
  )
}

/** Serializes a response; the lists in its fields are serialized in slices. */
export async function jsonInSlices(answer: object, slices: SliceQueue): Promise<string> {
  const fields: string[] = []
  for (const [name, value] of Object.entries(answer)) {
    const text = Array.isArray(value)
      ? `[${(await slices.map(value, (item) => JSON.stringify(item) ?? 'null')).join(',')}]`
      : JSON.stringify(value)
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${fields.join(',')}}`
}
