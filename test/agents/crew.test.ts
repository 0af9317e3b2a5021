// Crews of real coding agents: Claude Code and Codex as workers, by ACP and as programs that answer once and end, and Claude Code as
// coordinator, on a real repository, with models that are played by the same scripts as those of test/processes/crew.test.ts. Their
// tasks go through to commits.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installed } from '../../scripts/agents.ts'
import type { CrewUpView } from '../../src/api/crew-up-views.ts'
import type { CrewView } from '../../src/api/crew-views.ts'
import { taskOf } from '../support/crew-home.ts'
import { DaemonHome } from '../support/daemon.ts'
import { ROOT, testEnv } from '../support/env.ts'
import { modelServer, type ServedRequest } from '../support/model-server.ts'
import { Repository } from '../support/repository.ts'
import { patiently } from './bench.ts'
import { KINDS, type Known } from './kinds.ts'
import { aside, isSuggestion, withId } from './model.ts'
import { readScript, scripted, type ToTool } from './scripted.ts'

const CREW_MS = 600_000
const [claude, codex, claudeOnce, codexOnce] = ['claude by ACP', 'codex by ACP', 'claude -p', 'codex exec'].map((name) => KINDS.find((kind) => kind.name === name))
const SCRIPTS = join(ROOT, 'test/support/crew-scripts')
const worker = readScript(join(SCRIPTS, 'worker.yaml'))
const coordinator = readScript(join(SCRIPTS, 'coordinator.yaml'))
const TASKS = [taskOf('one'), taskOf('two', [], true), taskOf('three', ['one', 'two'])]

/** Agents of a person's own. What they may do, their command lines say. */
const AGENT_FILES = {
  'claude-once': ['claude', '-p', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'],
  'codex-once': ['codex', 'exec', '--json'],
}

let open: AsyncDisposableStack | undefined
afterEach(() => open?.disposeAsync())

const toolOf = ({ hands }: Known): ToTool => (name, input) => {
  const own = /^mcp__reeve__(.+)$/.exec(name)?.[1]
  if (own !== undefined && hands.own) return hands.own(own, { ...input })
  return hands.shell(String(input['command']))
}

/** Both kinds ask the same server. */
async function serve(kinds: readonly Known[]): ReturnType<typeof modelServer> {
  let count = 0
  return modelServer((request: ServedRequest) => {
    const { path, body } = request
    const kind = kinds.find(({ needs }) => needs.startsWith(path.includes('/responses') ? 'codex' : 'claude'))
    const isWork = Array.isArray(body['tools']) && body['tools'].length > 1 && !isSuggestion(body)
    const script = JSON.stringify(body).includes('You are the coordinator of a crew') ? coordinator : worker
    const answer = isWork && kind ? scripted(script, body, toolOf(kind)) : null
    return answer === null ? aside(request, { input: 1, output: 1 }) : withId(answer, request, (count += 1))
  })
}

/** The crew to its end. */
async function work(kinds: readonly Known[], definition: object): Promise<{ readonly view: CrewView; readonly repository: Repository }> {
  const stack = (open = new AsyncDisposableStack())
  const home = stack.use(await DaemonHome.make('bundle'))
  const server = stack.use(await serve(kinds))
  const person = join(home.work, 'person')
  mkdirSync(person)
  const programs = kinds.flatMap(({ needs }) => installed(needs) ?? []).map((program) => join(program, '..'))
  const env: Record<string, string> = { ...testEnv(person), PATH: [...programs, testEnv(person)['PATH']].join(delimiter) }
  for (const kind of kinds) Object.assign(env, kind.env(server.url, person))
  delete env['REEVE_HOME']
  delete env['TMPDIR']
  const repository = Repository.make(join(home.work, 'project'), person)
  repository.git('config', 'user.name', 'P')
  repository.git('config', 'user.email', 'p@example.org')
  repository.commit({ 'README.md': '# a project\n' }, 'begin')
  const file = join(home.work, 'reeve.yaml')
  writeFileSync(file, JSON.stringify({ crews: { team: { permissions: 'allow', ...definition, tasks: TASKS } } }))
  mkdirSync(home.where.agentsDir, { recursive: true, mode: 0o700 })
  for (const [name, command] of Object.entries(AGENT_FILES)) writeFileSync(join(home.where.agentsDir, `${name}.md`), `---\ndriver: command\ncommand: ${JSON.stringify(command)}\n---\n`)
  await home.start()
  const { process: { uuid } } = await home.client.post<CrewUpView>('/v1/crews', { cwd: repository.dir, crew: 'team', file, env })
  let seen = ''
  const view = await patiently(async () => {
    const { crew } = await home.client.get<{ crew: CrewView }>(`/v1/crews/${uuid}`)
    seen = JSON.stringify({ tasks: crew.tasks.map(({ id, state, reason }) => ({ id, state, reason })), members: crew.members.map(({ id, phase, status, note }) => ({ id, phase, status, note })), waitsFor: crew.waitsFor })
    return crew.exitedAt === null ? null : crew
  }, 'the crew has ended', CREW_MS).catch((error: Error) => {
    throw new Error(`${error.message}\n${seen}\n${home.log().slice(-2_000)}`)
  })
  await home.stop()
  await home.nothingLeft()
  return { view, repository }
}

/** `commitsItself`: else reeve does it, with the title of the task. */
function isDone({ view, repository }: Awaited<ReturnType<typeof work>>, commitsItself: boolean): void {
  expect(view.tasks.map(({ id, state, denials, reviewer, implementer }) => [id, state, denials, reviewer !== null && reviewer !== implementer])).toEqual([['one', 'done', 0, true], ['two', 'done', 1, true], ['three', 'done', 0, true]])
  for (const { id } of TASKS) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
  const log = repository.git('log', '--format=%s', '--no-merges', 'main..reeve/team').split('\n')
  expect(log.toSorted()).toEqual(TASKS.map(({ id, title }) => (commitsItself ? `${id}: it is written` : title)).toSorted())
  expect(repository.git('status', '--porcelain')).toBe('')
}

describe.skipIf(!claude || !codex)('Claude Code and Codex by ACP', () => {
  const both = [claude, codex].filter((kind) => kind !== undefined)

  // Codex's own sandbox lets it write nothing of git's.
  test('implement, review and commit under the engine', { timeout: CREW_MS }, async () => {
    isDone(await work(both, { coordinator: 'engine', workers: { implementer: { count: 1, agent: 'codex' }, reviewer: { count: 1, agent: 'claude' } } }), false)
  })

  test('and with Claude Code as coordinator', { timeout: CREW_MS }, async () => {
    isDone(await work(both, { coordinator: { agent: 'claude', permissions: 'allow' }, workers: { implementer: { count: 1, agent: 'claude' }, reviewer: { count: 1, agent: 'codex' } } }), true)
  })
})

describe.skipIf(!claudeOnce || !codexOnce)('claude -p and codex exec, a program for each turn', () => {
  const both = [claudeOnce, codexOnce].filter((kind) => kind !== undefined)

  test('Claude Code implements and commits, Codex reviews', { timeout: CREW_MS }, async () => {
    isDone(await work(both, { coordinator: 'engine', workers: { implementer: { count: 1, agent: 'claude-once' }, reviewer: { count: 1, agent: 'codex-once' } } }), true)
  })

  test('Codex implements and commits, Claude Code reviews, and another one is the coordinator', { timeout: CREW_MS }, async () => {
    isDone(await work(both, { coordinator: { agent: 'claude-once' }, workers: { implementer: { count: 1, agent: 'codex-once' }, reviewer: { count: 1, agent: 'claude-once' } } }), true)
  })
})
