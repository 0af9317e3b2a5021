// Selects the main part of a tool call's input, for places without room for all of it. Pure, and imports nothing, because the page
// includes this file, too. Test: test/tables/cli/print/process-text.test.ts.

/** The fields that may be the main one, in order of preference. The first field of an input may be a directory or a timeout. */
const MAIN_FIELDS = ['command', 'cmd', 'file_path', 'filePath', 'path', 'pattern', 'url', 'query']

/** Returns the main part of an input: its command, its path or its first field. Otherwise all of it as JSON. May have several lines. */
export function mainInput(input: unknown): string {
  const mainField =
    typeof input === 'object' && input !== null && !Array.isArray(input) ? findMainField(input as Readonly<Record<string, unknown>>) : input
  return typeof mainField === 'string' ? mainField : (JSON.stringify(input) ?? '')
}

function findMainField(input: Readonly<Record<string, unknown>>): unknown {
  const name = MAIN_FIELDS.find((key) => typeof input[key] === 'string')
  return name === undefined ? Object.values(input)[0] : input[name]
}
