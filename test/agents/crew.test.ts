// Crews of real coding agents: as workers and as coordinator, by ACP and as programs that answer once and exit, on a real
// repository. The same scripts as in test/processes/crew/crew.test.ts play the models. Tasks end in commits on the
// crew's branch, and their cost equals the usage that the model server sent.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installed } from '../../scripts/agents.ts'
import type { CrewUpView } from '../../src/api/views/crew-up.ts'
import type { CrewReportView, ReportUsageView } from '../../src/api/views/crew-report.ts'
import type { CrewView } from '../../src/api/views/crew.ts'
import { crewReportText } from '../../src/cli/print/crew-report.ts'
import { taskOf } from '../support/crew/home.ts'
import { DaemonHome } from '../support/daemon/daemon.ts'
import { ROOT, testEnv } from '../support/env.ts'
import { modelServer, type ModelServer, type ServedRequest } from '../support/models/model-server.ts'
import { Repository } from '../support/crew/repository.ts'
import { poll, type Kind } from './bench.ts'
import { andNewest, GATED, KINDS } from './kinds.ts'
import { aside, isQuestion, isSuggestion, withId } from './model.ts'
import { readScript, scripted, type ToTool } from './scripted.ts'

const CREW_MS = 600_000
/** Ten tasks, some of which wait for others. */
const LONG_MS = 1_200_000
const [claude, codex, claudeOnce, codexOnce] = ['claude by ACP', 'codex by ACP', 'claude -p', 'codex exec'].map((name) =>
  KINDS.find((kind) => kind.name === name),
)
const SCRIPTS = join(ROOT, 'test/support/crew-scripts')
const worker = await readScript(join(SCRIPTS, 'worker.yaml'))
const coordinator = await readScript(join(SCRIPTS, 'coordinator.yaml'))
/** The usage of requests beside the work. */
const ASIDE = { input: 1, output: 1 }
/** The usage of each answer of `scripted`. */
const WORK = { input: 100, output: 7 }
const TASKS = [taskOf('one'), taskOf('two', [], true), taskOf('three', ['one', 'two'])]

