// The changes that a test makes to a spec. They may have fields of any driver, as a journal of another version may.
import type { ProcessSpec } from '../../src/kernel/model/process-spec.ts'
import type { DriverName } from '../../src/kernel/model/words.ts'

export type SpecOf<D extends DriverName = DriverName> = Extract<ProcessSpec, { driver: D }>
export type SpecChanges<D extends DriverName = DriverName> = { readonly [F in keyof ProcessSpec]?: ProcessSpec[F] } & {
  readonly driver?: D
}

export function changedSpec<D extends DriverName = DriverName>(spec: ProcessSpec, changes: SpecChanges<D>): SpecOf<D> {
  return { ...spec, ...changes } as SpecOf<D>
}
