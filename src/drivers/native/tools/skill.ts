// The tool `skill`, with which an agent loads one of the skills that its system prompt lists. A worker thread (load-skill.ts) reads the
// files. The journal keeps the text as the result of the call. Test: test/tables/drivers/native/tools/skill.test.ts.
import { z } from 'zod'
import { relative } from 'node:path'
import type { NativeSpec } from '../../../kernel/model/process-spec.ts'
import { skillPaths } from '../../../kernel/state/permissions.ts'
import type { FileWorkers } from './file-workers.ts'
import { ToolError } from './tool-error.ts'
import { defineTool } from './tool.ts'
import type { Tool } from './tool.ts'

/** Creates the tool for the skills of a process; null if it has none. */
export function skillTool(
  { skills = [], worktree }: Pick<NativeSpec, 'skills' | 'worktree'>,
  workers: Pick<FileWorkers, 'run'>,
): Tool | null {
  if (skills.length === 0) return null
  return defineTool({
    name: 'skill',
    effect: 'read',
    description: 'Loads a skill: returns its instructions, and the names of the files in its folder.',
    input: z.strictObject({ name: z.string().min(1).describe('the name of the skill, from the list in the system prompt') }),
    run: ({ name }, context) => {
      const skill = skills.find((each) => each.name === name)
      if (skill === undefined)
        throw new ToolError(`there is no skill "${name}"; the skills are: ${skills.map((each) => each.name).join(', ')}`)
      // Below its base, no part of a path may be a link (load-skill.ts). The path of the worktree itself may have links.
      const places = skillPaths(skill, worktree ? { worktree } : {}).map((path) =>
        worktree && path !== skill.path ? { base: worktree.dir, file: relative(worktree.dir, path) } : { base: '/', file: path },
      )
      return workers.run({ name: 'skill', effect: 'read', input: { name, places, sha256: skill.sha256 } }, context)
    },
  })
}
