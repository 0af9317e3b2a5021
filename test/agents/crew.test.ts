// Crews of real coding agents on a real repository. The agents are workers and coordinators, by ACP or as programs that answer once
// and exit. Scripts play their models. Each task ends in a commit on the crew's branch, and the recorded usage equals the usage
// that the model server sent.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installedProgram } from '../../scripts/install-agents.ts'
import type { CrewUpView } from '../../src/api/views/crew-up.ts'
import type { CrewReportView, ReportUsageView } from '../../src/api/views/crew-report.ts'
import type { CrewView } from '../../src/api/views/crew.ts'
import { crewReportText } from '../../src/cli/print/crew-report.ts'
import { makeTask } from '../support/crew/crew-home.ts'
import { DaemonHome } from '../support/daemon/daemon-home.ts'
import { ROOT, testEnv } from '../support/env.ts'
import { startModelServer, type ModelServer, type ServedRequest } from '../support/models/model-server.ts'
import { Repository } from '../support/git/repository.ts'
import { pollUntil, type AgentKind } from './harness.ts'
import { addNewestVersions, GATEWAY_KINDS, KINDS } from './kinds.ts'
import { answerSideRequest, isModelCall, isSuggestion, withId } from './model.ts'
import { readScript, playScript, type ToTool } from './script-player.ts'

const CREW_MS = 600_000
/** Ten tasks, some of which wait for others. */
const LONG_MS = 1_200_000
const [claude, codex, claudeOnce, codexOnce] = ['claude by ACP', 'codex by ACP', 'claude -p', 'codex exec'].map((name) =>
  KINDS.find((kind) => kind.name === name),
)
const SCRIPTS = join(ROOT, 'test/support/crew-scripts')
const worker = await readScript(join(SCRIPTS, 'worker.yaml'))
const coordinator = await readScript(join(SCRIPTS, 'coordinator.yaml'))
/** The usage of a request outside the tasks, such as a request for a title. */
const SIDE_USAGE = { input: 1, output: 1 }
/** The usage of each answer of `playScript`. */
const WORK_USAGE = { input: 100, output: 7 }
const TASKS = [makeTask('one'), makeTask('two', [], true), makeTask('three', ['one', 'two'])]

