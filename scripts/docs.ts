// Writes docs/errors.md from the table of errors. `npm run docs`; with --check it only says whether the page is up to date.
// Test: test/ratchet.test.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '../src/kernel/errors.ts'

const page = fileURLToPath(new URL('../docs/errors.md', import.meta.url))

export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, row]) => `| \`${code}\` | ${row.meaning} | ${row.hint} | ${row.exit} | ${row.http} |`)
  return `# Errors

Every error has one of these codes, a message of its own, and a hint. With \`--json\` the command line prints
\`{"version": 1, "error": {"code", "message", "hint", "details"}}\`; the HTTP API answers with the same body.
The exit code is the command line's. \`run\` and \`wait\` exit with the process's own code, and use 124 to 127 for failures of their
own. This page is generated from \`src/kernel/errors.ts\` by \`npm run docs\`.

| code | meaning | what to do | exit | HTTP |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

if (import.meta.main) {
  const wanted = errorsPage()
  if (!process.argv.includes('--check')) writeFileSync(page, wanted)
  else if (readFileSync(page, 'utf8') !== wanted) {
    console.error('docs: docs/errors.md is not up to date; run: npm run docs')
    process.exitCode = 1
  }
}
