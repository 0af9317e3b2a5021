// The processes in the pictures of the page: agents, a crew, a run and commands. A local server plays the models of the agents, and the
// configuration has prices for them. All files are in a scratch directory. Used by scripts/web-screens.ts.
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import {
  startModelServer,
  type ModelServer,
  type ServedAnswer,
  type ServedRequest,
  type ServedTool,
} from '../../test/support/models/model-server.ts'

const ROOT = resolve(import.meta.dirname, '../..')

const LEXER = `exports.scan = (text) => {
  let state = null
  for (const c of text) {
    if (c === '\\n') state = null
  }
}
`

const bash = (command: string): readonly ServedTool[] => [{ name: 'bash', input: { command } }]

/** What each model of the server answers, one item for each call. The last one is repeated. */
const ANSWERS: Readonly<Record<string, readonly ServedAnswer[]>> = {
  coder: [
    {
      text: 'I look at the failing case first.',
      tools: bash('echo "lexer: 40 passed, 1 failed"; exit 1'),
      usage: { input: 21_400, output: 310 },
    },
    {
      text: 'The case is a string with a newline.',
      tools: [{ name: 'read', input: { path: 'lexer.js' } }],
      usage: { input: 22_900, output: 88 },
    },
    {
      text: 'The state of the string was lost at a newline. I keep it.',
      tools: [
        {
          name: 'write',
          input: { path: 'lexer.js', content: LEXER.replace("'\\n') state", "'\\n' && !inString) state") },
        },
      ],
      usage: { input: 24_100, output: 543 },
    },
    { text: '', tools: bash('echo "lexer: 41 passed"; sleep 1'), usage: { input: 25_300, output: 61 } },
    {
      text: 'All 41 tests pass. I push the branch, so that CI runs on it.',
      tools: bash('git push --force origin HEAD'),
      usage: { input: 26_500, output: 151 },
    },
    { text: 'I leave the branch as it is.', usage: { input: 27_000, output: 40 } },
  ],
  writer: [
    { text: 'I collect what changed since the last release.', tools: bash('echo 14 commits'), usage: { input: 8_200, output: 90 } },
    { text: '', tools: bash('sleep 3; echo CHANGELOG.md'), usage: { input: 9_100, output: 240 } },
    {
      text: 'Now the entries, one for each change.',
      tools: bash('sleep 900 # git log --oneline v0.1..HEAD'),
      usage: { input: 11_800, output: 190 },
    },
  ],
  porter: [
    { text: 'The pool keeps a lock for each connection.', tools: bash('echo pool.go'), usage: { input: 31_000, output: 700 } },
    { text: 'I port it with one lock.', tools: bash('echo ported'), usage: { input: 33_500, output: 2_100 } },
    { text: 'Ported, with its tests.', usage: { input: 34_000, output: 120 } },
  ],
}

function answerOf({ body }: ServedRequest): ServedAnswer {
  const answers = ANSWERS[String(body['model'])] ?? []
  const calls = (body['messages'] as readonly { readonly role: string }[]).filter(({ role }) => role === 'assistant').length
  return answers[Math.min(calls, answers.length - 1)] ?? {}
}

const CONFIG = (url: string): string => `web: { allow: [commands] }
providers:
  - name: acme
    kind: openai-compatible
    baseURL: ${url}/v1
    models: { coder: { contextWindow: 131072 }, writer: { contextWindow: 32768 }, porter: { contextWindow: 131072 } }
prices:
  acme/*: { input: 3, output: 15 }
`

const RUN = `agents:
  plan: { command: [sh, -c, "echo 3 parts"] }
  build: { command: [sh, -c, "sleep 900"], depends_on: [plan] }
  docs: { command: [sh, -c, "sleep 900"], depends_on: [plan] }
  check: { command: [sh, -c, "exit 1"], depends_on: [plan] }
  test: { command: [sh, -c, "true"], depends_on: [build, docs] }
  ship: { command: [sh, -c, "true"], depends_on: [test, check] }
`

export class ScreenWorld implements AsyncDisposable {
  /** the directory of all files of these processes */
  readonly scratch = mkdtempSync(join(tmpdir(), 'reeve-web-'))
  /** when the world was made, just before its first process, in local time */
  readonly startedAt = new Date().toLocaleString('sv-SE')
  readonly #shop = join(this.scratch, 'shop')
  readonly #models: ModelServer

  private constructor(models: ModelServer) {
    this.#models = models
  }

  /** Starts all processes. */
  static async start(): Promise<ScreenWorld> {
    const world = new ScreenWorld(await startModelServer(answerOf))
    await world.#begin().catch(async (error: unknown) => {
      await world[Symbol.asyncDispose]()
      throw error
    })
    return world
  }

  /** Runs a command of reeve, and returns its output. */
  async reeve(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(join(ROOT, 'bin/reeve'), args, {
      cwd: this.#shop,
      env: { ...process.env, HOME: this.scratch, REEVE_HOME: join(this.scratch, 'home') },
    })
    return stdout
  }

  async #begin(): Promise<void> {
    cpSync(join(ROOT, 'examples/crew'), this.#shop, { recursive: true })
    mkdirSync(join(this.scratch, 'home'), { mode: 0o700 })
    writeFileSync(join(this.scratch, 'home/config.yaml'), CONFIG(this.#models.url))
    const write = (name: string, text: string): void => writeFileSync(join(this.#shop, name), text)
    write('lexer.js', LEXER)
    write('run.yaml', RUN)
    const git = (...args: string[]): string => execFileSync('git', args, { cwd: this.#shop, encoding: 'utf8' })
    git('init', '-q', '-b', 'main')
    for (const [name, value] of [['user.name', 'Ann'] as const, ['user.email', 'ann@example.org'] as const]) git('config', name, value)
    git('add', '-A')
    git('commit', '-q', '-m', 'first')
    const run = (name: string, ...args: string[]): Promise<string> => this.reeve('run', '-d', '--name', name, ...args)
    const asks = ['--permissions', 'ask', '--allow', 'bash(echo:*),bash(exit:*),bash(sleep:*),write,read']
    await run('notes', '--budget-usd', '0.6', '--permissions', 'allow', '--model', 'acme/writer', 'write the release notes')
    await run('changes', '--parent', 'notes', '--permissions', 'allow', '--model', 'acme/writer', 'collect the changes')
    await run('lexer', '--worktree', '--budget-usd', '2', ...asks, '--model', 'acme/coder', 'keep the state of a string')
    await run('pool', '--budget-usd', '0.11', '--permissions', 'allow', '--model', 'acme/porter', 'port the pool')
    await run('server', '--restart', 'on-failure', '--', 'sh', '-c', 'echo listening on 3000; sleep 900')
    await run('bench', '--', 'sleep', '900')
    await this.reeve('pause', 'bench')
    await run('tests', '--', 'sh', '-c', 'echo 3 of 41 failed; exit 2')
    await this.reeve('compose', 'up', '-d', '-f', 'run.yaml', '--name', 'nightly')
    await this.reeve('crew', 'up', '-d', '--gate', 'human', '--stay')
    await this.reeve('crew', 'add', '--id', 'licence', '--human', 'shop', 'Which licence should the header name?')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reeve('daemon', 'stop', '--now')
    await this.#models[Symbol.asyncDispose]()
    rmSync(this.scratch, { recursive: true, force: true })
  }
}
