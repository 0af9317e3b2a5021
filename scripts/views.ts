// Makes src/api/views: the types of the API from the zod schemas of the daemon, so that each view is written once. Types inferred from
// schemas would bring zod to the users of the library, and would lose the comments of fields. `npm run docs` writes the files.
// Test: test/tables/docs/views.test.ts.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { limitsRule } from '../src/config/limit-rules.ts'
import { batchBody } from '../src/daemon/http/batch-route.ts'
import { COMPOSE_BODIES } from '../src/daemon/http/compose/routes.ts'
import { CREW_COMMAND_BODIES } from '../src/daemon/http/crew/command-route.ts'
import { CREW_UP_BODIES } from '../src/daemon/http/crew/schemas.ts'
import { AGENT_TYPES } from '../src/daemon/http/responses/agents.ts'
import { ARCHIVE_TYPES } from '../src/daemon/http/responses/archive.ts'
import { BATCH_TYPES } from '../src/daemon/http/responses/batch.ts'
import { COMPOSE_TYPES } from '../src/daemon/http/responses/compose.ts'
import { CONTEXT_TYPES } from '../src/daemon/http/responses/context.ts'
import { CREW_DIFF_TYPES } from '../src/daemon/http/responses/crew/diff.ts'
import { CREW_REPORT_TYPES } from '../src/daemon/http/responses/crew/report.ts'
import { CREW_UP_TYPES } from '../src/daemon/http/responses/crew/up.ts'
import { CREW_TYPES } from '../src/daemon/http/responses/crew/crew.ts'
import { DAEMON_TYPES } from '../src/daemon/http/responses/daemon.ts'
import { DIFF_TYPES } from '../src/daemon/http/responses/diff.ts'
import { GC_TYPES } from '../src/daemon/http/responses/gc.ts'
import { HEARTBEAT_TYPES } from '../src/daemon/http/responses/heartbeat.ts'
import { LINEAGE_TYPES } from '../src/daemon/http/responses/lineage.ts'
import { MCP_TYPES } from '../src/daemon/http/responses/mcp.ts'
import { PLACE_TYPES } from '../src/daemon/http/responses/places.ts'
import { PROCESS_TYPES } from '../src/daemon/http/responses/process.ts'
import { RESUME_TYPES } from '../src/daemon/http/responses/resume.ts'
import { ROLE_TYPES } from '../src/daemon/http/responses/crew/roles.ts'
import { NEED_TYPES } from '../src/daemon/http/responses/needs.ts'
import { ROW_TYPES } from '../src/daemon/http/responses/rows.ts'
import { SEARCH_TYPES } from '../src/daemon/http/responses/search.ts'
import { STAKES_TYPES } from '../src/daemon/http/responses/stakes.ts'
import { SPAN_TYPES } from '../src/daemon/http/responses/spans.ts'
import { STEP_TYPES } from '../src/daemon/http/responses/steps.ts'
import { USAGE_TYPES } from '../src/daemon/http/responses/usage.ts'
import { WEB_TYPES } from '../src/daemon/http/responses/web.ts'
import { WEB_BODIES } from '../src/daemon/http/web-routes.ts'
import {
  commitBody,
  dirBody,
  doctorModelsBody,
  modelsBody,
  pinBody,
  PROCESS_BODIES,
  mcpClientBody,
  snoozeBody,
} from '../src/daemon/http/schemas.ts'
import { outboxRecord } from '../src/daemon/mcp/outbox.ts'
import * as crewWords from '../src/kernel/model/crew/words.ts'
import { ERRORS } from '../src/kernel/model/errors.ts'
import * as signals from '../src/kernel/model/signals.ts'
import * as words from '../src/kernel/model/words.ts'
import { GC_RULES } from '../src/kernel/state/gc-selection.ts'

interface View {
  readonly about: string
  readonly test: string
  readonly types: Readonly<Record<string, z.ZodType>>
}

