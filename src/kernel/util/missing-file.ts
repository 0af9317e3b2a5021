// Distinguishes a missing file from any other error of the file system. Test:
// test/tables/kernel/util/missing-file.test.ts.

/** True if the error means that a file or directory does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** Makes a handler for `catch` that returns `value` for a missing file, and throws any other error again. */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value
    throw error
  }
}
