// Drops the undefined fields of an object. The API, spreads and stored records distinguish an absent field from an
// undefined one. Test: test/tables/kernel/util/without-undefined.test.ts.

/** The fields that may be absent after `withoutUndefined`, without `undefined` in their types. */
export type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** A copy without the fields that are undefined. */
export function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
