// Opens a text as a file without a name, for stdin of a program. With a FIFO, a program that opens /dev/stdin itself, such as
// `cat /dev/stdin`, would wait for ever for a writer. Must never write the text while the file has a name: a killed daemon leaves at most
// an empty file. Test: test/processes/contain/pipes.test.ts.
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'

/** The directory on Linux whose files are in memory, so that a text never reaches a disk. */
export const MEMORY_DIR = '/dev/shm'

/**
 * Returns a descriptor that reads the text; the caller closes it. Uses the first directory that has room. Errors: those of the last
 * directory.
 */
export function openTextInput(text: string, [dir = '', ...others]: readonly string[]): number {
  try {
    return openInputIn(dir, text)
  } catch (error) {
    if (others.length === 0) throw error
    return openTextInput(text, others)
  }
}

function openInputIn(dir: string, text: string): number {
  const path = join(dir, `reeve-${randomUUID()}`)
  using writing = new DisposableStack()
  const writer = writing.adopt(openSync(path, 'wx', 0o600), closeSync)
  using undo = new DisposableStack()
  const reader = undo.adopt(openAndUnlink(path), closeSync)
  writeFileSync(writer, text)
  undo.move()
  return reader
}

function openAndUnlink(path: string): number {
  try {
    return openSync(path, 'r')
  } finally {
    unlinkSync(path)
  }
}
