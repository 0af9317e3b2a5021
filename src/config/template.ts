// `${NAME}` and `${NAME:-default}` in a text. Owns the syntax; where a value comes from is the caller's business.
// Test: test/tables/config-mcp.test.ts.

const REFERENCE = /\$\{([A-Za-z_]\w{0,127})(?::-([^}]*))?\}/g

/** The names that a text refers to, each once. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name ?? ''))]
}

/** What stands in the text itself: references are gone, their defaults stay. */
export function literalOf(text: string): string {
  return text.replaceAll(REFERENCE, (_, _name: string, fallback: string | undefined) => fallback ?? '')
}

/** The text filled in. An empty value counts as none where there is a default, as in a shell. Throws `MissingVariable`. */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  return text.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) => {
    const value = lookup(name)
    if (fallback !== undefined) return value || fallback
    if (value === undefined) throw new MissingVariable(name)
    return value
  })
}

/** A variable that has neither a value nor a default. */
export class MissingVariable extends Error {
  constructor(name: string) {
    super(`it needs the variable ${name}, which is not set`)
  }
}
