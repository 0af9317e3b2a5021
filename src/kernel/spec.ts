// Parts of what is asked for at a spawn, and what came of them: MCP servers, permissions, a worktree.
// Owns their recorded shape: a field may be added, none may change its meaning. Test: test/properties/fold.test.ts.
import type { ToolEffect, Uuid } from './types.ts'

/**
 * An MCP server that a native agent may use. Values of `env` and `headers` may name variables as `${NAME}` or
 * `${NAME:-default}`, which are filled in at the start; null is a secret that stands in `source` and is read again there.
 */
export type McpServer = {
  readonly name: string
  /** the file that configures it */
  readonly source: string
  /** effect classes of tools whose calls may be repeated; all others are `once` */
  readonly effects?: Readonly<Record<string, ToolEffect>>
  /** how long it may take to start and to list its tools; default 10 s */
  readonly startMs?: number
  /** how long a call may go without a word from the server; default 120 s */
  readonly callMs?: number
  /** a person named it when the process was started, so it is used wherever it is configured */
  readonly named?: true
  /** why it cannot be used, as far as its configuration alone says */
  readonly problem?: string
  /** what its configuration says and reeve does not do */
  readonly notes?: readonly string[]
} & (
  | { readonly kind: 'stdio'; readonly argv: readonly string[]; readonly cwd?: string; readonly env: Readonly<Record<string, string | null>> }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string | null>> }
)

type Permission = 'ask' | 'allow' | 'deny'

/** What an agent of others may do without asking a person. `tools`: by the kind, the title or the name of a tool. */
export interface Permissions {
  readonly default: Permission
  readonly tools?: Readonly<Record<string, Permission>>
}

/** Where a worktree is to be, before it is made: at the first start of its process. */
export interface WorktreeSpec {
  /** the git directory that all worktrees of the repository share */
  readonly repository: string
  readonly dir: string
  readonly branch: string
  /** the commit that it begins at */
  readonly base: string
  /** of a fork: the record whose files it begins with */
  readonly files?: { readonly uuid: Uuid; readonly step: number; readonly commit: string }
}

/** The worktree that a process has, and the newest record of its files. */
export interface Files {
  readonly dir: string
  readonly branch: string
  readonly base: string
  /** null: nothing is recorded yet */
  readonly recordedStep: number | null
  readonly commit: string | null
}
