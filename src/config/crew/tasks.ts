// Parses the tasks of a crew: a YAML list, or a Markdown page with one section per task. Checks that `needs` names existing tasks. Each
// error names its line. Test: test/tables/config/crew/tasks.test.ts.
import { z } from 'zod'
import { findCycle } from '../../kernel/util/graph.ts'
import { TASK_ID_PATTERN, TASK_ID_HINT, taskKey } from '../../kernel/crew/state/task-ids.ts'
import { COMMAND_KEYS, commandRule } from './shell-commands.ts'
import { problemError, type Problem } from '../problem.ts'
import { readText } from '../untrusted-files.ts'
import { fileLimitsRule, limitsRule } from '../limit-rules.ts'
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { parseYaml, issueMessage, type YamlFormat } from '../yaml.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import { TASK_ROLES, type CrewShellCommand, type TaskRole } from '../../kernel/model/crew/words.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** maximum number of tasks in one file or request */
export const MAX_NEW_TASKS = 500
const MAX_TEXT_CHARS = 100_000

export const taskIdRule = z.string().regex(TASK_ID_PATTERN, `expected an id: ${TASK_ID_HINT}`)
/** The rule for an id in a file. `#12`, as in issue trackers, becomes `12`, because a shell would treat `#12` as a comment. */
const fileId = z.preprocess(
  (id) => (typeof id === 'string' ? id.replace(/^#(?=\d)/, '') : typeof id === 'number' ? String(id) : id),
  taskIdRule,
)
const longText = z.string().trim().min(1).max(MAX_TEXT_CHARS)
/** The rule for the name of an agent or a model. */
const name = z.string().trim().min(1).max(500)
const needs = z.union([fileId.transform((id) => [id]), z.array(fileId).max(MAX_NEW_TASKS)], 'expected the id of a task, or a list of ids')
const acceptance = z.union(
  [
    longText,
    z
      .array(longText)
      .max(100)
      .transform((points) => points.map((point) => `- ${point}`).join('\n')),
  ],
  'expected a text, or a list of points',
)

/** The rule for the limits of one attempt at a task, in the units of the API. */
export const taskLimits = limitsRule.pick({ budgetUsd: true, budgetTokens: true, maxSteps: true, timeoutMs: true })
const TASK_LIMIT_KEYS: readonly string[] = ['budgetUsd', 'budgetTokens', 'maxSteps', 'timeout']
const limits = fileLimitsRule
  .refine(
    (given) => Object.keys(given).every((key) => Object.hasOwn(taskLimits.shape, key)),
    'a task has budgetUsd, budgetTokens, maxSteps and timeout, and no other limits',
  )
  .transform((given) => given as z.infer<typeof taskLimits>)

const task = z
  .strictObject({
    id: fileId.optional(),
    title: z.string().trim().min(1).max(200).optional(),
    text: longText.optional(),
    acceptance: acceptance.optional(),
    needs: needs.optional(),
    kind: z.enum(['work', 'human']).optional(),
    role: z.enum(TASK_ROLES).exclude(['generic']).optional(),
    reviews: z.boolean().optional(),
    verify: commandRule.optional(),
    priority: z.int().min(-1_000).max(1_000).optional(),
    limits: limits.optional(),
    agent: name.optional(),
    model: name.optional(),
  })
  .superRefine(({ title, text, kind, role, reviews, verify, agent, model }, context) => {
    if (title === undefined && text === undefined) context.addIssue('a task needs a text or a title')
    const [wrong] =
      kind === 'human' ? Object.entries({ role, reviews, verify, agent, model }).filter(([, value]) => value !== undefined) : []
    if (wrong) context.addIssue(`a task of kind \`human\` cannot have \`${wrong[0]}\``)
  })

type ParsedTask = z.infer<typeof task>

/** A task in a file. */
export interface FileTask {
  readonly id?: string
  /** by default the first line of the text */
  readonly title: string
  readonly text: string
  readonly acceptance?: string
  readonly needs?: readonly string[]
  readonly kind?: 'work' | 'human'
  readonly role?: Exclude<TaskRole, 'generic'>
  /** whether the task is reviewed; absent: as the crew's setting */
  readonly reviews?: boolean
  readonly verify?: CrewShellCommand | false
  /** tasks of higher priority come first; absent: 0 */
  readonly priority?: number
  readonly limits?: z.infer<typeof taskLimits>
  /** replaces the agent of the role */
  readonly agent?: string
  readonly model?: string
}

/** Returns the keys that a task, or one of its fields, can have; for suggestions. */
export function taskKeys(part: PropertyKey | undefined): readonly string[] {
  return part === 'limits' ? TASK_LIMIT_KEYS : part === 'verify' ? COMMAND_KEYS : Object.keys(task.shape)
}

export const tasksRule = z
  .array(task)
  .min(1)
  .max(MAX_NEW_TASKS)
  .superRefine((tasks, context) => {
    const [problem] = findIdProblems(tasks)
    if (problem) context.addIssue({ code: 'custom', path: problem.path, message: problem.message })
  })

/** A problem with the ids or needs of tasks. */
interface IdProblem {
  /** the index of the task */
  readonly index: number
  /** the path of the value in the list of tasks */
  readonly path: (string | number)[]
  readonly message: string
}

/** Finds duplicate ids, needs that name no task, and cycles. */
function findIdProblems(tasks: readonly ParsedTask[]): IdProblem[] {
  const ids = tasks.flatMap(({ id }) => id ?? [])
  const keys = tasks.map(({ id }) => (id === undefined ? undefined : taskKey(id)))
  const duplicate = keys.findIndex((key, index) => key !== undefined && keys.indexOf(key) < index)
  if (duplicate >= 0) {
    const [id, first] = [tasks[duplicate]?.id, tasks[keys.indexOf(keys[duplicate])]?.id]
    const message = id === first ? `the id ${id} is used twice` : `the ids ${first} and ${id} differ only in case`
    return [{ index: duplicate, path: [duplicate, 'id'], message }]
  }
  const missing = tasks.flatMap(({ needs: wanted = [] }, index) =>
    wanted
      .filter((need) => !ids.includes(need))
      .map((need): IdProblem => {
        const near = closestWord(need, ids)
        return {
          index,
          path: [index, 'needs'],
          message: `there is no task \`${need}\`${near ? `; did you mean \`${near}\`?` : ids.length > 0 ? `; there are ${ids.join(', ')}` : ', because no task has an id'}`,
        }
      }),
  )
  if (missing.length > 0) return missing
  const cycle = findCycle(tasks.map(({ id, needs: wanted = [] }, at) => ({ id: id ?? `${at} without an id`, needs: wanted })))
  if (!cycle) return []
  const index = tasks.findIndex(({ id }) => id === cycle[0])
  return [{ index, path: [index, 'needs'], message: `tasks wait for each other: ${cycle.join(' needs ')}` }]
}

/** Adds the default titles and texts to parsed tasks. */
export function toFileTasks(tasks: readonly ParsedTask[]): readonly FileTask[] {
  return tasks.map(({ title, text, ...rest }) => ({
    ...withoutUndefined(rest),
    title: title ?? firstLine(text ?? ''),
    text: text ?? title ?? '',
  }))
}

const TITLE_CHARS = 100

function firstLine(text: string): string {
  const line =
    text
      .split('\n', 1)[0]
      ?.replace(/^#+\s*/, '')
      .trim() ?? ''
  return truncate(line, TITLE_CHARS, '…')
}

const wholeFile: YamlFormat<{ tasks: ParsedTask[] }> = {
  schema: z.strictObject({ tasks: tasksRule }),
  knownKeys: (path) => (path.length === 0 ? ['tasks'] : taskKeys(path[2])),
}

/** Reads the tasks of a file. Errors: AGENT_INVALID with file and line. */
export async function readTasks(file: string): Promise<readonly FileTask[]> {
  const found = await readText(file)
  if (found === null) throw problemError({ file, line: 0, message: 'the file does not exist' })
  const parsed = /\.(md|markdown)$/i.test(file) ? parseMarkdownTasks(found.text, file) : parseYamlTasks(found.text, file)
  if (!Array.isArray(parsed)) throw problemError(parsed as Problem)
  return toFileTasks(parsed as readonly ParsedTask[])
}

/** Parses a list of tasks in YAML or JSON, or a map with such a list in `tasks`. */
function parseYamlTasks(text: string, file: string): readonly ParsedTask[] | Problem {
  const [, firstCharacter] = /^\uFEFF?(?:\s|#.*\n|---\s*\n)*([-[])/.exec(text) ?? []
  const list = text.replace(/^\uFEFF/, '').replace(/^---\s*$/m, '')
  // The text that is put around a list must not change its line numbers.
  const parsed =
    firstCharacter === '['
      ? parseYaml(`{ tasks: ${list}\n}`, wholeFile, file)
      : firstCharacter === '-'
        ? parseYaml(`tasks:\n${list}`, wholeFile, file, 0)
        : parseYaml(text, wholeFile, file)
  return parsed.ok ? parsed.value.tasks : parsed.problem
}

/** A task in a Markdown file. */
interface Section {
  /** the line of its heading, from 1 */
  readonly line: number
  readonly id: string | undefined
  readonly title: string
  readonly body: string[]
}

/**
 * Parses Markdown: `## id: Title` begins a task, lines of `key: value` directly below are its fields, and `### Acceptance` ends its text.
 */
function parseMarkdownTasks(text: string, file: string): readonly ParsedTask[] | Problem {
  const sections = splitSections(text.replace(/^\uFEFF/, ''))
  if (sections.length === 0)
    return { file, line: 1, message: 'the file has no task: each task begins with a line `## Title` or `## id: Title`' }
  const tasks: ParsedTask[] = []
  for (const section of sections) {
    const parsed = parseSection(section)
    if ('message' in parsed) return { file, ...parsed }
    tasks.push(parsed.task)
  }
  if (tasks.length > MAX_NEW_TASKS) return { file, line: 1, message: `there are ${tasks.length} tasks; at most ${MAX_NEW_TASKS}` }
  const [problem] = findIdProblems(tasks)
  return problem ? { file, line: sections[problem.index]?.line ?? 1, message: problem.message } : tasks
}

function splitSections(text: string): Section[] {
  const sections: Section[] = []
  let fence: string | null = null
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1]
    if (fence === null) fence = mark ?? null
    else if (mark?.startsWith(fence)) fence = null
    const heading = fence === null ? /^## +(?:(#?[A-Za-z0-9][A-Za-z0-9._-]{0,39}): +)?(.+?)[ #]*$/.exec(line) : null
    if (heading) sections.push({ line: index + 1, id: heading[1], title: heading[2] ?? '', body: [] })
    else sections.at(-1)?.body.push(line)
  }
  return sections
}

const FIELD = /^(needs|kind|role|reviews|priority|verify|agent|model|limits): +(.+)$/
const FIELD_PARSERS: Readonly<Record<string, (value: string) => unknown>> = {
  needs: (value) => value.split(/[,\s]+/).filter((id) => id !== ''),
  reviews: (value) => lookUp({ true: true, yes: true, false: false, no: false }, value) ?? value,
  verify: (value) => lookUp({ false: false, no: false }, value) ?? value,
  priority: (value) => (/^[+-]?\d+$/.test(value) ? Number(value) : value),
  limits: parseLimits,
}

/** Parses limits such as `budgetUsd=2, timeout=30m`. */
function parseLimits(value: string): unknown {
  const pairs = value
    .split(/[,\s]+/)
    .filter((pair) => pair !== '')
    .map((pair) => /^([A-Za-z]\w*)=(.+)$/.exec(pair))
  if (pairs.length === 0 || pairs.includes(null)) return null
  return Object.fromEntries(
    pairs.map((pair): [string, unknown] => [pair?.[1] ?? '', /^\d+(\.\d+)?$/.test(pair?.[2] ?? '') ? Number(pair?.[2]) : pair?.[2]]),
  )
}

function parseSection({
  line,
  id,
  title,
  body,
}: Section): { readonly task: ParsedTask } | { readonly line: number; readonly message: string } {
  const end = body.findIndex((each) => !FIELD.test(each))
  const count = end < 0 ? body.length : end
  const fields = body.slice(0, count).map((each): [string, unknown] => {
    const [, key = '', value = ''] = FIELD.exec(each) ?? []
    return [key, (FIELD_PARSERS[key] ?? ((text: string) => text))(value.trim())]
  })
  const textLines = body.slice(count)
  const acceptanceAt = textLines.findIndex((each) => /^### +acceptance *#*$/i.test(each))
  const [text, acceptanceText] = [
    textLines
      .slice(0, acceptanceAt < 0 ? undefined : acceptanceAt)
      .join('\n')
      .trim(),
    acceptanceAt < 0
      ? ''
      : textLines
          .slice(acceptanceAt + 1)
          .join('\n')
          .trim(),
  ]
  const result = task.safeParse({
    ...Object.fromEntries(fields),
    title,
    ...withoutUndefined({ id, text: text || undefined, acceptance: acceptanceText || undefined }),
  })
  if (result.success) return { task: result.data }
  const [issue] = result.error.issues
  const at = body.findIndex((each) => each.startsWith(`${String(issue?.path[0])}:`))
  const hasNoPairs = issue?.path.join('.') === 'limits' && fields.some(([key, value]) => key === 'limits' && value === null)
  const message = issue
    ? hasNoPairs
      ? 'limits: expected limits such as budgetUsd=2, timeout=30m'
      : issueMessage(issue, { knownKeys: ([part]) => taskKeys(part) })
    : 'not valid'
  return { line: at >= 0 && at < count ? line + 1 + at : line, message }
}
