// The temporary folders that a killed daemon left: out of the way at once, and removed while the next one works.
// Owns that this takes little at a time: one removal of thousands of folders asks the system for all of them at once, and what that
// takes of memory is not given back. Test: test/e2e/restart.test.ts.
import { mkdir, opendir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

/** It is there as long as something is left to remove. */
export function trashOf(state: string): string {
  return join(state, 'trash')
}

interface Discarding {
  /** where it is put; all of that goes, also what another daemon did not get to */
  readonly trash: string
  /** what it is called there */
  readonly name: string
  readonly log: (message: string, error: unknown) => void
}

export async function discard(dir: string, { trash, name, log }: Discarding): Promise<{ readonly done: Promise<void> }> {
  await mkdir(trash, { recursive: true, mode: 0o700 })
  await rename(dir, join(trash, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return { done: emptyAll(trash).catch((error: unknown) => log('old temporary files cannot be removed', error)) }
}

async function emptyAll(trash: string): Promise<void> {
  for await (const old of await opendir(trash)) {
    if (old.isDirectory()) for await (const each of await opendir(join(trash, old.name))) await remove(join(trash, old.name, each.name))
  }
  await rm(trash, { recursive: true, force: true })
}

/** Most are empty folders. */
function remove(path: string): Promise<void> {
  return rmdir(path).catch(() => rm(path, { recursive: true, force: true }))
}