const VIEWS: Readonly<Record<string, View>> = {
  agents: {
    about: 'the available agents, the sources of their keys, and the directories in which agents were started.',
    test: 'e2e/external/agents-usable',
    types: { ...AGENT_TYPES, ...PLACE_TYPES },
  },
  archive: {
    about: 'export and import.',
    test: 'e2e/daemon/archive',
    types: { DirBody: dirBody, ...ARCHIVE_TYPES },
  },
  batch: {
    about: 'one action on many processes.',
    test: 'e2e/daemon/batch',
    types: { BatchBody: batchBody, ...BATCH_TYPES },
  },
  needs: { about: 'what waits for the user, and its evidence.', test: 'e2e/lifecycle/needs', types: NEED_TYPES },
  compose: { about: 'runs of compose files.', test: 'e2e/compose/compose', types: { ...COMPOSE_TYPES, ...COMPOSE_BODIES } },
  context: { about: 'what the model of a process sees now.', test: 'e2e/models/context-view', types: CONTEXT_TYPES },
  diff: {
    about: 'changed files, what a process changed in its worktree, and its merge.',
    test: 'e2e/worktree/diff',
    types: { ...DIFF_TYPES, CommitBody: commitBody },
  },
  'crew-diff': { about: 'the change of a task.', test: 'e2e/crew/diff', types: CREW_DIFF_TYPES },
  'crew-report': {
    about: 'the report of a crew.',
    test: 'e2e/crew/report',
    types: CREW_REPORT_TYPES,
  },
  'crew-up': {
    about: 'the start of a crew, its plan, and the roles of crews.',
    test: 'e2e/crew/up',
    types: { ...CREW_UP_BODIES, ...CREW_UP_TYPES, ...ROLE_TYPES },
  },
  crew: {
    about: 'a crew, its members, its tasks, and the commands of the user.',
    test: 'e2e/crew/crew',
    types: { ...CREW_TYPES, ...CREW_COMMAND_BODIES },
  },
  daemon: {
    about: 'the daemon, its checks, its events and its errors.',
    test: 'e2e/daemon/api',
    types: { ...DAEMON_TYPES, DoctorModelsBody: doctorModelsBody, ModelsBody: modelsBody },
  },
  gc: { about: 'the collection of ended processes.', test: 'e2e/daemon/gc', types: GC_TYPES },
  heartbeat: {
    about: 'the liveness of each living process, what it waits for, and what it does.',
    test: 'e2e/lifecycle/liveness',
    types: HEARTBEAT_TYPES,
  },
  mcp: {
    about: 'what `reeve mcp` and the daemon exchange besides MCP.',
    test: 'e2e/mcp/bridge',
    types: { McpSessionBody: mcpClientBody, ...MCP_TYPES, OutboxRecord: outboxRecord },
  },
  process: {
    about: 'processes, and the requests that start and steer them.',
    test: 'e2e/daemon/api',
    types: { ...PROCESS_TYPES, ...PROCESS_BODIES, PinBody: pinBody, SnoozeBody: snoozeBody },
  },
  resume: { about: 'resumable processes.', test: 'e2e/cli/resume', types: RESUME_TYPES },
  lineage: { about: 'trees of forks, and two processes compared.', test: 'e2e/lifecycle/compare', types: LINEAGE_TYPES },
  rows: { about: 'the rows that all faces share.', test: 'e2e/rows/rows', types: ROW_TYPES },
  search: { about: 'a search in transcripts.', test: 'e2e/daemon/search', types: SEARCH_TYPES },
  steps: { about: 'steps as columns, and one step with all its details.', test: 'e2e/library/steps', types: STEP_TYPES },
  stakes: { about: 'what an action would cost.', test: 'e2e/lifecycle/stakes', types: STAKES_TYPES },
  web: { about: 'the links and sessions of the page.', test: 'e2e/web/access/listener', types: { ...WEB_BODIES, ...WEB_TYPES } },
  spans: { about: 'the times in which processes had a status.', test: 'e2e/daemon/spans', types: SPAN_TYPES },
  usage: { about: 'the usage of all processes.', test: 'e2e/limits/usage', types: USAGE_TYPES },
}

