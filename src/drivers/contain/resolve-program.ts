// Resolves the first word of a command to a file, by PATH, and checks the file before anything is spawned. A command that cannot
// run is then an error and leaves nothing behind. Never runs anything. Tests: test/processes/contain/containment.test.ts.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { SpawnRequest } from './containment-contract.ts'

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
/** The kernel reads this many bytes of a `#!` line. */
const SHEBANG_BYTES = 256

/** The state of a file. `hidden` means that its directory may not be searched, so that its state is unknown. */
type FileState = 'ok' | 'missing' | 'hidden' | 'not runnable'

/** Returns the absolute path of the requested program. Errors: `INVALID`, `COMMAND_NOT_FOUND`, `NOT_RUNNABLE`. */
export function resolveProgram(request: SpawnRequest): string {
  const name = request.argv[0]
  if (name === undefined || name === '') throw new KernelError('INVALID', 'The command is empty')
  checkCwd(request.cwd)
  const found = candidatePaths(name, request).map((path) => ({ path, state: fileState(path) }))
  // Like a shell, skip PATH directories that may not be searched, but report such a directory in an explicit path.
  const isRefused = (state: FileState): boolean => state === 'not runnable' || (state === 'hidden' && name.includes('/'))
  const program = found.find(({ state }) => state === 'ok') ?? found.find(({ state }) => isRefused(state))
  if (program === undefined) throw new KernelError('COMMAND_NOT_FOUND', `${name}: command not found`, { command: name })
  if (program.state !== 'ok') throw new KernelError('NOT_RUNNABLE', `${program.path}: cannot be run`, { command: name })
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

function candidatePaths(name: string, { cwd, env }: SpawnRequest): string[] {
  if (name.includes('/')) return [resolve(cwd, name)]
  return (env['PATH'] ?? DEFAULT_PATH).split(':').map((dir) => resolve(cwd, join(dir === '' ? '.' : dir, name)))
}

function fileState(path: string): FileState {
  try {
    if (!statSync(path).isFile()) return 'not runnable'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'hidden' : 'missing'
  }
  try {
    accessSync(path, constants.X_OK)
    return 'ok'
  } catch {
    // The caller reports that the file is not runnable.
    return 'not runnable'
  }
}

// Without this check a missing interpreter would show only as exit code 127, which has many other causes.
function checkInterpreter(path: string, cwd: string): void {
  const line = /^#![ \t]*(\S+)/.exec(firstBytes(path))
  const interpreter = line?.[1]
  if (interpreter === undefined || fileState(isAbsolute(interpreter) ? interpreter : resolve(cwd, interpreter)) === 'ok') return
  throw new KernelError('NOT_RUNNABLE', `${path}: its interpreter ${interpreter} cannot be run`, { command: path })
}

// Returns the beginning of a file; empty if the file is runnable but unreadable.
function firstBytes(path: string): string {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch {
    // The `#!` line of an unreadable file cannot be checked.
    return ''
  }
  try {
    const head = Buffer.alloc(SHEBANG_BYTES)
    return head.toString('latin1', 0, readSync(fd, head))
  } finally {
    closeSync(fd)
  }
}
