// References such as `{{ nodes.NAME.result }}` in the intent and arguments of a compose node. Has the syntax of references. Inserted text
// is not scanned again, so the output of an agent never becomes a reference. Test: test/tables/kernel/compose/template.test.ts.

/** The fields of a completed node that a reference may name. */
export const NODE_FIELDS = ['result', 'uuid', 'cwd', 'branch'] as const

export interface Reference {
  readonly node: string
  readonly field: string
}

const REFERENCE = /\{\{\s*nodes\.([A-Za-z0-9][\w.-]*)\.(\w+)\s*\}\}/g
/** The start of a reference, well-formed or not. */
const REFERENCE_START = /\{\{\s*nodes\b/g

export function findReferences(text: string): readonly Reference[] {
  return [...text.matchAll(REFERENCE)].map(([, node = '', field = '']) => ({ node, field }))
}

/** True when the text has a reference with wrong syntax. */
export function hasMalformedReference(text: string): boolean {
  return [...text.matchAll(REFERENCE_START)].length > findReferences(text).length
}

/** True when the text is exactly one reference. */
export function isReference(text: string): boolean {
  return text.replace(REFERENCE, '') === '' && findReferences(text).length === 1
}

export function fillReferences(text: string, value: (reference: Reference) => string): string {
  return text.replaceAll(REFERENCE, (_, node: string, field: string) => value({ node, field }))
}