/** The word lists that have a named type, by its name. */
const LISTS: Readonly<Record<string, { readonly from: string; readonly words: readonly string[] }>> = {
  ...listsOf('model/words', {
    DriverName: words.DRIVERS,
    ContainmentKind: words.CONTAINMENT_KINDS,
    LimitAction: words.LIMIT_ACTIONS,
    OutputFormat: words.OUTPUT_FORMATS,
    HoldReason: words.HOLD_REASONS,
    Signal: words.SIGNALS,
    Handler: words.HANDLERS,
    Activity: words.ACTIVITIES,
    LivenessWord: words.LIVENESS_WORDS,
    LivenessPolicy: words.LIVENESS_POLICIES,
    LimitName: words.LIMIT_NAMES,
    PermissionPolicy: words.PERMISSION_POLICIES,
    GatewayMode: words.GATEWAY_MODES,
    SignalScope: words.SIGNAL_SCOPES,
    WebRight: words.WEB_RIGHTS,
  }),
  ...listsOf('model/status', { Status: words.STATUSES }),
  ...listsOf('model/spec-parts', { Effort: words.EFFORTS }),
  ...listsOf('model/supervision', {
    RestartWord: words.RESTART_WORDS,
    RestartType: words.RESTART_TYPES,
    Strategy: words.STRATEGIES,
    OnComplete: words.ON_COMPLETE,
  }),
  ...listsOf('model/crew/words', {
    WorkerRole: crewWords.WORKER_ROLES,
    TaskRole: crewWords.TASK_ROLES,
    Role: crewWords.ROLES,
    Phase: crewWords.PHASES,
    TaskState: crewWords.TASK_STATES,
    CommitGate: crewWords.COMMIT_GATES,
    ReviewVerdict: crewWords.REVIEW_VERDICTS,
    CrewOutcome: crewWords.CREW_OUTCOMES,
    AskedFor: crewWords.ASKED_FOR,
    Leave: crewWords.LEAVES,
  }),
  ...listsOf('model/signals', { Disposition: signals.DISPOSITIONS }),
  ...listsOf('state/gc-selection', { GcRule: GC_RULES }),
  ...listsOf('model/errors', { ErrorCode: Object.keys(ERRORS) }),
}

function listsOf(file: string, lists: Readonly<Record<string, readonly string[]>>): typeof LISTS {
  return Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, { from: `../../kernel/${file}.ts`, words: all }]))
}

const WIDTH = 140

/** The name of a type and the file that exports it, by its schema. */
const NAMES = new Map<unknown, { readonly name: string; readonly from: string }>([
  [limitsRule, { name: 'Limits', from: '../../kernel/model/words.ts' }],
  ...Object.entries(VIEWS).flatMap(([file, { types }]) =>
    Object.entries(types).map(([name, schema]) => [schema, { name, from: `./${file}.ts` }] as const),
  ),
])

/** The files by their names, as oxfmt formats them. */
export function viewFiles(): Readonly<Record<string, string>> {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-views-'))
  try {
    for (const [file, view] of Object.entries(VIEWS)) writeFileSync(join(dir, `${file}.ts`), new Printer(file).file(view))
    const args = ['node_modules/oxfmt/bin/oxfmt', '--config', '.oxfmtrc.json', dir]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: join(import.meta.dirname, '..'), encoding: 'utf8' })
    if (status !== 0) throw new Error(`oxfmt failed: ${stderr}`)
    return Object.fromEntries(globSync(join(dir, '*.ts')).map((path) => [basename(path), readFileSync(path, 'utf8')]))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Prints the types of one file, and remembers what they import. */
class Printer {
  readonly #file: string
  readonly #imports = new Map<string, Set<string>>()

  constructor(file: string) {
    this.#file = `./${file}.ts`
  }

