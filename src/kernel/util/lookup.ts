// Looks up a name from user input in a table. Must never find an inherited property, such as `constructor`. Test:
// test/properties/parsers.test.ts.

/** The table's own entry of that name; undefined if there is none. */
export function lookUp<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
