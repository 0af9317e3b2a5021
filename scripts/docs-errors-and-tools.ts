// Writes docs/reference/errors.md and docs/reference/mcp-tools.md from their tables. `npm run docs` runs it.
// Tests: test/ratchet.test.ts, test/tables/daemon/mcp/own-tools.test.ts.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OWN_TOOLS } from '../src/daemon/mcp/own-tools.ts'
import type { OwnToolDefinition } from '../src/daemon/mcp/tool.ts'
import { ERRORS } from '../src/kernel/model/errors.ts'

const pagePath = (name: string): string => fileURLToPath(new URL(`../docs/reference/${name}`, import.meta.url))

export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, row]) => `| \`${code}\` | ${row.meaning} | ${row.hint} | ${row.exit} | ${row.http} |`)
  return `# Errors

Every error has one of these codes, a message of its own, and a hint. With \`--json\` the command line prints
\`{"version": 1, "error": {"code", "message", "hint", "details"}}\`; the HTTP API answers with the same body.
The exit code is the command line's. \`run\` and \`wait\` exit with the process's own code, and use 124 to 127 for failures of their
own. This page is generated from \`src/kernel/model/errors.ts\` by \`npm run docs\`.

| code | meaning | what to do | exit | HTTP |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

interface Property {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly default?: unknown
  readonly items?: Property
  readonly anyOf?: readonly Property[]
}

function kindOf({ type, enum: words, items, anyOf }: Property): string {
  if (words) return words.join(' \\| ')
  if (anyOf) return anyOf.map(kindOf).join(' or ')
  return type === 'array' && items ? `list of ${kindOf(items)}` : (type ?? 'one of several')
}

function toolSection({ name, description, example, schema }: OwnToolDefinition): string {
  const { properties = {}, required = [] } = schema() as {
    readonly properties?: Readonly<Record<string, Property>>
    readonly required?: readonly string[]
  }
  const rows = Object.entries(properties).map(([key, property]) => {
    const parts = [property.description, property.default === undefined ? undefined : `default: \`${JSON.stringify(property.default)}\``]
      .filter(Boolean)
      .join('; ')
    return `| \`${key}\`${required.includes(key) ? '' : ' (optional)'} | ${kindOf(property)} | ${parts} |`
  })
  const table = rows.length === 0 ? [] : ['', '| input | kind | |', '| --- | --- | --- |', ...rows]
  return [`### ${name}`, '', description, ...table, '', '```json', JSON.stringify(example), '```'].join('\n')
}

const GROUPS = [
  ['Any process', ['any', 'process']],
  ['Workers of a crew', ['worker']],
  ['Coordinators of a crew', ['coordinator']],
] as const

export function toolsPage(): string {
  const groups = GROUPS.map(([title, who]) =>
    [`## ${title}`, ...OWN_TOOLS.filter((tool) => (who as readonly string[]).includes(tool.who)).map(toolSection)].join('\n\n'),
  )
  return `# The tools, one by one

[mcp-server](mcp-server.md) explains which agents have these tools. Agents know them as \`mcp__reeve__NAME\`, or in another notation of their client.
This page is generated from \`src/daemon/mcp/own-tools.ts\` by \`npm run docs\`.

${groups.join('\n\n')}
`
}

if (import.meta.main) {
  for (const [name, wanted] of [
    ['errors.md', errorsPage()],
    ['mcp-tools.md', toolsPage()],
  ] as const)
    writeFileSync(pagePath(name), wanted)
}
