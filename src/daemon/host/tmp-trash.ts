// Removes the temporary folders that a killed daemon left: moves them to a trash folder at once, and deletes them while the daemon runs.
// Deletes folder by folder. A single recursive removal of thousands of folders would issue all its system calls at once, and their memory
// would not be returned. Test: test/processes/crash/leftovers.test.ts.
import { mkdir, opendir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The path of the trash folder, which exists while there is something left to delete. */
export function trashPath(state: string): string {
  return join(state, 'trash')
}

interface TrashOptions {
  /** the trash folder; all its contents are deleted, including those of earlier daemons */
  readonly trash: string
  /** the name that the discarded folder gets in the trash */
  readonly name: string
  readonly log: (message: string, error: unknown) => void
}

/** Moves `dir` to the trash. `done` resolves when the trash is deleted; it never rejects, and errors are logged. */
export async function discardTmpDir(dir: string, { trash, name, log }: TrashOptions): Promise<{ readonly done: Promise<void> }> {
  await mkdir(trash, { recursive: true, mode: 0o700 })
  await rename(dir, join(trash, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return { done: deleteTrash(trash).catch((error: unknown) => log('old temporary files cannot be removed', error)) }
}

async function deleteTrash(trash: string): Promise<void> {
  for await (const old of await opendir(trash)) {
    if (old.isDirectory()) for await (const entry of await opendir(join(trash, old.name))) await remove(join(trash, old.name, entry.name))
  }
  await rm(trash, { recursive: true, force: true })
}

/** Removes a file or folder; tries `rmdir` first, because most entries are empty folders. */
function remove(path: string): Promise<void> {
  return rmdir(path).catch(() => rm(path, { recursive: true, force: true }))
}
