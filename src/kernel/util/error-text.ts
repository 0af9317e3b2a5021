// The text of a caught value: JavaScript code may throw any value. Test: test/tables/kernel/util/error-text.test.ts.

/** The message of an error; any other value as a string. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
