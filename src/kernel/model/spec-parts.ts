// Parts of a process specification, such as labels, MCP servers, permissions, skills and worktrees. They are recorded in this shape: a
// field may be added, but no field may change its meaning. Test: test/properties/fold.test.ts.
import type { Uuid } from './ids.ts'
import type { CallDecision, EFFORTS, PermissionPolicy, ToolEffect } from './words.ts'

/** What the user wrote on a process, to find it again. Keys and values never change what the process does. */
export type Labels = Readonly<Record<string, string>>

/** maximum number of labels of a process */
export const MAX_LABELS = 32

/**
 * An MCP server that a native agent may use. Values of `env` and `headers` may name variables as `${NAME}` or
 * `${NAME:-default}`, resolved at the start. A null value is a secret: it is read again from `source`.
 */
export type McpServer = {
  readonly name: string
  /** the file that configures it */
  readonly source: string
  /** effect classes of tools whose calls may be repeated; all other tools are `once` */
  readonly effects?: Readonly<Record<string, ToolEffect>>
  /** time limit for starting and listing tools; default 10 s */
  readonly startMs?: number
  /** time limit without output during a call; default 120 s */
  readonly callMs?: number
  /** the user named the server at the start of the process, so even a server of an untrusted directory is used */
  readonly named?: true
  /** why its configuration cannot be used */
  readonly problem?: string
  /** settings that reeve does not support */
  readonly notes?: readonly string[]
} & (
  | {
      readonly kind: 'stdio'
      readonly argv: readonly string[]
      readonly cwd?: string
      readonly env: Readonly<Record<string, string | null>>
    }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string | null>> }
)

/** Which calls of tools are allowed, denied, or need the user's answer. */
export interface Permissions {
  /** for calls without a rule. A native agent's reads of files are then always allowed */
  readonly default: PermissionPolicy
  /** external agents: overrides by kind, title or name of a tool */
  readonly tools?: Readonly<Record<string, CallDecision>>
  /** native agents: rules such as `edit` and `bash(npm test:*)`. A denial comes first, then a question, then an approval */
  readonly allow?: readonly string[]
  readonly ask?: readonly string[]
  readonly deny?: readonly string[]
}

/** A file with instructions of a repository for agents. */
export interface InstructionFile {
  /** the real, absolute path */
  readonly path: string
  /** the path from the root of the repository */
  readonly name: string
  /** of the whole file */
  readonly sha256: string
  readonly text: string
  /** the end of the file is left out */
  readonly isCut?: boolean
}

/** The instructions of the repository in which a process began, the nearest file first. They are recorded, so they never change. */
export interface Instructions {
  readonly files: readonly InstructionFile[]
}

/** A skill that a native agent may load. The specification does not contain its text; the call that loads the skill records it. */
export interface Skill {
  readonly name: string
  readonly description: string
  /** the real, absolute path of its `SKILL.md` */
  readonly path: string
  /** the path from the root of its repository; absent: it is a skill of the user */
  readonly file?: string
  /** of the whole file, at the start of the process */
  readonly sha256: string
}

/** The planned worktree of a process, which its first start creates. */
export interface WorktreeSpec {
  /** the git directory that all worktrees of the repository share */
  readonly repository: string
  readonly dir: string
  readonly branch: string
  /** the commit that is checked out first */
  readonly base: string
  /** of a fork: the record of files that the worktree begins with */
  readonly files?: { readonly uuid: Uuid; readonly step: number; readonly commit: string }
}

/** The worktree of a process. */
export interface WorktreeFiles {
  readonly dir: string
  readonly branch: string
  readonly base: string
  /** the step of the newest record of its files; null: none yet */
  readonly recordedStep: number | null
  /** the commit of that record */
  readonly commit: string | null
}

/** A reasoning effort, in the usual terms of providers. */
export type Effort = (typeof EFFORTS)[number]

/** Which original output lines of an external agent are kept: the last ones of each turn, or all. */
export type KeepRaw = 'last' | 'all'

/**
 * The directories that a process may use, by real path, each with everything below it. An absent list means no limit
 * beyond the user's own rights. If `read` is set, every directory of `write` lies within `read`.
 */
export interface PathAccess {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}

/** The permissions of a process besides its tools. An absent capability is not limited. */
export interface Capabilities {
  readonly paths?: PathAccess
  /** the programs of the process have no network */
  readonly network?: 'off'
  /** which other processes this process may signal; absent: all its descendants */
  readonly signals?: 'none' | 'children'
  /** names of the agents that this process may start; absent: all */
  readonly spawns?: readonly string[]
}
