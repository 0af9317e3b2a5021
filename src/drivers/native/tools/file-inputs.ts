// The inputs of the file tools after validation, with their defaults. Also has the format of the messages between the daemon and a worker
// thread. Test: test/tables/drivers/native/tools/file-tools.test.ts.
import type { CapabilityName } from '../../../kernel/model/facts.ts'
import type { ToolOutput } from './tool.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'
import type { NativeTool } from '../../../kernel/model/words.ts'

export interface ReadInput {
  readonly path: string
  readonly offset: number
  readonly limit?: number | undefined
}
export interface WriteInput {
  readonly path: string
  readonly content: string
}
export interface EditInput {
  readonly path: string
  readonly old_text: string
  readonly new_text: string
  readonly replace_all: boolean
}
export interface LsInput {
  readonly path: string
}
export interface GlobInput {
  readonly pattern: string
  readonly path: string
}
export interface GrepInput {
  readonly pattern: string
  readonly path: string
  readonly glob?: string | undefined
  readonly ignore_case: boolean
}

export interface SkillInput {
  readonly name: string
  /** where its `SKILL.md` may be, in order: a path relative to a directory that may contain links */
  readonly places: readonly { readonly base: string; readonly file: string }[]
  /** the hash of the file at the start of the process */
  readonly sha256: string
}

export interface FileInputs {
  readonly read: ReadInput
  readonly write: WriteInput
  readonly edit: EditInput
  readonly ls: LsInput
  readonly glob: GlobInput
  readonly grep: GrepInput
  readonly skill: SkillInput
}

export type FileToolName = Exclude<NativeTool, 'bash'>

/** The access of a call to the file system. */
export interface FileContext {
  readonly cwd: string
  /** the readable and writable paths; undefined if the user's permissions are the only limit */
  readonly paths: PathAccess | undefined
}

/** The message that starts a call in a worker. */
export interface FileCall extends FileContext {
  readonly name: FileToolName
  readonly input: FileInputs[FileToolName]
}

/** The worker's answer. `refused` is the capability that the process does not have. */
export type FileAnswer = { readonly output: string | ToolOutput } | { readonly error: string; readonly refused?: CapabilityName }
