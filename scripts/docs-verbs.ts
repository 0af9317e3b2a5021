// Writes docs/reference/verbs/*.md from the verb table: `node scripts/docs-verbs.ts`.
// Test: test/tables/cli/table/verbs.test.ts holds the pages to the table.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMMON_FLAGS } from '../src/cli/input/args.ts'
import { exitRows, flagRows } from '../src/cli/table/manual.ts'
import { listVerbs } from '../src/cli/table/verb-names.ts'
import { VERBS } from '../src/cli/table/verbs.ts'
import type { Verb } from '../src/cli/table/verb.ts'

const dir = fileURLToPath(new URL('../docs/reference/verbs/', import.meta.url))

export function pageName(name: string): string {
  return `${name.replace(' ', '-')}.md`
}

export function verbPage(name: string, verb: Verb): string {
  const verbFlags = Object.fromEntries(flagRows({ ...COMMON_FLAGS, ...verb.flags }))
  const flags = Object.entries(verbFlags).map(([flag, help]) => `| \`${flag.replaceAll('|', '\\|')}\` | ${help} |`)
  const examples = verb.examples.map(([command, what]) => `${command}    # ${what}`)
  return `# reeve ${name}

${verb.summary}.

\`\`\`
${verb.usage.join('\n')}
\`\`\`

${verb.about.join('\n\n')}

| flag | meaning |
| --- | --- |
${flags.join('\n')}

## Examples

\`\`\`sh
${examples.join('\n')}
\`\`\`

## Exit codes

| code | meaning |
| --- | --- |
${exitRows(verb.exits)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join('\n')}
`
}

if (import.meta.main) {
  mkdirSync(dir, { recursive: true })
  for (const [name, verb] of listVerbs(VERBS)) writeFileSync(`${dir}${pageName(name)}`, verbPage(name, verb))
}
