// Expands `${NAME}` and `${NAME:-default}` in a text. The caller supplies the values.
// Test: test/tables/config/mcp/servers.test.ts.

const REFERENCE = /\$\{([A-Za-z_]\w{0,127})(?::-([^}]*))?\}/g

/** Returns the names that a text refers to, without duplicates. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name ?? ''))]
}

/** Returns the literal text: each reference is replaced by its default, or removed if it has none. */
export function withDefaults(text: string): string {
  return text.replaceAll(REFERENCE, (_, _name: string, fallback: string | undefined) => fallback ?? '')
}

/** Replaces the references by their values. A default replaces an empty value as well, as in a shell. Errors: `MissingVariable`. */
export function expandVariables(text: string, lookup: (name: string) => string | undefined): string {
  return text.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) => {
    const value = lookup(name)
    if (fallback !== undefined) return value || fallback
    if (value === undefined) throw new MissingVariable(name)
    return value
  })
}

/** The error about a variable that has neither a value nor a default. */
export class MissingVariable extends Error {
  constructor(name: string) {
    super(`the variable ${name} is not set`)
  }
}
