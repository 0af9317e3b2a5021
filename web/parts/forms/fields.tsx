// Draws a form from a list of fields. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { Field, Values } from './field-values.ts'

export interface FieldListProps {
  readonly fields: readonly Field[]
  readonly values: Values
  readonly onChange: (name: string, value: string) => void
}

export function FieldList({ fields, values, onChange }: FieldListProps): JSX.Element {
  return (
    <>
      {fields.map((field, index) => (
        <OneField key={field.name} field={field} isFirst={index === 0} value={values[field.name] ?? ''} onChange={onChange} />
      ))}
    </>
  )
}

interface OneFieldProps extends Pick<FieldListProps, 'onChange'> {
  readonly field: Field
  readonly isFirst: boolean
  readonly value: string
}

function OneField({ field, isFirst, value, onChange }: OneFieldProps): JSX.Element {
  const { name, label, kind, options = [], placeholder = '', isRequired = false } = field
  const common = { value, autofocus: isFirst, required: isRequired }
  if (kind === 'check')
    return (
      <label class="inline">
        <input type="checkbox" checked={value === 'yes'} onChange={(event) => onChange(name, event.currentTarget.checked ? 'yes' : '')} />{' '}
        {label}
      </label>
    )
  return (
    <label>
      {label}
      {kind === 'text' ? (
        <textarea rows={3} {...common} placeholder={placeholder} onInput={(event) => onChange(name, event.currentTarget.value)} />
      ) : kind === 'choice' ? (
        <select {...common} onChange={(event) => onChange(name, event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : (
        <input
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          {...common}
          placeholder={placeholder}
          onInput={(event) => onChange(name, event.currentTarget.value)}
        />
      )}
    </label>
  )
}