/** The user's agents. Their command lines limit their permissions. */
const AGENT_FILES = {
  'claude-once': ['claude', '-p', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'],
  'codex-once': ['codex', 'exec', '--json'],
}

let open: AsyncDisposableStack | undefined
afterEach(() => open?.disposeAsync())

const toolOf =
  ({ hands }: Asker): ToTool =>
  (name, input) => {
    const own = /^mcp__reeve__(.+)$/.exec(name)?.[1]
    if (own !== undefined && hands.own) return hands.own(own, { ...input })
    return hands.shell(String(input['command']))
  }

type Asker = Pick<Kind, 'needs' | 'hands'>

/** Finds the agent by the format of its provider. */
function askerOf(kinds: readonly Asker[], path: string): Asker | undefined {
  const name = path.includes('/responses')
    ? 'codex'
    : path.includes('/messages')
      ? 'claude'
      : path.includes('enerateContent')
        ? 'gemini'
        : 'opencode'
  return kinds.find(({ needs }) => needs.startsWith(name))
}

interface Model extends ModelServer {
  /** the tokens of all answers */
  readonly sent: { input: number; output: number }
}

/** Starts one server for all agents. */
async function serve(kinds: readonly Asker[]): Promise<Model> {
  let count = 0
  const sent = { input: 0, output: 0 }
  const server = await modelServer((request: ServedRequest) => {
    const { path, body } = request
    const kind = askerOf(kinds, path)
    const script = JSON.stringify(body).includes('You are the coordinator of a crew') ? coordinator : worker
    const answer = toolCount(body) > 1 && !isSuggestion(body) && kind ? scripted(script, body, toolOf(kind)) : null
    const used = answer?.usage ?? ASIDE
    if (isQuestion(request)) for (const name of ['input', 'output'] as const) sent[name] += used[name]
    return answer === null ? aside(request, ASIDE) : withId(answer, request, (count += 1))
  })
  return Object.defineProperty(server, 'sent', { value: sent }) as Model
}

function toolCount({ tools }: ServedRequest['body']): number {
  const all = (Array.isArray(tools) ? tools : []) as readonly { readonly functionDeclarations?: readonly unknown[] }[]
  return all.reduce((sum, { functionDeclarations: of }) => sum + (of?.length ?? 1), 0)
}

interface Worked {
  readonly view: CrewView
  readonly report: CrewReportView
  /** model calls, as the gateway or the agent reported them */
  readonly calls: readonly Partial<ReportUsageView>[]
  /** notes that a member did not get reeve's tools */
  readonly toolless: readonly unknown[]
  readonly repository: Repository
  readonly sent: Model['sent']
}

/** Runs the crew to its end. */
async function work(
  kinds: readonly Kind[],
  definition: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Worked> {
  const stack = (open = new AsyncDisposableStack())
  const home = stack.use(await DaemonHome.make('bundle'))
  const server = stack.use(await serve(kinds))
  const person = join(home.work, 'person')
  mkdirSync(person)
  const programs = kinds.flatMap(({ needs, program }) => program ?? installed(needs) ?? []).map((program) => join(program, '..'))
  const env: Record<string, string> = { ...testEnv(person), PATH: [...programs, testEnv(person)['PATH']].join(delimiter) }
  for (const kind of kinds) Object.assign(env, kind.env(server.url, person))
  delete env['REEVE_HOME']
  delete env['TMPDIR']
  const repository = Repository.make(join(home.work, 'project'), person)
  repository.git('config', 'user.name', 'P')
  repository.git('config', 'user.email', 'p@example.org')
  repository.commit({ 'README.md': '# a project\n', ...files }, 'begin')
  const file = join(home.work, 'reeve.yaml')
  writeFileSync(file, JSON.stringify({ crews: { team: { permissions: 'allow', tasks: TASKS, ...definition } } }))
  mkdirSync(home.path, { recursive: true, mode: 0o700 })
  writeFileSync(home.where.configFile, kinds.map(({ config }) => config?.(server.url) ?? '').join(''))
  mkdirSync(home.where.agentsDir, { recursive: true, mode: 0o700 })
  for (const [name, command] of Object.entries(AGENT_FILES))
    writeFileSync(join(home.where.agentsDir, `${name}.md`), `---\ndriver: command\ncommand: ${JSON.stringify(command)}\n---\n`)
  await home.start()
  const {
    process: { uuid },
  } = await home.client.post<CrewUpView>('/v1/crews', { cwd: repository.dir, crew: 'team', file, env })
  let seen = ''
  const view = await poll(
    async () => {
      const { crew } = await home.client.get<{ crew: CrewView }>(`/v1/crews/${uuid}`)
      seen = JSON.stringify({
        tasks: crew.tasks.map(({ id, state, reason }) => ({ id, state, reason })),
        members: crew.members.map(({ id, phase, status, note }) => ({ id, phase, status, note })),
        waitsFor: crew.waitsFor,
      })
      return crew.exitedAt === null ? null : crew
    },
    'the crew has ended',
    LONG_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${seen}\n${home.log().slice(-2_000)}`)
  })
  const report = await home.client.get<CrewReportView>(`/v1/crews/${uuid}/report`)
  const events = await home.events()
  const toolless = events.flatMap(({ text }) => (String(text).includes("reeve's own tools") ? [text] : []))
  const calls = events.filter((event) => event['fact'] === 'call.finished').map((event) => event['usage'] as Partial<ReportUsageView>)
  await home.stop()
  await home.nothingLeft()
  return { view, report, calls, toolless, repository, sent: server.sent }
}

/** `commitsItself`: otherwise reeve commits, with the task's title. */
function isDone({ view, repository }: Worked, commitsItself: boolean): void {
  expect(
    view.tasks.map(({ id, state, denials, reviewer, implementer }) => [id, state, denials, reviewer !== null && reviewer !== implementer]),
  ).toEqual([
    ['one', 'done', 0, true],
    ['two', 'done', 1, true],
    ['three', 'done', 0, true],
  ])
  for (const { id } of TASKS) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
  const log = repository.git('log', '--format=%s', '--no-merges', 'main..reeve/team').split('\n')
  expect(log.toSorted()).toEqual(TASKS.map(({ id, title }) => (commitsItself ? `${id}: it is written` : title)).toSorted())
  expect(repository.git('status', '--porcelain')).toBe('')
}

describe.skipIf(!claude || !codex)('Claude Code and Codex by ACP', () => {
  const both = [claude, codex].filter((kind) => kind !== undefined)

  // Codex's own sandbox does not let it write to git's folder.
  test('implement, review and commit under the engine', { timeout: CREW_MS }, async () => {
    isDone(
      await work(both, {
        coordinator: 'engine',
        workers: { implementer: { count: 1, agent: 'codex' }, reviewer: { count: 1, agent: 'claude' } },
      }),
      false,
    )
  })

  test('and with Claude Code as coordinator', { timeout: CREW_MS }, async () => {
    isDone(
      await work(both, {
        coordinator: { agent: 'claude', permissions: 'allow' },
        workers: { implementer: { count: 1, agent: 'claude' }, reviewer: { count: 1, agent: 'codex' } },
      }),
      true,
    )
  })
})

describe.skipIf(!claudeOnce || !codexOnce)('claude -p and codex exec, a program for each turn', () => {
  const both = [claudeOnce, codexOnce].filter((kind) => kind !== undefined)

  test('Claude Code implements and commits, Codex reviews', { timeout: CREW_MS }, async () => {
    isDone(
      await work(both, {
        permissions: undefined,
        coordinator: 'engine',
        workers: { implementer: { count: 1, agent: 'claude-once' }, reviewer: { count: 1, agent: 'codex-once' } },
      }),
      true,
    )
  })

  test('Codex implements and commits, Claude Code reviews, and another Claude Code is the coordinator', { timeout: CREW_MS }, async () => {
    isDone(
      await work(both, {
        permissions: undefined,
        coordinator: { agent: 'claude-once' },
        workers: { implementer: { count: 1, agent: 'codex-once' }, reviewer: { count: 1, agent: 'claude-once' } },
      }),
      true,
    )
  })
})

const TEN = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'].map((id, index, ids) =>
  taskOf(id, index > 5 ? [ids[index - 5] ?? 'one'] : [], index % 4 === 1),
)
/** Verify fails for an empty file. */
const CHECKED = {
  'package.json': JSON.stringify({ name: 'project', version: '1.0.0', scripts: { test: 'node check.mjs' } }),
  'check.mjs':
    "import { readdirSync, readFileSync } from 'node:fs'\nfor (const file of readdirSync('.')) if (file.endsWith('.txt') && readFileSync(file, 'utf8').trim() === '') process.exit(1)\n",
}

/** Agents with one program for all their turns, one of each maker. */
const ACP = andNewest(GATED.filter(({ name }) => name.endsWith('by ACP')))
const VERSIONS = [...new Set(ACP.map(({ name }) => (/ACP .+$/.test(name) ? 'newest' : 'pinned')))]
const MAKERS = ['claude', 'codex', 'gemini', 'opencode'] as const

/** The newest version of an agent without a newer version is the pinned one. */
function ofMakers(versions: string): readonly Kind[] {
  return MAKERS.flatMap((maker) => {
    const all = ACP.filter(({ needs }) => needs.startsWith(maker))
    return (versions === 'newest' ? all.at(-1) : all[0]) ?? []
  })
}

function tokensOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
}: Partial<ReportUsageView>): Model['sent'] {
  return { input: inputTokens + cacheReadTokens + cacheWriteTokens, output: outputTokens }
}

function sum(all: readonly Model['sent'][]): Model['sent'] {
  return all.reduce((one, other) => ({ input: one.input + other.input, output: one.output + other.output }), { input: 0, output: 0 })
}

const isMixed = ofMakers('pinned').length === MAKERS.length

describe.skipIf(!isMixed).each(VERSIONS)('a crew of all four, %s', (versions) => {
  test.each(MAKERS)('ten tasks, with the coordinator: %s', { timeout: LONG_MS }, async (first) => {
    const at = MAKERS.indexOf(first)
    const [lead, implementer, reviewer, generic] = [0, 1, 2, 3].map((index) => MAKERS[(at + index) % MAKERS.length])
    const { view, report, calls, toolless, repository, sent } = await work(
      ofMakers(versions),
      {
        tasks: TEN,
        verify: 'npm test',
        coordinator: { agent: lead, permissions: 'allow' },
        workers: {
          generic: { count: 1, agent: generic },
          implementer: { count: 2, agent: implementer },
          reviewer: { count: 1, agent: reviewer },
        },
      },
      CHECKED,
    )
    expect(
      view.tasks.map(({ id, state, commit, reviewer: by, implementer: of, byWord }) => [
        id,
        state,
        commit !== null,
        by !== null && by !== of,
        byWord,
      ]),
      crewReportText(report).join('\n'),
    ).toEqual(TEN.map(({ id }) => [id, 'done', true, true, null]))
    for (const { id } of TEN) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
    expect(repository.git('status', '--porcelain')).toBe('')
    expect(toolless).toEqual([])
    const usage = tokensOf(report.totals.usage)
    expect(sum(report.members.map((member) => tokensOf(member.usage)))).toEqual(usage)
    expect(sum(calls.map(tokensOf)), 'what each call was charged').toEqual(usage)
    const cut = calls.filter(({ estimated }) => estimated)
    // The last call of a coordinator that ends its crew may be interrupted, and is charged by its estimate.
    expect(cut.length).toBeLessThanOrEqual(1)
    const exact = sum(calls.filter(({ estimated }) => !estimated).map(tokensOf))
    expect(
      cut.length === 0
        ? [sent]
        : [
            sent,
            { input: sent.input - ASIDE.input, output: sent.output - ASIDE.output },
            { input: sent.input - WORK.input, output: sent.output - WORK.output },
          ],
    ).toContainEqual(exact)
    console.log(
      `${versions}, ${first} coordinates: ${view.elapsedMs} ms, ${sent.input} + ${sent.output} tokens, ${cut.length} calls cut off`,
    )
  })
})
