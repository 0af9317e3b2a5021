// `{{ nodes.NAME.result }}` in the intent of a compose node and in its arguments. Owns the syntax. What is filled in stays text: it
// is not looked through again, so that nothing that an agent said becomes a reference. Test: test/tables/compose-template.test.ts.

/** What can be asked of a node that has completed. */
export const NODE_FIELDS = ['result', 'uuid', 'cwd', 'branch'] as const

export interface Reference {
  readonly node: string
  readonly field: string
}

const REFERENCE = /\{\{\s*nodes\.([A-Za-z0-9][\w.-]*)\.(\w+)\s*\}\}/g
/** What was meant to be one. */
const BEGUN = /\{\{\s*nodes\b/g

export function referencesIn(text: string): readonly Reference[] {
  return [...text.matchAll(REFERENCE)].map(([, node = '', field = '']) => ({ node, field }))
}

/** There is a reference that is not written as one is. */
export function isMalformed(text: string): boolean {
  return [...text.matchAll(BEGUN)].length > referencesIn(text).length
}

/** The text is one reference and nothing else. */
export function isReference(text: string): boolean {
  return text.replace(REFERENCE, '') === '' && referencesIn(text).length === 1
}

export function fillIn(text: string, value: (reference: Reference) => string): string {
  return text.replaceAll(REFERENCE, (_, node: string, field: string) => value({ node, field }))
}
