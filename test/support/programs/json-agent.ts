// An agent that plays the recorded output of a real one: `json-agent.ts FILE [ARG…]`. FILE is JSON: a list of acts, in order.
// The agent ignores its arguments, but writes them to FILE.args, so that a test sees them. With `{ turns: … }` each
// start plays the next list, and later starts the last one; FILE.args has a line for each start.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

export type ScriptedAct =
  /** a line of JSON */
  | { readonly line: unknown }
  /** written unchanged, to stdout or stderr */
  | { readonly raw: string; readonly to?: 'stdout' | 'stderr' }
  /** bytes that are not text, in base64 */
  | { readonly bytes: string }
  /** the same line `count` times */
  | { readonly repeat: string; readonly count: number }
  /** waits until the file exists */
  | { readonly until: string }
  /** a child in its own session, which keeps stdout open */
  | { readonly leave: string }
  | { readonly hang: true }
  /** ignores SIGINT */
  | { readonly deaf: true }
  | { readonly exit: number }
  | { readonly signal: 'SIGKILL' | 'SIGTERM' }

function write(text: string | Buffer, to: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
  return new Promise((resolve) => process[to].write(text, () => resolve()))
}

async function waitForFile(path: string): Promise<void> {
  if (existsSync(path)) return
  await new Promise<void>((resolve) => {
    const watcher = watch(dirname(path), (_event, name) => {
      if (name !== basename(path) || !existsSync(path)) return
      watcher.close()
      resolve()
    })
    if (existsSync(path)) {
      watcher.close()
      resolve()
    }
  })
}

async function performAct(act: ScriptedAct): Promise<void> {
  if ('line' in act) return write(`${JSON.stringify(act.line)}\n`)
  if ('raw' in act) return write(act.raw, act.to)
  if ('bytes' in act) return write(Buffer.from(act.bytes, 'base64'))
  if ('repeat' in act) {
    for (let at = 0; at < act.count; at++) await write(act.repeat)
    return
  }
  if ('until' in act) return waitForFile(act.until)
  if ('leave' in act) {
    spawn('sleep', [act.leave], { detached: true, stdio: 'inherit' }).unref()
    return
  }
  if ('deaf' in act) {
    process.on('SIGINT', () => undefined)
    return
  }
  if ('hang' in act) return new Promise(() => setInterval(() => undefined, 60_000))
  if ('signal' in act) {
    process.kill(process.pid, act.signal)
    return new Promise(() => setInterval(() => undefined, 60_000))
  }
  process.exit(act.exit)
}

function readActs(file: string, args: readonly string[]): readonly ScriptedAct[] {
  const read = JSON.parse(readFileSync(file, 'utf8')) as readonly ScriptedAct[] | { readonly turns: readonly (readonly ScriptedAct[])[] }
  const log = `${file}.args`
  if (!('turns' in read)) {
    writeFileSync(log, JSON.stringify(args))
    return read
  }
  const startCount = existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0
  appendFileSync(log, `${JSON.stringify(args)}\n`)
  return read.turns[startCount] ?? read.turns.at(-1) ?? []
}

if (import.meta.main) {
  const [file = '', ...args] = process.argv.slice(2)
  for (const one of readActs(file, args)) await performAct(one)
}
