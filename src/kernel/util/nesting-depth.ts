// Checks the nesting depth of a YAML or JSON text before it is parsed, because a parser needs thousands of bytes for each
// level. Brackets in strings are counted, too, so the limit is far above any depth that is written by hand. YAML levels by
// indentation are not counted. Test: test/properties/parsers.test.ts.

export const MAX_NESTING = 500

/** A line that opens too many YAML levels, such as `- - -` or `a: a: a:`. */
const TOO_DEEP_LINE = new RegExp(`(?:(?:[-?:]|[\\w"']{1,40}:)[ \\t]+){${MAX_NESTING}}`)

/** The number of the line, from 1, on which the nesting becomes too deep; null: it never does. */
export function findTooDeepLine(text: string): number | null {
  const tooDeepAt = TOO_DEEP_LINE.exec(text)?.index ?? -1
  let [depth, line] = [0, 1]
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (at === tooDeepAt) return line
    if (char === '\n') line += 1
    else if (char === '[' || char === '{') depth += 1
    else if ((char === ']' || char === '}') && depth > 0) depth -= 1
    if (depth > MAX_NESTING) return line
  }
  return null
}
