// Makes src/config/known-models.ts from the price table: the names of current models of the built-in providers, which shells complete
// without a network. `npm run docs` runs it. Test: test/tables/config/known-models.test.ts.
import { findProvider } from '@pydantic/genai-prices'
import { writeFileSync } from 'node:fs'

const FILE = new URL('../src/config/known-models.ts', import.meta.url)
/** The families of models that can call tools, by provider. */
const FAMILIES = {
  anthropic: /^claude-(fable|haiku|opus|sonnet)-[4-9]/,
  openai: /^gpt-[5-9]/,
  google: /^gemini-(2\.5|[3-9])/,
}
/** Variants for something other than text. */
const SPECIAL = /audio|embedding|image|live|realtime|tts|transcribe/

/** Returns the text of the file. */
export function knownModelsSource(): string {
  const lists = Object.entries(FAMILIES).map(([provider, family]) => {
    const names = (findProvider({ providerId: provider })?.models ?? []).map(({ id }) => id)
    return [provider, names.filter((name) => family.test(name) && !SPECIAL.test(name)).toSorted()] as const
  })
  const lines = lists.flatMap(([provider, names]) => [`  ${provider}: [`, ...names.map((name) => `    '${name}',`), '  ],'])
  return [
    '// Names of current models of the built-in providers, for completion. Made by scripts/known-models.ts (`npm run docs`): do not edit.',
    '// Test: test/tables/config/known-models.test.ts.',
    'export const KNOWN_MODELS: Readonly<Record<string, readonly string[]>> = {',
    ...lines,
    '}',
    '',
  ].join('\n')
}

if (import.meta.main) writeFileSync(FILE, knownModelsSource())
