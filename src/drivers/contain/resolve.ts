// What a command's first word means: which file on which PATH, checked before anything is spawned, so that what cannot
// run is an error and leaves nothing behind. Never runs anything. Tests: test/processes/contain.test.ts.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import type { SpawnRequest } from './contain.ts'

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
/** how much of a `#!` line the kernel reads */
const SHEBANG_BYTES = 256

type Look = 'ok' | 'missing' | 'not runnable'

/** The absolute path of the request's program. Errors: `INVALID`, `COMMAND_NOT_FOUND`, `NOT_RUNNABLE`. */
export function resolveProgram(request: SpawnRequest): string {
  const name = request.argv[0]
  if (name === undefined || name === '') throw new KernelError('INVALID', 'The command is empty')
  checkCwd(request.cwd)
  const found = candidates(name, request).map((path) => ({ path, look: look(path) }))
  const program = found.find(({ look }) => look === 'ok') ?? found.find(({ look }) => look === 'not runnable')
  if (program === undefined) throw new KernelError('COMMAND_NOT_FOUND', `${name}: command not found`, { command: name })
  if (program.look === 'not runnable') throw new KernelError('NOT_RUNNABLE', `${program.path}: cannot be run`, { command: name })
  checkInterpreter(program.path, request.cwd)
  return program.path
}

function checkCwd(cwd: string): void {
  try {
    if (!statSync(cwd).isDirectory()) throw new Error('not a directory')
    accessSync(cwd, constants.X_OK)
  } catch (error) {
    throw new KernelError('NOT_RUNNABLE', `The working directory ${cwd} cannot be used: ${(error as Error).message}`, { cwd })
  }
}

function candidates(name: string, { cwd, env }: SpawnRequest): string[] {
  if (name.includes('/')) return [resolve(cwd, name)]
  return (env['PATH'] ?? DEFAULT_PATH).split(':').map((dir) => resolve(cwd, join(dir === '' ? '.' : dir, name)))
}

function look(path: string): Look {
  try {
    if (!statSync(path).isFile()) return 'not runnable'
    accessSync(path, constants.X_OK)
    return 'ok'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'not runnable' : 'missing'
  }
}

// A script whose interpreter is not there would end as 127 inside, which could be anything.
function checkInterpreter(path: string, cwd: string): void {
  const line = /^#![ \t]*(\S+)/.exec(firstBytes(path))
  const interpreter = line?.[1]
  if (interpreter === undefined || look(isAbsolute(interpreter) ? interpreter : resolve(cwd, interpreter)) === 'ok') return
  throw new KernelError('NOT_RUNNABLE', `${path}: its interpreter ${interpreter} cannot be run`, { command: path })
}

// What may be run may still be unreadable; then there is nothing to check.
function firstBytes(path: string): string {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch {
    return ''
  }
  try {
    const head = Buffer.alloc(SHEBANG_BYTES)
    return head.toString('latin1', 0, readSync(fd, head))
  } finally {
    closeSync(fd)
  }
}
