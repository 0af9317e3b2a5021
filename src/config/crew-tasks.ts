// The tasks of a crew as people write them: a list in YAML, or a Markdown page with a section for each. Owns their shape and
// that each names others that are there; that a mistake is told with its line. Test: test/tables/config-crew-tasks.test.ts.
import { z } from 'zod'
import { cycleIn } from '../crew/graph.ts'
import { TASK_ID } from '../crew/tasks.ts'
import { problemError, readText, type Problem } from './files.ts'
import { issueWords } from './issues.ts'
import { nearest } from './nearest.ts'
import { defined } from './restart.ts'
import { parseYaml, type Format } from './yaml.ts'

/** tasks of one crew's file */
const MAX_TASKS = 500
const MAX_TEXT = 100_000

export const taskIdRule = z.string().regex(TASK_ID, 'expected an id of up to 40 small letters, digits, dots, dashes and underscores, as the name of a branch may have them, and no name of a member')
const words = z.string().trim().min(1).max(MAX_TEXT)
const needs = z.union([taskIdRule.transform((one) => [one]), z.array(taskIdRule).max(MAX_TASKS)], 'expected the id of a task, or a list of ids')
const acceptance = z.union([words, z.array(words).max(100).transform((points) => points.map((point) => `- ${point}`).join('\n'))], 'expected a text, or a list of points')

const task = z.strictObject({
  id: taskIdRule.optional(),
  title: z.string().trim().min(1).max(200).optional(),
  text: words.optional(),
  acceptance: acceptance.optional(),
  needs: needs.optional(),
  kind: z.enum(['work', 'human']).optional(),
  role: z.enum(['implementer', 'researcher']).optional(),
  reviews: z.boolean().optional(),
}).superRefine(({ title, text, kind, role, reviews }, context) => {
  if (title === undefined && text === undefined) context.addIssue('it says nothing: give it a text, or a title')
  if (kind === 'human' && (role !== undefined || reviews !== undefined)) context.addIssue(`a task for a person has no ${role === undefined ? 'reviews' : 'role'}`)
})

type Said = z.infer<typeof task>

/** As it is given to a crew. `title` is the first line of the text where nobody gave one. */
export interface TaskFile {
  readonly id?: string
  readonly title: string
  readonly text: string
  readonly acceptance?: string
  readonly needs?: readonly string[]
  readonly kind?: 'work' | 'human'
  readonly role?: 'implementer' | 'researcher'
  readonly reviews?: boolean
}

export const TASK_KEYS = Object.keys(task.shape)

export const tasksRule = z.array(task).min(1).max(MAX_TASKS).superRefine((tasks, context) => {
  const [wrong] = wrongNames(tasks)
  if (wrong) context.addIssue({ code: 'custom', path: wrong.path, message: wrong.message })
})

interface Wrong {
  readonly at: number
  readonly path: (string | number)[]
  readonly message: string
}

