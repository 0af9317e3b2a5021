// Shortens a text to a number of UTF-16 code units. Must never leave half of a surrogate pair: such a text cannot be
// encoded as UTF-8. Test: test/tables/kernel/util/truncate.test.ts.

/** The start of a text, at most `maxChars` long including the `mark` that replaces the rest. */
export function truncate(text: string, maxChars: number, mark = ''): string {
  if (text.length <= maxChars) return text
  const end = maxChars - mark.length
  const last = text.charCodeAt(end - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, splitsPair ? end - 1 : end)}${mark}`
}
