// A form that an agent wants filled in (an elicitation) as a question to a person: a single choice or a single text where
// it is one, else an object of JSON. Pure. Test: test/processes/acp-asks.test.ts.
import type { CreateElicitationRequest, ElicitationContentValue } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { AskOption } from '../../kernel/asking.ts'

const MAX_TEXT_CHARS = 4_000

const title = z.string().nullish().catch(null)
const property = z.object({
  type: z.string(),
  title,
  description: title,
  enum: z.array(z.string()).nullish().catch(null),
  oneOf: z.array(z.object({ const: z.string(), title: z.string() })).nullish().catch(null),
})
const schema = z.object({ properties: z.record(z.string(), property).default({}), required: z.array(z.string()).nullish().catch(null) })

type Property = z.output<typeof property>

export interface Form {
  readonly text: string
  readonly options: readonly AskOption[]
  readonly fields: Readonly<Record<string, Property>>
  readonly required: readonly string[]
}

/** Null for what cannot be asked here: a page of the web, or a form without a field. */
export function formOf(request: CreateElicitationRequest): Form | null {
  if (request.mode !== 'form') return null
  const known = schema.safeParse('requestedSchema' in request ? request.requestedSchema : null)
  if (!known.success) return null
  const fields = known.data.properties
  const names = Object.keys(fields)
  const [only] = names.length === 1 ? Object.values(fields) : []
  if (names.length === 0) return null
  const wanted = names.length === 1 ? [] : [`Answer with JSON: ${JSON.stringify(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, hint(field)])))}`]
  return {
    text: [request.message, ...(only?.description ? [only.description] : []), ...wanted].join('\n').slice(0, MAX_TEXT_CHARS),
    options: only ? choices(only) : [],
    fields,
    required: known.data.required ?? [],
  }
}

/** The form filled in; null if the answer does not fit it. */
export function formAnswer({ fields, required }: Form, { option, text }: { readonly option: string | null; readonly text: string | null }): Record<string, ElicitationContentValue> | null {
  const names = Object.keys(fields)
  const [only = ''] = names
  const field = fields[only]
  if (names.length === 1 && field) {
    const value = valueOf(field, option ?? text ?? '')
    return value === null ? null : { [only]: value }
  }
  const given = record(text ?? '')
  if (given === null || required.some((name) => !(name in given))) return null
  const filled = Object.entries(given).flatMap(([name, value]) => (fields[name] === undefined ? [] : [[name, value] as const]))
  return Object.fromEntries(filled)
}

function choices(field: Property): readonly AskOption[] {
  if (field.type === 'boolean') return [{ id: 'true', name: 'yes', kind: 'choice' }, { id: 'false', name: 'no', kind: 'choice' }]
  if (field.oneOf) return field.oneOf.map((one) => ({ id: one.const, name: one.title, kind: 'choice' }))
  return (field.enum ?? []).map((one) => ({ id: one, name: one, kind: 'choice' }))
}

function hint(field: Property): string {
  const among = choices(field).map(({ id }) => id)
  return [field.title ?? field.description ?? field.type, ...(among.length > 0 ? [`one of ${among.join(', ')}`] : [])].join(': ')
}

function valueOf(field: Property, text: string): ElicitationContentValue | null {
  const among = choices(field)
  if (among.length > 0 && !among.some(({ id }) => id === text)) return null
  switch (field.type) {
    case 'boolean': return text === 'true'
    case 'number':
    case 'integer': {
      const number = Number(text)
      const fits = text.trim() !== '' && Number.isFinite(number) && (field.type === 'number' || Number.isInteger(number))
      return fits ? number : null
    }
    case 'array': return text.split(',').map((one) => one.trim())
    default: return text
  }
}

const values = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))

function record(text: string): Record<string, ElicitationContentValue> | null {
  try {
    const known = values.safeParse(JSON.parse(text))
    return known.success ? known.data : null
  } catch {
    return null
  }
}
