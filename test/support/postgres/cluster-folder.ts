// The folder of a PostgreSQL server in tests: who owns it, how it is filled, and how it is removed with all that works in it, also when
// the process of the test is killed.
import { execFile, spawn } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, cpSync, lchownSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { tempDir, type TempDir } from '../tmp.ts'
import type { PostgresProgram } from './programs.ts'

const run = promisify(execFile)

/** PostgreSQL refuses to run as root: then this user and its group run it. They exist on every Linux, and own nothing else. */
const NOBODY = 65_534
export const SERVER_USER: { readonly uid?: number; readonly gid?: number } = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

export const SUPERUSER = 'reeve'

/** Creates a folder that the user of the servers may enter. */
export async function serverFolder(): Promise<TempDir> {
  const places = [process.env['REEVE_TEST_ROOM'] || tmpdir(), '/dev/shm', '/tmp']
  const folder = await tempDir(SERVER_USER.uid === undefined ? places[0] : places.find(isOpenToAll))
  giveToServer(folder.path)
  return folder
}

/** Fills a folder with an empty cluster. Connections by TCP need the password; the Unix socket needs none. */
export async function createCluster(program: PostgresProgram, data: string, password: string, settings: readonly string[]): Promise<void> {
  const passwordFile = `${data}.password`
  writeFileSync(passwordFile, password)
  giveToServer(passwordFile)
  const options = ['--username', SUPERUSER, '--pwfile', passwordFile, '--encoding=UTF8', '--locale=C', '--no-sync']
  await run(join(program.bin, 'initdb'), ['--pgdata', data, '--auth-local=trust', '--auth-host=password', ...options], {
    ...SERVER_USER,
    cwd: '/',
  })
  rmSync(passwordFile)
  appendFileSync(join(data, 'postgresql.conf'), `${settings.join('\n')}\n`)
}

/** Makes a standby of a cluster that has never been started. */
export function copyAsStandby(primary: string, data: string, settings: readonly string[]): void {
  cpSync(primary, data, { recursive: true, preserveTimestamps: true })
  chmodSync(data, 0o700)
  appendFileSync(join(data, 'postgresql.conf'), `${settings.join('\n')}\n`)
  writeFileSync(join(data, 'standby.signal'), '')
  giveTreeToServer(data)
}

export interface FolderGuard {
  close(): void
}

// $1 is the folder. An immediate stop lets a server give back its shared memory; what does not stop is killed.
const SCRIPT = `
in_folder() { find /proc -maxdepth 2 -name cwd -lname "$1/*" 2> /dev/null | cut -d/ -f3; }
signal() { pids=$(in_folder "$2"); [ -z "$pids" ] || kill -s "$1" $pids 2> /dev/null; }
while read -r word; do
  [ "$word" = bye ] && exit 0
done
signal CONT "$1"
for file in "$1"/*/postmaster.pid; do read -r pid < "$file" && kill -s QUIT "$pid"; done 2> /dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -z "$(in_folder "$1")" ] && break
  sleep 0.5
done
signal KILL "$1"
for file in "$1"/*/postmaster.pid; do ipcrm -m "$(sed -n '7s/.* //p' "$file")"; done 2> /dev/null
rm -rf "$1"
`

/** Starts a script that outlives the test: when the test's process dies, the script ends all that works in the folder, and removes it. */
export function guardFolder(folder: string): FolderGuard {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'cleanup', folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const { stdin } = child
  child.unref()
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return {
    close: () => {
      stdin.end('bye\n')
    },
  }
}

/** Whether every user may pass through the folder and all above it. */
function isOpenToAll(folder: string): boolean {
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o001) !== 0 && (folder === dirname(folder) || isOpenToAll(dirname(folder)))
}

function giveToServer(path: string): void {
  if (SERVER_USER.uid !== undefined && SERVER_USER.gid !== undefined) chownSync(path, SERVER_USER.uid, SERVER_USER.gid)
}

function giveTreeToServer(folder: string): void {
  const { uid, gid } = SERVER_USER
  if (uid === undefined || gid === undefined) return
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) lchownSync(join(folder, name), uid, gid)
}
