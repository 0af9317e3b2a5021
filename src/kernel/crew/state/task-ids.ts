// Which ids a task may have, and when two ids count as the same. Test: test/tables/config/crew/task-ids.test.ts.

const anyCasePattern = (word: string): string => [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join('')

/**
 * A task id is part of a branch name, in which git refuses `..` and the ending `.lock`. A task id must also differ from the ids of members,
 * because messages are addressed to both. Case is ignored: some file systems keep one branch for names that differ only in case.
 */
export const TASK_ID_PATTERN = new RegExp(
  `^(?!.*\\.\\.|.*\\.(?:${anyCasePattern('lock')})?$|(?:${anyCasePattern('coordinator')}|${anyCasePattern('worker')})(?:-\\d+)?$|${anyCasePattern('all')}$)[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`,
)
export const TASK_ID_HINT = 'at most 40 letters, digits, ".", "_" and "-" that are valid in a branch name, and no name of a member'

/** The key that must be unique within a crew. Some file systems keep one branch for ids that differ only in case. */
export function taskKey(id: string): string {
  return id.toLowerCase()
}
