// Ties a zod schema to a type of src/api/views.ts in both directions: neither can have a field that the other lacks.
// It is a check at compile time, and does nothing when it runs.
import type { z } from 'zod'

type Exact<V, O> = [V] extends [O] ? ([keyof V] extends [keyof O] ? ([keyof O] extends [keyof V] ? unknown : never) : never) : never

/** The schema of the type `V`, and of no other. */
export function of<V>() {
  return <S extends z.ZodType<V>>(schema: S & Exact<V, z.output<S>>): S => schema
}
