// The fields of a form that is made from a list, with its values as texts. Pure. Test: test/tables/web/crew-commands.test.ts.

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'line' | 'text' | 'number' | 'choice' | 'check'
  /** the options of a `choice` */
  readonly options?: readonly string[]
  readonly value?: string
  readonly placeholder?: string
  readonly isRequired?: boolean
}

/** The values by name; a checked box has `yes`. */
export type Values = Readonly<Record<string, string>>

/** The values that fields begin with. */
export function firstValues(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value ?? '']))
}

/** Whether all required fields are filled in. */
export function isComplete(fields: readonly Field[], values: Values): boolean {
  return fields.every(({ name, isRequired }) => isRequired !== true || (values[name] ?? '').trim() !== '')
}
