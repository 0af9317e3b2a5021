// Prints figures about the structure of the sources: `node scripts/source-figures.ts`. docs/contributing/architecture.md has the table.
import { dirname } from 'node:path'
import { functionsOf, importCycles, readSources, duplicateTypeNames, upwardKernelImports } from '../test/support/source.ts'

const files = readSources('src', '.ts')
const folders = Map.groupBy(files, ({ path }) => dirname(path))
const lines = files.map(({ raw }) => raw.split('\n').length - 1)
const lengths = files.flatMap(functionsOf).map((each) => each.lines)

/** The value below which this share of the values lies. */
function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}

const figures: readonly (readonly [string, string])[] = [
  ['source files, lines', `${files.length}, ${lines.reduce((sum, each) => sum + each, 0)}`],
  ['folders; most files in one', `${folders.size}; ${Math.max(...[...folders.values()].map(({ length }) => length))}`],
  ['lines of a file: median, 95 %, most', `${quantile(lines, 0.5)}, ${quantile(lines, 0.95)}, ${Math.max(...lines)}`],
  ['lines of a function: median, 95 %, most', `${quantile(lengths, 0.5)}, ${quantile(lengths, 0.95)}, ${Math.max(...lengths)}`],
  ['circles of imports, with types and lazy imports', String(importCycles(files).length)],
  ['upward arrows inside the kernel', String(upwardKernelImports(files).length)],
  ['exported type names that several files declare', String(duplicateTypeNames(files).length)],
]
const width = Math.max(...figures.map(([name]) => name.length))
for (const [name, value] of figures) console.log(`${name.padEnd(width)}  ${value}`)
