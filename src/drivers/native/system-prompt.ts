// The system prompt of a native agent: its role, planning, the instructions of its repository, and its skills. Pure. Must be the same in
// all calls of an incarnation: a provider's prompt cache serves only an unchanged beginning.
// Test: test/tables/drivers/native/system-prompt.test.ts.
import type { NativeSpec } from '../../kernel/model/process-spec.ts'
import type { Instructions } from '../../kernel/model/spec-parts.ts'
import { isToolAllowed } from '../../kernel/state/tool-lists.ts'
import { PLANNING_PROMPT } from './permissions/plan.ts'

type PromptSpec = Pick<NativeSpec, 'system' | 'instructions' | 'skills' | 'permissions' | 'tools' | 'deny'>

/** Returns the whole system prompt; null if there is none. */
export function systemPromptOf(spec: PromptSpec): string | null {
  const { system, instructions } = spec
  const parts = [
    ...(system === null ? [] : [system]),
    ...(spec.permissions?.default === 'plan' ? [PLANNING_PROMPT] : []),
    ...(instructions ? instructionParts(instructions) : []),
    ...skillParts(spec),
  ]
  return parts.length === 0 ? null : parts.join('\n\n')
}

function instructionParts({ files }: Instructions): readonly string[] {
  const introduction = `# Instructions of the repository

These files are the instructions of the repository for agents. Follow them. If two of them differ, the first one counts.`
  return [
    introduction,
    ...files.map(
      ({ name, text, isCut }) =>
        `<file name=${JSON.stringify(name)}>\n${text}\n</file>${isCut ? '\nThe rest of this file is left out.' : ''}`,
    ),
  ]
}

/** The list of skills, if the agent has the tool that loads them. */
function skillParts({ skills = [], tools, deny }: PromptSpec): readonly string[] {
  if (skills.length === 0 || !isToolAllowed('skill', { tools, deny })) return []
  return [
    `# Skills

Each skill is a folder with instructions for one kind of task. If a task fits a description, load the skill with the tool \`skill\` before you begin, and follow it.`,
    skills.map(({ name, description }) => `- ${name}: ${description}`).join('\n'),
  ]
}
