// The system prompt of a native agent: the role prompt, and then the instructions of its repository. Pure, and constant for a process.
// Test: test/tables/drivers/native/system-prompt.test.ts.
import type { NativeSpec } from '../../kernel/model/process-spec.ts'

/** Returns the whole system prompt; null: none. */
export function systemPromptOf({ system, instructions }: Pick<NativeSpec, 'system' | 'instructions'>): string | null {
  if (!instructions) return system
  const files = instructions.files.map(
    ({ name, text, isCut }) =>
      `<file name=${JSON.stringify(name)}>\n${text}\n</file>${isCut ? '\nThe rest of this file is left out.' : ''}`,
  )
  const introduction = `# Instructions of the repository

These files are the instructions of the repository for agents. Follow them. If two of them differ, the first one counts.`
  return [...(system === null ? [] : [system]), introduction, ...files].join('\n\n')
}
