// Writes programs that play scripts with json-agent.ts, so that a test decides what an external agent prints.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../env.ts'
import type { ScriptedAct } from './json-agent.ts'

/** Writes a script file, and returns the command line that plays it. */
export async function writeScriptArgv(dir: string, items: readonly ScriptedAct[], name = 'script.json'): Promise<string[]> {
  const file = join(dir, name)
  await writeFile(file, JSON.stringify(items))
  return [process.execPath, join(ROOT, 'test/support/programs/json-agent.ts'), file]
}

/** Makes a program with this name that plays the items; returns its path. */
export async function writeScriptedProgram(dir: string, name: string, items: readonly ScriptedAct[]): Promise<string> {
  return writeProgram(dir, name, await writeScriptArgv(dir, items))
}

/** Makes a program that plays the next of these lists at each start, and records its arguments. */
export async function writeProgramOfTurns(
  dir: string,
  name: string,
  turns: readonly (readonly ScriptedAct[])[],
): Promise<{ readonly program: string; readCalls(): Promise<string[][]> }> {
  const file = join(dir, 'turns.json')
  await writeFile(file, JSON.stringify({ turns }))
  const program = await writeProgram(dir, name, [process.execPath, join(ROOT, 'test/support/programs/json-agent.ts'), file])
  const readCalls = async (): Promise<string[][]> =>
    (await readFile(`${file}.args`, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string[])
  return { program, readCalls }
}

async function writeProgram(dir: string, name: string, argv: readonly string[]): Promise<string> {
  const file = join(dir, name)
  await writeFile(file, `#!/bin/sh\nexec ${argv.map((arg) => `'${arg}'`).join(' ')} "$@"\n`, { mode: 0o755 })
  return file
}
