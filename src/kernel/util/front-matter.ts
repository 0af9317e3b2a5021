// Splits a Markdown file with front matter: the lines between two lines of `---`, and the text after them. Pure.
// Tests: test/tables/config/agents/agent-file.test.ts, test/tables/config/skills.test.ts.

export interface FrontMatterParts {
  readonly front: string
  readonly body: string
}

/** Returns the two parts; null if the text does not begin with front matter. */
export function splitFrontMatter(text: string): FrontMatterParts | null {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const end = lines.findIndex((line, index) => index > 0 && /^---\s*$/.test(line))
  if (end < 0 || !/^---\s*$/.test(lines[0] ?? '')) return null
  return {
    front: lines.slice(1, end).join('\n'),
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  }
}

/** Reads front matter that is not YAML, such as `description: Use it when: …`: one key in each line, and the rest is its value. */
export function parseFrontMatterLines(front: string): Record<string, unknown> {
  const pairs = front.split(/\r?\n/).map((line) => /^([A-Za-z][\w-]*):[ \t]*(.*)$/.exec(line))
  return Object.fromEntries(pairs.flatMap((match) => (match ? [[match[1] ?? '', (match[2] ?? '').trim()]] : [])))
}
