// Reads from the input of a tool call which files it edits, and how. Agents have different names for the same tools and fields. So the
// shape of the input counts, not the name of the tool. Pure. Test: test/tables/daemon/operations/file-edits.test.ts.

export interface FileEdit {
  readonly path: string
  /** the replaced text; empty for a file that is written as a whole */
  readonly before: string
  readonly after: string
}

type Fields = Readonly<Record<string, unknown>>

const PATH_FIELDS = ['file_path', 'filePath', 'path', 'abs_path', 'target_file']
const BEFORE_FIELDS = ['old_text', 'old_string', 'oldText', 'oldString', 'old_str']
const AFTER_FIELDS = ['new_text', 'new_string', 'newText', 'newString', 'new_str']
const CONTENT_FIELDS = ['content', 'contents', 'file_text', 'new_source']

/** Returns the edits of a call in order; none if its input does not look like an edit. */
export function findEdits(input: unknown): FileEdit[] {
  const fields = fieldsOf(input)
  // Codex only names the changed files.
  if (Array.isArray(fields['changes']))
    return fields['changes'].map(fieldsOf).flatMap((change) => {
      const path = firstText(change, PATH_FIELDS)
      return path === undefined ? [] : [{ path, before: '', after: '' }]
    })
  const path = firstText(fields, PATH_FIELDS)
  if (path === undefined || path === '') return []
  if (Array.isArray(fields['edits'])) return fields['edits'].flatMap((edit) => editIn(path, fieldsOf(edit)))
  const content = firstText(fields, CONTENT_FIELDS)
  return content === undefined ? editIn(path, fields) : [{ path, before: '', after: content }]
}

/** Returns the unified text of an edit. Its line numbers are unknown, so both sides begin at line 1; `note` follows them. */
export function hunkOf({ before, after }: FileEdit, note: string): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  let [start, end] = [0, 0]
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1
  const lines = [
    ...old.slice(0, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...now.slice(start, now.length - end).map((line) => `+${line}`),
    ...old.slice(old.length - end).map((line) => ` ${line}`),
  ]
  const range = (count: number): string => `${count === 0 ? 0 : 1},${count}`
  return `@@ -${range(old.length)} +${range(now.length)} @@ ${note}\n${lines.map((line) => `${line}\n`).join('')}`
}

function editIn(path: string, fields: Fields): FileEdit[] {
  const before = firstText(fields, BEFORE_FIELDS)
  const after = firstText(fields, AFTER_FIELDS)
  return before === undefined && after === undefined ? [] : [{ path, before: before ?? '', after: after ?? '' }]
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function firstText(fields: Fields, names: readonly string[]): string | undefined {
  return names.map((name) => fields[name]).find((value) => typeof value === 'string')
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