/** The user's agents. Their command lines limit their permissions. */
const AGENT_FILES = {
  'claude-once': ['claude', '-p', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'],
  'codex-once': ['codex', 'exec', '--json'],
}

let resources: AsyncDisposableStack | undefined
afterEach(() => resources?.disposeAsync())

/**
 * Translates a tool call of a script: a tool of reeve gets the name that the agent has for it, any other call becomes one of the agent's
 * shell.
 */
const toolOf =
  ({ tools }: ModelClient): ToTool =>
  (name, input) => {
    const reeveToolName = /^mcp__reeve__(.+)$/.exec(name)?.[1]
    if (reeveToolName !== undefined && tools.reeveTool) return tools.reeveTool(reeveToolName, { ...input })
    return tools.shell(String(input['command']))
  }

type ModelClient = Pick<AgentKind, 'installation' | 'tools'>

/** Finds the agent by the format of its provider. */
function clientOf(kinds: readonly ModelClient[], path: string): ModelClient | undefined {
  const name = path.includes('/responses')
    ? 'codex'
    : path.includes('/messages')
      ? 'claude'
      : path.includes('enerateContent')
        ? 'gemini'
        : 'opencode'
  return kinds.find(({ installation }) => installation.startsWith(name))
}

interface CrewModel extends ModelServer {
  /** the tokens of all answers */
  readonly sentTokens: { input: number; output: number }
}

/** Starts one server for all agents. */
async function startCrewModel(kinds: readonly ModelClient[]): Promise<CrewModel> {
  let answerCount = 0
  const sent = { input: 0, output: 0 }
  const server = await startModelServer((request: ServedRequest) => {
    const { path, body } = request
    const kind = clientOf(kinds, path)
    const script = JSON.stringify(body).includes('You are the coordinator of a crew') ? coordinator : worker
    const answer = toolCount(body) > 1 && !isSuggestion(body) && kind ? playScript(script, body, toolOf(kind)) : null
    const usage = answer?.usage ?? SIDE_USAGE
    if (isModelCall(request)) for (const name of ['input', 'output'] as const) sent[name] += usage[name]
    return answer === null ? answerSideRequest(request, SIDE_USAGE) : withId(answer, request, (answerCount += 1))
  })
  return Object.assign(server, { sentTokens: sent })
}

function toolCount({ tools }: ServedRequest['body']): number {
  const list = (Array.isArray(tools) ? tools : []) as readonly { readonly functionDeclarations?: readonly unknown[] }[]
  return list.reduce((sum, { functionDeclarations: of }) => sum + (of?.length ?? 1), 0)
}

interface CrewResult {
  readonly view: CrewView
  readonly report: CrewReportView
  /** model calls, as the gateway or the agent reported them */
  readonly calls: readonly Partial<ReportUsageView>[]
  /** notes that a member did not get reeve's tools */
  readonly missingToolNotes: readonly unknown[]
  readonly repository: Repository
  readonly sent: CrewModel['sentTokens']
}

/** Runs the crew to its end. */
async function runCrew(
  kinds: readonly AgentKind[],
  definition: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
): Promise<CrewResult> {
  const stack = (resources = new AsyncDisposableStack())
  const home = stack.use(await DaemonHome.create('bundle'))
  const server = stack.use(await startCrewModel(kinds))
  const userHome = join(home.work, 'person')
  mkdirSync(userHome)
  const programs = kinds
    .flatMap(({ installation, program }) => program ?? installedProgram(installation) ?? [])
    .map((program) => join(program, '..'))
  const env: Record<string, string> = { ...testEnv(userHome), PATH: [...programs, testEnv(userHome)['PATH']].join(delimiter) }
  for (const kind of kinds) Object.assign(env, kind.env(server.url, userHome))
  delete env['REEVE_HOME']
  delete env['TMPDIR']
  const repository = Repository.make(join(home.work, 'project'), userHome)
  repository.git('config', 'user.name', 'P')
  repository.git('config', 'user.email', 'p@example.org')
  repository.commit({ 'README.md': '# a project\n', ...files }, 'begin')
  const file = join(home.work, 'reeve.yaml')
  writeFileSync(file, JSON.stringify({ crews: { team: { permissions: 'allow', tasks: TASKS, ...definition } } }))
  mkdirSync(home.path, { recursive: true, mode: 0o700 })
  writeFileSync(home.paths.configFile, kinds.map(({ config }) => config?.(server.url) ?? '').join(''))
  mkdirSync(home.paths.agentsDir, { recursive: true, mode: 0o700 })
  for (const [name, command] of Object.entries(AGENT_FILES))
    writeFileSync(join(home.paths.agentsDir, `${name}.md`), `---\ndriver: command\ncommand: ${JSON.stringify(command)}\n---\n`)
  await home.start()
  const {
    process: { uuid },
  } = await home.client.post<CrewUpView>('/v1/crews', { cwd: repository.dir, crew: 'team', file, env })
  let lastView = ''
  const view = await pollUntil(
    async () => {
      const { crew } = await home.client.get<{ crew: CrewView }>(`/v1/crews/${uuid}`)
      lastView = JSON.stringify({
        tasks: crew.tasks.map(({ id, state, reason }) => ({ id, state, reason })),
        members: crew.members.map(({ id, phase, status, note }) => ({ id, phase, status, note })),
        waitsFor: crew.waitsFor,
      })
      return crew.exitedAt === null ? null : crew
    },
    'the crew has ended',
    LONG_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${lastView}\n${home.readLog().slice(-2_000)}`)
  })
  const report = await home.client.get<CrewReportView>(`/v1/crews/${uuid}/report`)
  const events = await home.readEvents()
  const missingToolNotes = events.flatMap(({ text }) => (String(text).includes("reeve's own tools") ? [text] : []))
  const calls = events.filter((event) => event['fact'] === 'call.finished').map((event) => event['usage'] as Partial<ReportUsageView>)
  await home.stop()
  await home.waitUntilNothingIsLeft()
  return { view, report, calls, missingToolNotes, repository, sent: server.sentTokens }
}

/** `commitsItself`: otherwise reeve commits, with the task's title. */
function expectTasksDone({ view, repository }: CrewResult, commitsItself: boolean): void {
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
  const kinds = [claude, codex].filter((kind) => kind !== undefined)

  // Codex's own sandbox does not let it write to git's folder.
  test('Codex implements and Claude Code reviews, under the engine', { timeout: CREW_MS }, async () => {
    expectTasksDone(
      await runCrew(kinds, {
        coordinator: 'engine',
        workers: { implementer: { count: 1, agent: 'codex' }, reviewer: { count: 1, agent: 'claude' } },
      }),
      false,
    )
  })

  test('Claude Code implements and Codex reviews, with Claude Code as coordinator', { timeout: CREW_MS }, async () => {
    expectTasksDone(
      await runCrew(kinds, {
        coordinator: { agent: 'claude', permissions: 'allow' },
        workers: { implementer: { count: 1, agent: 'claude' }, reviewer: { count: 1, agent: 'codex' } },
      }),
      true,
    )
  })
})

describe.skipIf(!claudeOnce || !codexOnce)('claude -p and codex exec, a program for each turn', () => {
  const kinds = [claudeOnce, codexOnce].filter((kind) => kind !== undefined)

  test('Claude Code implements and commits, Codex reviews', { timeout: CREW_MS }, async () => {
    expectTasksDone(
      await runCrew(kinds, {
        permissions: undefined,
        coordinator: 'engine',
        workers: { implementer: { count: 1, agent: 'claude-once' }, reviewer: { count: 1, agent: 'codex-once' } },
      }),
      true,
    )
  })

  test('Codex implements and commits, Claude Code reviews, and another Claude Code is the coordinator', { timeout: CREW_MS }, async () => {
    expectTasksDone(
      await runCrew(kinds, {
        permissions: undefined,
        coordinator: { agent: 'claude-once' },
        workers: { implementer: { count: 1, agent: 'codex-once' }, reviewer: { count: 1, agent: 'claude-once' } },
      }),
      true,
    )
  })
})

const TEN_TASKS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'].map((id, index, ids) =>
  makeTask(id, index > 5 ? [ids[index - 5] ?? 'one'] : [], index % 4 === 1),
)
/** Verify fails for an empty file. */
const PROJECT_FILES = {
  'package.json': JSON.stringify({ name: 'project', version: '1.0.0', scripts: { test: 'node check.mjs' } }),
  'check.mjs':
    "import { readdirSync, readFileSync } from 'node:fs'\nfor (const file of readdirSync('.')) if (file.endsWith('.txt') && readFileSync(file, 'utf8').trim() === '') process.exit(1)\n",
}

/** The agents with one program for all their turns. */
const ACP = addNewestVersions(GATEWAY_KINDS.filter(({ name }) => name.endsWith('by ACP')))
const VERSIONS = [...new Set(ACP.map(({ name }) => (/ACP .+$/.test(name) ? 'newest' : 'pinned')))]
const MAKERS = ['claude', 'codex', 'gemini', 'opencode'] as const

/** One agent of each maker. If no newer version is installed, the newest version is the pinned one. */
function kindsOfMakers(versions: string): readonly AgentKind[] {
  return MAKERS.flatMap((maker) => {
    const all = ACP.filter(({ installation }) => installation.startsWith(maker))
    return (versions === 'newest' ? all.at(-1) : all[0]) ?? []
  })
}

function tokensOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
}: Partial<ReportUsageView>): CrewModel['sentTokens'] {
  return { input: inputTokens + cacheReadTokens + cacheWriteTokens, output: outputTokens }
}

function sum(all: readonly CrewModel['sentTokens'][]): CrewModel['sentTokens'] {
  return all.reduce((one, other) => ({ input: one.input + other.input, output: one.output + other.output }), { input: 0, output: 0 })
}

const hasAllMakers = kindsOfMakers('pinned').length === MAKERS.length

describe.skipIf(!hasAllMakers).each(VERSIONS)('a crew of Claude Code, Codex, Gemini CLI and OpenCode, %s versions', (versions) => {
  test.each(MAKERS)('completes ten tasks with %s as coordinator', { timeout: LONG_MS }, async (coordinatorMaker) => {
    const makerIndex = MAKERS.indexOf(coordinatorMaker)
    const [coordinator, implementer, reviewer, generic] = [0, 1, 2, 3].map((index) => MAKERS[(makerIndex + index) % MAKERS.length])
    const { view, report, calls, missingToolNotes, repository, sent } = await runCrew(
      kindsOfMakers(versions),
      {
        tasks: TEN_TASKS,
        verify: 'npm test',
        coordinator: { agent: coordinator, permissions: 'allow' },
        workers: {
          generic: { count: 1, agent: generic },
          implementer: { count: 2, agent: implementer },
          reviewer: { count: 1, agent: reviewer },
        },
      },
      PROJECT_FILES,
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
    ).toEqual(TEN_TASKS.map(({ id }) => [id, 'done', true, true, null]))
    for (const { id } of TEN_TASKS) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
    expect(repository.git('status', '--porcelain')).toBe('')
    expect(missingToolNotes).toEqual([])
    const usage = tokensOf(report.totals.usage)
    expect(sum(report.members.map((member) => tokensOf(member.usage)))).toEqual(usage)
    expect(sum(calls.map(tokensOf)), 'what each call was charged').toEqual(usage)
    const estimatedCalls = calls.filter(({ estimated }) => estimated)
    // The last call of a coordinator that ends its crew may be interrupted, and is charged by its estimate.
    expect(estimatedCalls.length).toBeLessThanOrEqual(1)
    const exactTokens = sum(calls.filter(({ estimated }) => !estimated).map(tokensOf))
    expect(
      estimatedCalls.length === 0
        ? [sent]
        : [
            sent,
            { input: sent.input - SIDE_USAGE.input, output: sent.output - SIDE_USAGE.output },
            { input: sent.input - WORK_USAGE.input, output: sent.output - WORK_USAGE.output },
          ],
    ).toContainEqual(exactTokens)
    console.log(
      `${versions}, ${coordinatorMaker} coordinates: ${view.elapsedMs} ms, ${sent.input} + ${sent.output} tokens, ${estimatedCalls.length} calls cut off`,
    )
  })
})
