// Turns an agent's form (an elicitation) into a question to the user. A form with one field becomes a choice or a text. A form with several
// fields asks for a JSON object. Pure. Test: test/processes/acp/permission-requests.test.ts.
import type { CreateElicitationRequest, ElicitationContentValue } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { AskOption } from '../../kernel/model/asks.ts'

const MAX_TEXT_CHARS = 4_000

const optionalText = z.string().nullish().catch(null)
const property = z.object({
  type: z.string(),
  title: optionalText,
  description: optionalText,
  enum: z.array(z.string()).nullish().catch(null),
  oneOf: z
    .array(z.object({ const: z.string(), title: z.string() }))
    .nullish()
    .catch(null),
})
const schema = z.object({ properties: z.record(z.string(), property).default({}), required: z.array(z.string()).nullish().catch(null) })

type Property = z.output<typeof property>

/** A form as a question to the user, and the fields that its answer must fill in. */
export interface ElicitationForm {
  readonly text: string
  readonly options: readonly AskOption[]
  readonly fields: Readonly<Record<string, Property>>
  readonly required: readonly string[]
}

/** Reads a form. Null if it cannot become a question: it is a web page or malformed, or has no fields. */
export function parseForm(request: CreateElicitationRequest): ElicitationForm | null {
  if (request.mode !== 'form') return null
  const known = schema.safeParse('requestedSchema' in request ? request.requestedSchema : null)
  if (!known.success) return null
  const fields = known.data.properties
  const names = Object.keys(fields)
  const [only] = names.length === 1 ? Object.values(fields) : []
  if (names.length === 0) return null
  const instruction =
    names.length === 1
      ? []
      : [
          `Answer with JSON: ${JSON.stringify(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describeField(field)])))}`,
        ]
  return {
    text: [request.message, ...(only?.description ? [only.description] : []), ...instruction].join('\n').slice(0, MAX_TEXT_CHARS),
    options: only ? choicesOf(only) : [],
    fields,
    required: known.data.required ?? [],
  }
}

/** Fills in the form with the user's answer; null if the answer does not fit. */
export function formAnswer(
  { fields, required }: ElicitationForm,
  { option, text }: { readonly option: string | null; readonly text: string | null },
): Record<string, ElicitationContentValue> | null {
  const names = Object.keys(fields)
  const [only = ''] = names
  const field = fields[only]
  if (names.length === 1 && field) {
    const value = parseValue(field, option ?? text ?? '')
    return value === null ? null : { [only]: value }
  }
  const given = parseFields(text ?? '')
  if (given === null || required.some((name) => !(name in given))) return null
  const filled = Object.entries(given).flatMap(([name, value]) => (fields[name] === undefined ? [] : [[name, value] as const]))
  return Object.fromEntries(filled)
}

function choicesOf(field: Property): readonly AskOption[] {
  if (field.type === 'boolean')
    return [
      { id: 'true', name: 'yes', kind: 'choice' },
      { id: 'false', name: 'no', kind: 'choice' },
    ]
  if (field.oneOf) return field.oneOf.map((choice) => ({ id: choice.const, name: choice.title, kind: 'choice' }))
  return (field.enum ?? []).map((value) => ({ id: value, name: value, kind: 'choice' }))
}

function describeField(field: Property): string {
  const allowed = choicesOf(field).map(({ id }) => id)
  return [field.title ?? field.description ?? field.type, ...(allowed.length > 0 ? [`one of ${allowed.join(', ')}`] : [])].join(': ')
}

function parseValue(field: Property, text: string): ElicitationContentValue | null {
  const allowed = choicesOf(field)
  if (allowed.length > 0 && !allowed.some(({ id }) => id === text)) return null
  switch (field.type) {
    case 'boolean':
      return text === 'true'
    case 'number':
    case 'integer': {
      const number = Number(text)
      const fits = text.trim() !== '' && Number.isFinite(number) && (field.type === 'number' || Number.isInteger(number))
      return fits ? number : null
    }
    case 'array':
      return text.split(',').map((value) => value.trim())
    default:
      return text
  }
}

const fieldValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))

function parseFields(text: string): Record<string, ElicitationContentValue> | null {
  try {
    const known = fieldValues.safeParse(JSON.parse(text))
    return known.success ? known.data : null
  } catch {
    // An answer that is not JSON cannot fill in the form.
    return null
  }
}
