// Sessions as Gemini CLI stores them. Opening a session writes another file, which has no prompt yet. A start deletes all files of a
// session that has such a file. Part of acp-agent.ts.
import { appendFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const chatsDir = (): string => {
  const dir = join(process.env['HOME'] ?? '', '.gemini/tmp/project/chats')
  mkdirSync(dir, { recursive: true })
  return dir
}
export const findChats = (id: string): string[] =>
  readdirSync(chatsDir())
    .filter((name) => name.endsWith(`-${id.slice(0, 8)}.jsonl`))
    .toSorted()
export const openChat = (id: string): void => {
  writeFileSync(join(chatsDir(), `session-${String(readdirSync(chatsDir()).length).padStart(4, '0')}-${id.slice(0, 8)}.jsonl`), '{}\n')
}
export const removeEmptyChats = (): void => {
  const files = readdirSync(chatsDir()).filter((name) => name.endsWith('.jsonl'))
  for (const name of files.filter((one) => !readFileSync(join(chatsDir(), one), 'utf8').includes('prompt')))
    for (const file of findChats(/-(\w+)\.jsonl$/.exec(name)?.[1] ?? '')) rmSync(join(chatsDir(), file))
}
/** Writes new text to the session's first file. */
export const writeChat = (id: string, words: string): void =>
  appendFileSync(join(chatsDir(), findChats(id)[0] ?? ''), `${JSON.stringify({ prompt: words })}\n`)
