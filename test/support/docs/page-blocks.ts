// The commands of a page: its `sh` blocks, and the files that its other blocks show. A block below `<!-- not run: REASON -->` has that
// reason, and the caller skips it. A block of YAML or Markdown that begins with `# NAME` is a file of that name. Test:
// test/e2e/docs/commands.test.ts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../env.ts'

export interface PageBlock {
  /** the line of the page where its text begins, from 1 */
  readonly line: number
  readonly kind: 'commands' | 'file'
  /** the name of a file; empty for commands */
  readonly name: string
  readonly text: string
  /** the reason why the block is not run; null if it is run */
  readonly reason: string | null
}

const BLOCK_PATTERN = /(?:^<!-- not run: (?<reason>.+) -->\n\n?)?^```(?<language>sh|yaml|markdown)\n(?<text>[\s\S]*?)^```$/gm
const FILE_NAME = /^# ([\w./-]+\.(?:yaml|md))\b/

export function readBlocks(page: string): PageBlock[] {
  return blocksIn(readFileSync(join(ROOT, page), 'utf8'))
}

export function blocksIn(text: string): PageBlock[] {
  return [...text.matchAll(BLOCK_PATTERN)].flatMap((match): PageBlock[] => {
    const { reason, language, text: content = '' } = match.groups ?? {}
    const isCommands = language === 'sh'
    const name = isCommands ? '' : (FILE_NAME.exec(content)?.[1] ?? '')
    if (!isCommands && name === '') return []
    const line = text.slice(0, match.index + match[0].length).split('\n').length - content.split('\n').length + 1
    return [{ line, kind: isCommands ? 'commands' : 'file', name, text: content, reason: reason ?? null }]
  })
}
