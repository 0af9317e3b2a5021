// Protects the session files of Gemini CLI. Each time Gemini CLI loads a session, it leaves an almost empty file with the same session id.
// At its next start in that project, Gemini CLI deletes the empty files and all other files with their ids. So before a start and after an
// exit, reeve renames all files of a session except the largest, the real one. Must never remove a file.
// Tests: test/processes/acp/session.test.ts; with Gemini CLI itself, test/agents/guarantees.test.ts.
import { readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../command/formats/args.ts'
import { homeOf } from '../gateway/clients/client.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'

const PROGRAM_NAMES = ['gemini', '@google/gemini-cli']
const ID_CHARS = 8
const SESSION_FILE = /^session-.*\.jsonl?$/
/** The number of project directories that are searched at most. */
const MAX_PROJECTS = 10_000

/** Whether a command line runs Gemini CLI. */
export function isGemini(argv: readonly string[]): boolean {
  return findProgram(argv, PROGRAM_NAMES) >= 0
}

/** Renames all but the largest file of this session to names that Gemini CLI ignores. Does nothing for other agents. */
export async function keepWholeSession(sessionId: string, { argv, env }: Pick<AcpSpec, 'argv' | 'env'>): Promise<void> {
  if (!isGemini(argv)) return
  const root = join(env['GEMINI_CLI_HOME'] ?? homeOf({ env }), '.gemini/tmp')
  // Without this directory Gemini CLI has no sessions.
  const projects = await readdir(root).catch(() => [])
  await Promise.all(
    projects.slice(0, MAX_PROJECTS).map((project) => renameAllButLargest(join(root, project, 'chats'), sessionId.slice(0, ID_CHARS))),
  )
}

/** Renames all files of the session in this directory, except the largest one. */
async function renameAllButLargest(dir: string, id: string): Promise<void> {
  // Without this directory the project has no sessions.
  const names = (await readdir(dir).catch(() => [])).filter(
    (name) => SESSION_FILE.test(name) && name.replace(/\.jsonl?$/, '').endsWith(`-${id}`),
  )
  const files = await Promise.all(
    // A file that was just removed counts as empty.
    names.map(async (name) => ({ path: join(dir, name), size: (await stat(join(dir, name)).catch(() => ({ size: 0 }))).size })),
  )
  const [, ...others] = files.toSorted((a, b) => b.size - a.size)
  // If a rename fails, Gemini CLI chooses one of the files itself.
  for (const { path } of others) await rename(path, `${path}.aside-${Date.now()}`).catch(() => undefined)
}