  file({ about, test, types }: View): string {
    const printed = Object.entries(types).map(([name, schema]) => this.#declaration(name, schema))
    const imports = [...this.#imports]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([from, names]) => `import type { ${[...names].toSorted().join(', ')} } from '${from}'\n`)
    const header = `The JSON of the API: ${about} Made by \`npm run docs\` from the schemas of the daemon (scripts/views.ts): do not edit. Test: test/${test}.test.ts.`
    return `${wrap(header, WIDTH - 3)
      .map((line) => `// ${line}\n`)
      .join('')}${imports.join('')}\n${printed.join('\n')}`
  }

  #declaration(name: string, schema: z.ZodType): string {
    const type = this.#structure(schema, '')
    return `${doc(schema.description, '')}export ${schema instanceof z.ZodObject ? `interface ${name} ` : `type ${name} = `}${type}\n`
  }

  /** A name if the schema has one, else its structure. */
  #type(schema: z.ZodType, indent: string): string {
    const typeName = namedOf(schema)
    return typeName ? this.#import(typeName.name, typeName.from) : this.#structure(schema, indent)
  }

  #import(name: string, from: string): string {
    if (from !== this.#file) this.#imports.set(from, (this.#imports.get(from) ?? new Set()).add(name))
    return name
  }

  #structure(schema: z.ZodType, indent: string): string {
    if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat) return 'string'
    if (schema instanceof z.ZodNumber) return 'number'
    if (schema instanceof z.ZodBoolean) return 'boolean'
    if (schema instanceof z.ZodUnknown) return 'unknown'
    if (schema instanceof z.ZodLiteral) return literals([...schema.values].map(String), schema)
    if (schema instanceof z.ZodEnum) return this.#words(schema.options.map(String))
    if (schema instanceof z.ZodNullable) return `${this.#type(inner(schema), indent)} | null`
    if (schema instanceof z.ZodArray) return arrayOf(this.#type(schema.element as z.ZodType, indent))
    if (schema instanceof z.ZodUnion) return schema.options.map((one) => this.#type(one as z.ZodType, indent)).join(' | ')
    if (schema instanceof z.ZodRecord) return this.#record(schema, indent)
    if (schema instanceof z.ZodObject) return this.#object(schema, indent)
    throw new Error(`no type is printed for a schema of the kind ${schema.type}`)
  }

  /** Returns the type that fits the words: the name of a list, and the words that the list lacks. */
  #words(options: readonly string[]): string {
    const [name, list] =
      Object.entries(LISTS)
        .filter(([, { words: all }]) => all.length > options.length / 2 && all.every((word) => options.includes(word)))
        .toSorted(([, one], [, other]) => other.words.length - one.words.length)[0] ?? []
    if (!name || !list) return quoted(options)
    const rest = options.filter((word) => !list.words.includes(word))
    return [this.#import(name, list.from), ...(rest.length > 0 ? [quoted(rest)] : [])].join(' | ')
  }

  #record(schema: z.ZodRecord, indent: string): string {
    const record = `Record<${this.#type(schema.keyType as z.ZodType, indent)}, ${this.#type(schema.valueType as z.ZodType, indent)}>`
    return schema.def.partial ? `Partial<${record}>` : record
  }

  #object(schema: z.ZodObject, indent: string): string {
    const innerIndent = `${indent}  `
    const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([key, field]) => {
      const isOptional = field instanceof z.ZodExactOptional
      const type = this.#type(isOptional ? inner(field) : field, innerIndent)
      return { comment: doc(commentOf(field), innerIndent), field: `${key}${isOptional ? '?' : ''}: ${type}` }
    })
    const isOpen = schema.def.catchall instanceof z.ZodUnknown
    if (isOpen) fields.push({ comment: '', field: '[field: string]: unknown' })
    const line = `{ ${fields.map(({ field }) => field).join('; ')} }`
    if (indent !== '' && fields.every(({ comment, field }) => comment === '' && !field.includes('\n')) && line.length < WIDTH / 2)
      return line
    return `{\n${fields.map(({ comment, field }) => `${comment}${innerIndent}${field}\n`).join('')}${indent}}`
  }
}

function inner(schema: z.ZodNullable | z.ZodExactOptional): z.ZodType {
  return schema.unwrap() as z.ZodType
}

/** The name of a schema. A copy that only adds a description has the same name. */
function namedOf(schema: z.ZodType): { readonly name: string; readonly from: string } | undefined {
  const { parent } = schema._zod
  return NAMES.get(schema) ?? (parent && NAMES.get(parent))
}

/** The comment of a field. A named type has its own. */
function commentOf(schema: z.ZodType): string | undefined {
  if (NAMES.has(schema)) return undefined
  if (schema.description !== undefined) return schema.description
  return schema instanceof z.ZodNullable || schema instanceof z.ZodExactOptional ? commentOf(inner(schema)) : undefined
}

function arrayOf(type: string): string {
  return / \| /.test(type.replaceAll(/\{[^]*\}/g, '')) ? `(${type})[]` : `${type}[]`
}

function literals(values: readonly string[], schema: z.ZodLiteral): string {
  return [...schema.values].every((value) => typeof value === 'string') ? quoted(values) : values.join(' | ')
}

function quoted(all: readonly string[]): string {
  return all.map((word) => `'${word}'`).join(' | ')
}

function doc(text: string | undefined, indent: string): string {
  if (text === undefined) return ''
  const line = `${indent}/** ${text} */`
  if (line.length <= WIDTH) return `${line}\n`
  return [`${indent}/**`, ...wrap(text, WIDTH - indent.length - 3).map((each) => `${indent} * ${each}`), `${indent} */\n`].join('\n')
}

function wrap(text: string, width: number): string[] {
  return text.split(' ').reduce<string[]>((lines, word) => {
    const lastLine = lines.at(-1)
    return lastLine === undefined || lastLine.length + word.length >= width
      ? [...lines, word]
      : [...lines.slice(0, -1), `${lastLine} ${word}`]
  }, [])
}

if (import.meta.main) {
  const dir = join(import.meta.dirname, '../src/api/views')
  for (const [name, text] of Object.entries(viewFiles())) writeFileSync(join(dir, name), text)
}
