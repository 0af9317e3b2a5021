// Looks up the lines of a task's change that reviewers and the user commented on, and quotes them. Refuses a file or a line that does not
// exist after the change; for a deleted file, before the change. Test: test/e2e/crew/diff.test.ts.
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { diffOf, fileAt } from '../../drivers/git/diff.ts'
import { GitError } from '../../drivers/git/git.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { appendLineComments } from '../../kernel/crew/text/line-comments.ts'
import type { LineComment, QuotedComment } from '../../kernel/crew/text/line-comments.ts'
import type { DiffFile } from '../../drivers/git/diff.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { CrewDiffs, ChangeRange } from './diff.ts'

/** maximum size of a file that is read, in bytes */
const MAX_FILE_BYTES = 16 * 1024 * 1024
/** maximum number of files that a hint names */
const MAX_NAMED = 10

/** Joins all comments into one text, with the commented lines quoted. Errors: INVALID for a file or line that does not exist. */
export async function quoteComments(
  diffs: CrewDiffs,
  { crew, task }: { readonly crew: Process; readonly task: string },
  comments: string,
  lines: readonly LineComment[],
): Promise<string> {
  if (lines.length === 0) return comments
  const range = await diffs.findRange(crew, task)
  // If the change cannot be compared, nothing is quoted. The author still gets file and line.
  if (typeof range === 'string')
    return appendLineComments(
      comments,
      lines.map((line) => ({ ...line, quote: null })),
    )
  return appendLineComments(comments, await diffs.withGit((git) => quoteAll(git, range, lines)))
}

async function quoteAll(git: Git, range: ChangeRange, lines: readonly LineComment[]): Promise<readonly QuotedComment[]> {
  const { files } = await diffOf(git, range.location, { ...range, maxLines: 0 })
  const quoted: QuotedComment[] = []
  for (const comment of lines) quoted.push({ ...comment, quote: await quoteOf(git, range, files, comment) })
  return quoted
}

/** The line to quote. In a deleted file, lines are counted as they were before the change. */
async function quoteOf(
  git: Git,
  { location, from, to }: ChangeRange,
  files: readonly DiffFile[],
  { file, line }: LineComment,
): Promise<string> {
  const isDeleted = files.some(({ path, change }) => path === file && change === 'deleted')
  const content = await fileAt(git, location, { commit: isDeleted ? from : to, path: file, maxBytes: MAX_FILE_BYTES }).catch(
    (error: unknown) => {
      if (error instanceof GitError) throw new KernelError('INVALID', error.message)
      throw error
    },
  )
  if (content === null)
    throw new KernelError('INVALID', `the file ${file} does not exist in this change`, undefined, missingFileHint(file, files))
  if (content.includes(0))
    throw new KernelError('INVALID', `${file} is binary: it has no lines`, undefined, 'Comment on the whole change instead.')
  const fileLines = content.toString().split('\n')
  const count = fileLines.at(-1) === '' ? fileLines.length - 1 : fileLines.length
  if (line > count)
    throw new KernelError(
      'INVALID',
      `${file} has ${count} ${count === 1 ? 'line' : 'lines'}, so there is no line ${line}`,
      undefined,
      `Lines are counted in the file as ${isDeleted ? 'it was before this change' : 'this change leaves it'}.`,
    )
  return fileLines[line - 1] ?? ''
}

function missingFileHint(file: string, files: readonly DiffFile[]): string {
  const renamedFile = files.find(({ from }) => from === file)
  if (renamedFile) return `It is ${renamedFile.path} now.`
  const paths = files.map(({ path }) => path)
  const similarPath = paths.find((path) => path.endsWith(`/${file}`)) ?? closestWord(file, paths)
  if (similarPath !== undefined) return `Did you mean ${similarPath}?`
  return `The change has ${paths.slice(0, MAX_NAMED).join(', ')}${paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : ''}.`
}