/** Ids that are there twice, needs that name nobody, and tasks that wait for each other. */
function wrongNames(tasks: readonly Said[]): Wrong[] {
  const ids = tasks.flatMap(({ id }) => id ?? [])
  const twice = tasks.findIndex(({ id }, index) => id !== undefined && tasks.findIndex((other) => other.id === id) < index)
  if (twice >= 0) return [{ at: twice, path: [twice, 'id'], message: `the id ${tasks[twice]?.id} is there twice` }]
  const missing = tasks.flatMap(({ needs: wanted = [] }, at) => wanted.filter((need) => !ids.includes(need)).map((need): Wrong => {
    const near = nearest(need, ids)
    return { at, path: [at, 'needs'], message: `there is no task \`${need}\`${near ? `; did you mean \`${near}\`?` : ids.length > 0 ? `; there are ${ids.join(', ')}` : ', as none has an id'}` }
  }))
  if (missing.length > 0) return missing
  const cycle = cycleIn(tasks.map(({ id, needs: wanted = [] }, index) => ({ id: id ?? `${index} without an id`, needs: wanted })))
  if (!cycle) return []
  const at = tasks.findIndex(({ id }) => id === cycle[0])
  return [{ at, path: [at, 'needs'], message: `tasks wait for each other: ${cycle.join(' needs ')}` }]
}

/** What was said, with what follows from it. */
export function taskFiles(tasks: readonly Said[]): readonly TaskFile[] {
  return tasks.map(({ title, text, ...rest }) => ({ ...defined(rest), title: title ?? firstLine(text ?? ''), text: text ?? title ?? '' }))
}

const TITLE_CHARS = 100

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0]?.replace(/^#+\s*/, '').trim() ?? ''
  return line.length <= TITLE_CHARS ? line : `${line.slice(0, TITLE_CHARS - 1).toWellFormed()}…`
}

const wholeFile: Format<{ tasks: Said[] }> = { schema: z.strictObject({ tasks: tasksRule }), known: (path) => (path.length === 0 ? ['tasks'] : TASK_KEYS) }

/** Errors: AGENT_INVALID with file and line. */
export async function readTasks(file: string): Promise<readonly TaskFile[]> {
  const found = await readText(file)
  if (found === null) throw problemError({ file, line: 0, message: 'it is not there' })
  const parsed = /\.(md|markdown)$/i.test(file) ? markdownTasks(found.text, file) : yamlTasks(found.text, file)
  if (!Array.isArray(parsed)) throw problemError(parsed as Problem)
  return taskFiles(parsed as readonly Said[])
}

/** A list, or a map whose `tasks` is one. */
function yamlTasks(text: string, file: string): readonly Said[] | Problem {
  const isList = /^(\s|#.*\n|---\s*\n)*[-[]/.test(text)
  const parsed = parseYaml(isList ? `tasks:\n${text.replace(/^---\s*$/m, '')}` : text, wholeFile, file, isList ? 0 : 1)
  if (!parsed.ok) return parsed.problem
  return parsed.value.tasks
}

interface Section {
  readonly line: number
  readonly id: string | undefined
  readonly title: string
  readonly body: string[]
}

/** `## id: Title` begins a task; lines of `key: value` directly below it are its fields, and `### Acceptance` ends its text. */
function markdownTasks(text: string, file: string): readonly Said[] | Problem {
  const sections = sectionsOf(text.replace(/^\uFEFF/, ''))
  if (sections.length === 0) return { file, line: 1, message: 'there is no task in it: each begins with a line `## Title`, or `## id: Title`' }
  const tasks: Said[] = []
  for (const section of sections) {
    const read = taskOf(section)
    if ('message' in read) return { file, ...read }
    tasks.push(read.task)
  }
  if (tasks.length > MAX_TASKS) return { file, line: 1, message: `there are ${tasks.length} tasks; at most ${MAX_TASKS}` }
  const [wrong] = wrongNames(tasks)
  return wrong ? { file, line: sections[wrong.at]?.line ?? 1, message: wrong.message } : tasks
}

function sectionsOf(text: string): Section[] {
  const sections: Section[] = []
  let fence: string | null = null
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1]
    if (fence === null) fence = mark ?? null
    else if (mark?.startsWith(fence)) fence = null
    const heading = fence === null ? /^## +(?:([a-z0-9][a-z0-9._-]{0,39}): +)?(.+?)[ #]*$/.exec(line) : null
    if (heading) sections.push({ line: index + 1, id: heading[1], title: heading[2] ?? '', body: [] })
    else sections.at(-1)?.body.push(line)
  }
  return sections
}

const FIELD = /^(needs|kind|role|reviews): +(.+)$/
const WORDS: Readonly<Record<string, (value: string) => unknown>> = { needs: (value) => value.split(/[,\s]+/).filter((one) => one !== ''), reviews: (value) => ({ true: true, yes: true, false: false, no: false })[value] ?? value }

function taskOf({ line, id, title, body }: Section): { readonly task: Said } | { readonly line: number; readonly message: string } {
  const end = body.findIndex((each) => !FIELD.test(each))
  const count = end < 0 ? body.length : end
  const fields = body.slice(0, count).map((each): [string, unknown] => {
    const [, key = '', value = ''] = FIELD.exec(each) ?? []
    return [key, (WORDS[key] ?? ((one: string) => one))(value.trim())]
  })
  const rest = body.slice(count)
  const split = rest.findIndex((each) => /^### +acceptance *#*$/i.test(each))
  const [said, accepted] = [rest.slice(0, split < 0 ? undefined : split).join('\n').trim(), split < 0 ? '' : rest.slice(split + 1).join('\n').trim()]
  const result = task.safeParse({ ...Object.fromEntries(fields), title, ...defined({ id, text: said || undefined, acceptance: accepted || undefined }) })
  if (result.success) return { task: result.data }
  const [issue] = result.error.issues
  const at = body.findIndex((each) => each.startsWith(`${String(issue?.path[0])}:`))
  return { line: at >= 0 && at < count ? line + 1 + at : line, message: `${issue?.path[0] === undefined ? '' : `${String(issue.path[0])}: `}${issue ? issueWords(issue) : 'not valid'}` }
}
