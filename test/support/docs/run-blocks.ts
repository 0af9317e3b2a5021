// Runs the commands of a page in one shell, as a reader would: in a new repository, with a home of its own. A model server on this machine
// answers for the providers, and a small agent runs in place of Claude Code. Test: test/e2e/docs/commands.test.ts.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { playScript, readScript } from '../../agents/script-player.ts'
import { Repository } from '../git/repository.ts'
import { CLI, runCli } from '../daemon/cli.ts'
import { ROOT, testEnv } from '../env.ts'
import { startModelServer, type ServedAnswer, type ServedRequest } from '../models/model-server.ts'
import { tempDir } from '../tmp.ts'
import type { PageBlock } from './page-blocks.ts'

export interface BlocksResult {
  readonly code: number | null
  /** stdout and stderr of all commands; the last line names a command that failed */
  readonly output: string
}

/** the time limit of a page, in ms: far more than a slow machine needs */
export const PAGE_WAIT_MS = 600_000

const script = await readScript(join(ROOT, 'test/support/docs/model.yaml'))
const programPath = (name: string): string => join(ROOT, 'test/support/programs', name)

/** Patterns of commands that follow until Ctrl+C. The program interrupted-reeve.ts interrupts them. */
const FOLLOWING_COMMANDS = ['logs -f *', 'attach *', 'crew follow *', 'ps -w*', 'events -f*']

/** The programs that a reader has, each by its shell script. */
const PROGRAMS: Readonly<Record<string, string>> = {
  reeve: `case "$*" in
${FOLLOWING_COMMANDS.map((words) => `  ${words.replaceAll(/ (?!$)/g, '\\ ')}) exec '${process.execPath}' '${programPath('interrupted-reeve.ts')}' '${CLI}' "$@" ;;`).join('\n')}
esac
exec '${process.execPath}' '${CLI}' "$@"`,
  'claude-agent-acp': `exec '${process.execPath}' '${programPath('model-agent.ts')}'`,
  ollama: ':',
  gh: 'echo https://github.com/ann/shop/pull/7',
  ssh: `while case "$1" in -o) shift ;; -*) ;; *) false ;; esac; do shift; done
shift; cd "$HOME/.."; exec sh -c "$*"`,
}

const PACKAGE = {
  name: 'shop',
  version: '1.0.0',
  scripts: { test: 'ls | grep -q ed.txt || { echo "not repaired"; exit 1; }', start: 'exec sleep 600' },
}

/** Prompts for work that lasts until the reader ends it. */
const LONG_WORK = /every file|the port\b/

function lastPrompt({ messages }: ServedRequest['body']): string {
  const texts = (messages as { role: string; content: string | { type: string; text?: string }[] }[]).flatMap(({ role, content }) =>
    role !== 'user' ? [] : typeof content === 'string' ? [content] : content.flatMap(({ text }) => (text === undefined ? [] : [text])),
  )
  return texts.at(-1) ?? ''
}

function answerOf({ path, body }: ServedRequest): ServedAnswer {
  if (/\/models\b/.test(path)) return { status: 200, body: JSON.stringify({ data: [{ id: 'claude-sonnet-5' }, { id: 'qwen3' }] }) }
  if (LONG_WORK.test(lastPrompt(body))) return { tools: [{ name: 'bash', input: { command: 'sleep 0.5; date +%N' } }] }
  return playScript(script, body, (name, input) => ({ name, input })) ?? { text: 'I see.', usage: { input: 100, output: 7 } }
}

/** Runs the blocks in order, and stops at the first command that fails. Leaves no daemon and no file. */
export async function runBlocks(page: string, blocks: readonly PageBlock[]): Promise<BlocksResult> {
  await using dir = await tempDir()
  await using server = await startModelServer(answerOf)
  const [home, work, bin] = ['home', 'my-repository', 'bin'].map((name) => join(dir.path, name)) as [string, string, string]
  for (const folder of [home, bin]) mkdirSync(folder, { mode: 0o700 })
  const repository = Repository.make(work, home)
  repository.commit({
    'package.json': JSON.stringify(PACKAGE),
    '.reeve/agents/coder.md': '---\nname: coder\ndescription: writes code\n---\nYou write code.\n',
  })
  repository.git('clone', '-q', '--bare', '.', join(dir.path, 'origin.git'))
  repository.git('remote', 'add', 'origin', join(dir.path, 'origin.git'))
  writeFileSync(join(home, '.gitconfig'), '[user]\nname = T\nemail = t@example.org\n')
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  const config = {
    providers: [{ name: 'ollama', kind: 'openai-compatible', baseURL: `${server.url}/v1`, models: { qwen3: { contextWindow: 32_768 } } }],
  }
  const env = testEnv(home, { ANTHROPIC_BASE_URL: server.url, OPENAI_BASE_URL: `${server.url}/v1` })
  env['PATH'] = [bin, env['PATH']].join(delimiter)
  writeFileSync(join(home, 'config.yaml'), stringify(config))
  const files = blocks.map((block, index) => {
    const file = join(dir.path, `block-${index}`)
    const text = block.name === 'config.yaml' ? stringify({ ...(parse(block.text) as object), ...config }) : block.text
    writeFileSync(file, block.kind === 'file' ? text : '\n'.repeat(block.line - 1) + withKey(text))
    const target = block.name === 'config.yaml' ? join(home, block.name) : block.name
    return block.kind === 'file' ? `mkdir -p "$(dirname '${target}')" && cp '${file}' '${target}'` : `. '${file}'`
  })
  const failed = `echo "${page}:$LINENO: exit code $?: $BASH_COMMAND"`
  const lines = ['set -eE -o pipefail', `trap '${failed}' ERR`, ...files]
  try {
    return await runShell(lines.join('\n'), work, env)
  } finally {
    await runCli(home, ['daemon', 'stop', '--now'], { cwd: dirname(home), env })
  }
}

/** Fills in a key where the page leaves out the reader's own. */
function withKey(text: string): string {
  return text.replaceAll(/(_KEY=)…/g, '$1sk-test')
}

function runShell(text: string, cwd: string, env: Readonly<Record<string, string>>): Promise<BlocksResult> {
  const child = spawn('bash', ['-c', text], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (data: string) => {
      output += data
    })
  return new Promise((resolve, reject) => {
    // The end of the daemon then ends the programs that the shell has started.
    const late = setTimeout(() => {
      child.kill()
      resolve({ code: null, output: `${output}\nno end after ${PAGE_WAIT_MS} ms` })
    }, PAGE_WAIT_MS)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(late)
      resolve({ code, output })
    })
  })
}
