// Whether the program that an agent file names may be started: the file of a repository can name any. Owns the rule, which is that of
// MCP servers (mcp.ts): to name an agent is to trust it, unless another one could have been meant. Starts nothing.
// Test: test/tables/config-agent-trust.test.ts.
import { relative } from 'node:path'
import { agentElsewhere } from './agents.ts'
import { isTrusted, projectOf } from './trust.ts'
import type { Agent } from './agent-file.ts'
import type { Paths } from './paths.ts'

export interface Distrust {
  readonly why: string
  readonly hint: string
}

/** `named`: somebody asked for this agent, and did not just take the default one. Null: it may be started. */
export async function distrusted(agent: Agent, named: boolean, { paths, trusted }: { readonly paths: Paths; readonly trusted: readonly string[] }): Promise<Distrust | null> {
  const { name, file, command, source } = agent
  if (command === null || file === null || source !== 'project') return null
  const other = await agentElsewhere(name, paths)
  if (other === null ? named : isSame(command, other.command)) return null
  if (await isTrusted(file, paths, trusted)) return null
  const dir = projectOf(file)
  const why = `${file} is not trusted to start a program (${command.join(' ').slice(0, 100)})${other === null ? '' : ` in place of ${other.source === 'user' ? 'your own' : 'the built-in'} agent \`${name}\``}`
  return { why, hint: `If you know what it starts: \`reeve config trust ${dir}\`${other === null ? `, or name it: \`--agent ${name}\`` : ''}.` }
}

/** What a file of a directory took the place of, in words; null where nobody could have meant another agent. */
export async function inPlaceOf({ name, file, source }: Agent, paths: Paths): Promise<string | null> {
  if (file === null || source === 'user') return null
  const other = await agentElsewhere(name, paths)
  if (other === null || other.file === file) return null
  const dir = projectOf(file)
  return `using ${relative(dir, file)} of ${dir}, in place of ${other.source === 'user' ? 'your own' : 'the built-in'} agent${name === 'default' ? '' : ` ${name}`}`
}

/** A file that only says more of an agent that there is anyway. */
function isSame(command: readonly string[], other: readonly string[] | null): boolean {
  return other !== null && command.length === other.length && command.every((word, at) => word === other[at])
}
