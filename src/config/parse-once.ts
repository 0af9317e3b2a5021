// Caches the last parsed file: all nodes of a compose run and all members of a crew read the same reeve.yaml. Returns copies. Must never
// get a file with secrets. Test: test/tables/config/parse-once.test.ts.
import { parseYaml, type YamlFormat, type Parsed } from './yaml.ts'

interface CachedParse {
  readonly file: string
  readonly text: string
  readonly format: unknown
  readonly parsed: Parsed<unknown>
}

let cached: CachedParse | null = null

/** Parses a whole file like `parseYaml`; the same text is parsed only once. */
export function parseOnce<T>(text: string, format: YamlFormat<T>, file: string): Parsed<T> {
  if (cached?.text !== text || cached.file !== file || cached.format !== format)
    cached = { file, text, format, parsed: parseYaml(text, format, file) }
  return structuredClone(cached.parsed) as Parsed<T>
}
