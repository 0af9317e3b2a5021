// Decides whether the program of an agent file may be started. The file of a repository can name any program. The user must trust the
// directory of a project's file, or name the agent. A name is not enough if a built-in or user agent of that name has another command.
// Starts nothing. Test: test/tables/config/agents/agent-trust.test.ts.
import { relative } from 'node:path'
import { findUserOrBuiltInAgent } from './find-agents.ts'
import { isTrusted, projectDirectory } from '../trust.ts'
import type { AgentDefinition } from './agent-file.ts'
import type { Paths } from '../paths.ts'

/** Why a program must not be started, and what the user can do. */
export interface Distrust {
  readonly why: string
  readonly hint: string
}

/** Returns why the agent's program must not be started; null if it may. `isNamed`: the user has named this agent. */
export async function findDistrust(
  agent: AgentDefinition,
  isNamed: boolean,
  { paths, trusted }: { readonly paths: Paths; readonly trusted: readonly string[] },
): Promise<Distrust | null> {
  const { name, file, command, source } = agent
  if (command === null || file === null || source !== 'project') return null
  const other = await findUserOrBuiltInAgent(name, paths)
  if (other === null ? isNamed : isSameCommand(command, other.command)) return null
  if (await isTrusted(file, paths, trusted)) return null
  const dir = projectDirectory(file)
  const why = `${file} is not trusted to start a program (${command.join(' ').slice(0, 100)})${other === null ? '' : ` in place of ${other.source === 'user' ? 'your own' : 'the built-in'} agent \`${name}\``}`
  return {
    why,
    hint: `If you know what it starts: \`reeve config trust ${dir}\`${other === null ? `, or name it: \`--agent ${name}\`` : ''}.`,
  }
}

/** Returns the note that the project's agent file replaces another agent of that name; null if it replaces none. */
export async function shadowedAgentNote({ name, file, source }: AgentDefinition, paths: Paths): Promise<string | null> {
  if (file === null || source === 'user') return null
  const other = await findUserOrBuiltInAgent(name, paths)
  if (other === null || other.file === file) return null
  const dir = projectDirectory(file)
  return `using ${relative(dir, file)} of ${dir}, in place of ${other.source === 'user' ? 'your own' : 'the built-in'} agent${name === 'default' ? '' : ` ${name}`}`
}

/** Whether both agents have the same command line. The agent file then only adds settings to an existing agent. */
function isSameCommand(command: readonly string[], other: readonly string[] | null): boolean {
  return other !== null && command.length === other.length && command.every((word, at) => word === other[at])
}
