// Makes random requests for each operation of the API document, with valid, nearly valid and hostile values for the schema of each
// field. Valid values that could run a program, name a folder or wait long come from the caller's list, not from chance.
// Test: test/e2e/daemon/api-random.test.ts.
import fc from 'fast-check'

export interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly $ref?: string
}

export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>>
}

export interface RandomRequest {
  readonly query: readonly (readonly [string, string])[]
  readonly ref: string
  readonly body: string | undefined
}

/** The caller's values, by field name, such as folders and commands. */
export type FieldValues = Readonly<Record<string, fc.Arbitrary<unknown>>>

const HOSTILE_TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1e309',
  'NaN',
  '../../../etc/passwd',
  '%2e%2e%2f',
  '\0',
  'a\0b',
  '\u001b[31mred\u001b[0m',
  '\ud800',
  '\u202e',
  '{{ nodes.x.result }}',
  '${HOME}',
  '$(id)',
  "'; drop table processes; --",
  '🦊'.repeat(50),
  'x'.repeat(5_000),
  '2026-11-22T00:00:00Z',
  '*',
  '[',
  '(a+)+$',
] as const

const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'] as const

const hostileText = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.constantFrom(...PROTOTYPE_NAMES))
const hostileNumber = fc.constantFrom(0, -0, -1, 1, 0.5, 5, 64, 1e9, 2 ** 31, 2 ** 53, 1e308, -1e308)
const wrongValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, [], {}, [[[]]], { __proto__: null, constructor: 1 }),
  hostileText,
  hostileNumber,
)

/** Makes a value for a schema; one in fifteen ignores the schema. */
export function valueFor(schema: Schema, known: FieldValues, name = ''): fc.Arbitrary<unknown> {
  const validValue = Object.hasOwn(known, name) ? known[name]! : validValueFor(schema, known)
  return fc.oneof({ weight: 14, arbitrary: validValue }, { weight: 1, arbitrary: wrongValue })
}

function validValueFor(schema: Schema, known: FieldValues): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) return fc.oneof(...branches.map((branch) => validValueFor(branch, known)))
  if (schema.properties) return objectFor(schema, known)
  if (schema.type === 'array') return fc.array(validValueFor(schema.items ?? {}, known), { maxLength: 4 })
  if (schema.type === 'object') return recordFor(schema, known)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer' || schema.type === 'number') return fc.oneof(fc.integer({ min: 0, max: 100 }), hostileNumber)
  if (schema.type === 'string') return fc.oneof(fc.stringMatching(/^[a-z][a-z0-9-]{0,9}$/), hostileText)
  return wrongValue
}

/** Makes the required fields and at most two others: among many fields only the first wrong one would be tested. */
function objectFor({ properties = {}, required = [] }: Schema, known: FieldValues): fc.Arbitrary<unknown> {
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const unknownField = fc.oneof(
    { weight: 30, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(hostileText, wrongValue, { maxKeys: 1 }) },
  )
  const chosen = fc.subarray(optional, { maxLength: Math.min(2, optional.length) })
  return fc.tuple(chosen, unknownField).chain(([names, more]) => {
    const fields = Object.fromEntries([...required, ...names].map((name) => [name, valueFor(properties[name] ?? {}, known, name)]))
    return fc.record(fields).map((value) => ({ ...value, ...more }))
  })
}

function recordFor({ additionalProperties }: Schema, known: FieldValues): fc.Arbitrary<unknown> {
  const value = typeof additionalProperties === 'object' ? valueFor(additionalProperties, known) : wrongValue
  return fc
    .array(fc.tuple(fc.oneof(fc.stringMatching(/^[A-Z]{1,8}$/), hostileText), value), { maxLength: 3 })
    .map((pairs) => Object.fromEntries(pairs))
}

const BROKEN_BODIES = [
  '',
  '{',
  '[]',
  'null',
  '"text"',
  '{"a":1,"a":2}',
  '['.repeat(5_000),
  '{"__proto__":{"polluted":true}}',
  '\ufeff{}',
  '{}garbage',
] as const

/** Makes a request for one operation. */
export function requestFor(operation: Operation, known: FieldValues & { readonly ref: fc.Arbitrary<string> }): fc.Arbitrary<RandomRequest> {
  const queries = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, required, schema }) => {
      const present = valueFor(schema, known, name).map((value): [string, string][] => [
        [name, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')],
      ])
      return fc.oneof(
        { weight: required === true ? 20 : 2, arbitrary: present },
        { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
      )
    })
  const schema = operation.requestBody?.content['application/json']?.schema
  const body =
    schema === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 14, arbitrary: valueFor(schema, known).map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: fc.constantFrom(...BROKEN_BODIES) },
        )
  return fc.record({ query: fc.tuple(...queries).map((lists) => lists.flat()), ref: known.ref, body })
}
